"""Settings from several files and the environment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.settings.files import read_file, read_sources
from agent_kernel.settings.settings import DEFAULT_MODEL, Settings, load_settings
from agent_kernel.settings.trust import TrustStore


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".claude").mkdir(parents=True)
    (folder / ".git").mkdir()
    return folder


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_without_any_file_there_are_defaults(project: Path, own_home: Path) -> None:
    settings = load_settings(project, {})
    assert (settings.model, settings.mode, settings.notices) == (DEFAULT_MODEL, "default", ())
    assert settings.permissions == ()
    assert settings.user_skills == own_home / ".claude" / "skills"


def test_the_stronger_file_wins_and_permission_lists_are_kept_by_file(
    project: Path, own_home: Path
) -> None:
    write(own_home / ".claude/settings.json", {"model": "haiku", "permissions": {"deny": ["Bash"]}})
    shared = {"model": "opus", "permissions": {"allow": ["Read"], "defaultMode": "plan"}}
    write(project / ".claude/settings.json", shared)
    write(
        project / ".claude/settings.local.json",
        {"permissions": {"ask": ["Edit(/src/**)"], "additionalDirectories": ["../data"]}},
    )
    below = project / "deep" / "er"
    below.mkdir(parents=True)
    settings = load_settings(below, {})
    assert (settings.model, settings.mode) == ("claude-opus-5-5", "plan")
    local, common, personal = settings.permissions
    assert (local.source, local.ask, local.root) == ("local", ("Edit(/src/**)",), below)
    assert local.additional_directories == ("../data",)
    assert (common.source, common.allow, common.root) == ("project", ("Read",), project)
    assert (personal.source, personal.deny) == ("user", ("Bash",))


def test_managed_files_are_strongest_and_their_drop_ins_come_first(
    project: Path, tmp_path: Path
) -> None:
    managed = tmp_path / "managed"
    write(managed / "managed-settings.json", {"model": "one"})
    write(managed / "managed-settings.d/10.json", {"model": "two"})
    write(managed / "managed-settings.d/20.json", {"model": "three"})
    write(project / ".claude/settings.json", {"model": "four"})
    sources = read_sources(project, tmp_path / "user", managed)
    assert [source.model for source in sources] == ["three", "two", "one", "four"]


def test_the_environment_names_model_endpoint_thinking_and_scripts(project: Path) -> None:
    write(project / ".claude/settings.json", {"model": "opus"})
    settings = load_settings(
        project,
        {
            "ANTHROPIC_MODEL": "llama3",
            "ANTHROPIC_BASE_URL": "http://localhost:1/",
            "MAX_THINKING_TOKENS": "2000",
            "AGENT_KERNEL_OFFLINE_SCRIPTS": "/s.yaml",
        },
    )
    assert settings.model == "llama3"
    assert settings.base_url == "http://localhost:1"
    assert settings.thinking_budget == 2000
    assert settings.offline_scripts == Path("/s.yaml")
    assert load_settings(project, {"MAX_THINKING_TOKENS": "many"}).notices


def test_what_is_wrong_is_left_out_singly_and_said(project: Path) -> None:
    path = write(
        project / ".claude/settings.json",
        {
            "model": 7,
            "unknown": {"x": 1},
            "permissions": {
                "deny": ["Read(.env)", 3, "", "Bash(rm *)"],
                "allow": "Read",
                "ask": ["Edit"],
                "defaultMode": "yolo",
            },
        },
    )
    settings = load_settings(project, {})
    (rules,) = settings.permissions
    assert rules.deny == ("Read(.env)", "Bash(rm *)")
    assert rules.ask == ("Edit",)
    assert rules.allow == ()
    assert settings.notices == (
        f"{path}: model is left out: it is no text.",
        f"{path}: permissions.defaultMode is left out: 'yolo' is no mode of this program.",
        f"{path}: permissions.allow is left out: it is no list.",
        f"{path}: permissions.deny[1] is left out: it is no text.",
        f"{path}: permissions.deny[2] is left out: it is no text.",
    )


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b"\xff\xfe\x00", b'"x"', b"[" * 100_000, b"{}" + b" " * 5_000_000]
)
def test_a_file_that_cannot_be_read_is_left_out_and_the_others_hold(
    project: Path, own_home: Path, content: bytes
) -> None:
    write(own_home / ".claude/settings.json", {"permissions": {"deny": ["Bash"]}})
    bad = project / ".claude/settings.json"
    bad.write_bytes(content)
    settings = load_settings(project, {})
    assert [rules.deny for rules in settings.permissions if rules.deny] == [("Bash",)]
    (notice,) = settings.notices
    assert notice.startswith(f"{bad}: the file is left out: ")
    assert len(notice) < 400


def test_a_byte_order_mark_is_no_fault(project: Path) -> None:
    path = project / ".claude/settings.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"model": "m"}).encode())
    assert load_settings(project, {}).model == "m"


@pytest.mark.parametrize("where", [".claude/settings.json", ".claude/settings.local.json"])
def test_a_checkout_cannot_switch_the_questions_off(project: Path, where: str) -> None:
    write(project / where, {"permissions": {"defaultMode": "bypassPermissions"}})
    settings = load_settings(project, {})
    assert settings.mode == "default"
    assert len(settings.notices) == 1


@pytest.mark.parametrize("where", [".claude/settings.json", ".claude/settings.local.json"])
def test_a_checkout_loosens_the_mode_only_once_it_is_trusted(
    project: Path, own_home: Path, where: str
) -> None:
    write(project / where, {"permissions": {"defaultMode": "acceptEdits"}})
    settings = load_settings(project, {})
    assert settings.mode == "default"
    (notice,) = settings.notices
    assert "this folder is not trusted" in notice
    TrustStore(settings.home).trust(project)
    assert load_settings(project, {}).mode == "acceptEdits"
    assert load_settings(project, {}).notices == ()


@pytest.mark.parametrize("theirs", ["default", "acceptEdits", "bypassPermissions"])
def test_a_checkout_does_not_lift_the_plan_mode_a_person_chose(
    project: Path, own_home: Path, theirs: str
) -> None:
    write(own_home / ".claude/settings.json", {"permissions": {"defaultMode": "plan"}})
    write(project / ".claude/settings.json", {"permissions": {"defaultMode": theirs}})
    assert load_settings(project, {}).mode == "plan"


def test_the_person_may_unless_it_is_forbidden(project: Path, own_home: Path) -> None:
    mine = {"permissions": {"defaultMode": "bypassPermissions"}}
    write(own_home / ".claude/settings.json", mine)
    assert load_settings(project, {}).mode == "bypassPermissions"
    forbids = {"permissions": {"disableBypassPermissionsMode": "disable"}}
    write(project / ".claude/settings.json", forbids)
    settings = load_settings(project, {})
    assert (settings.mode, settings.bypass_allowed) == ("default", False)


def test_the_old_name_of_the_default_mode_is_known(project: Path) -> None:
    write(project / ".claude/settings.json", {"permissions": {"defaultMode": "manual"}})
    assert load_settings(project, {}).notices == ()


def test_skills_are_looked_for_up_to_the_root_of_the_repository(project: Path) -> None:
    below = project / "a"
    below.mkdir()
    assert load_settings(below, {}).project_skills == (
        below / ".claude" / "skills",
        project / ".claude" / "skills",
    )
    alone = project.parent / "alone"
    alone.mkdir()
    assert load_settings(alone, {}).project_skills == (alone / ".claude" / "skills",)


def test_the_users_own_folder_can_be_moved_and_is_no_project(
    tmp_path: Path, own_home: Path
) -> None:
    write(tmp_path / "conf/settings.json", {"model": "moved"})
    settings = load_settings(own_home, {"CLAUDE_CONFIG_DIR": str(tmp_path / "conf")})
    assert settings.model == "moved"
    write(own_home / ".claude/settings.json", {"permissions": {"allow": ["Read"]}})
    sources = [rules.source for rules in load_settings(own_home, {}).permissions]
    assert sources == ["user"]


def test_settings_never_show_a_key(project: Path) -> None:
    settings = load_settings(project, {"ANTHROPIC_API_KEY": "sk-ant-hidden-value"})
    assert isinstance(settings, Settings)
    assert "hidden" not in repr(settings) + settings.model_dump_json()


def nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10), nested, max_leaves=8
)


@given(
    value=st.dictionaries(st.sampled_from(["model", "permissions", "x"]), json_values)
    | st.builds(
        lambda p: {"permissions": p},
        st.dictionaries(st.sampled_from(["allow", "deny", "defaultMode"]), json_values),
    )
)
def test_no_content_of_a_file_stops_the_reading(
    value: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("s") / "settings.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    found = read_file("project", path, path.parent)
    assert found is not None
