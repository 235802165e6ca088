"""Rules that come with a folder, and rules a person keeps: trust, places, what they mean later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from agent_kernel.errors import SettingsError
from agent_kernel.permissions.gate import Gate
from agent_kernel.settings.settings import load_settings
from agent_kernel.settings.trust import TrustStore
from agent_kernel.vocabulary import RuleDestination
from tests.support.tools import Bench

WRITE: dict[str, JsonValue] = {"file_path": "src/a.py", "content": "x"}


def settings_file(folder: Path, **permissions: list[str]) -> None:
    (folder / ".claude").mkdir(parents=True, exist_ok=True)
    text = json.dumps({"permissions": permissions})
    (folder / ".claude" / "settings.json").write_text(text)


async def test_allow_rules_of_a_project_wait_for_trust_and_deny_rules_do_not(
    tmp_path: Path, own_home: Path
) -> None:
    (repo := tmp_path / "repo").mkdir()
    (repo / ".git").mkdir()
    settings_file(repo, allow=["Python", "Write("], deny=["Edit(src/**)"])
    settings_file(own_home, allow=["RunCell"])
    environ = {"AGENT_KERNEL_HOME": str(tmp_path / "state")}
    settings = load_settings(repo, environ)
    trust = TrustStore(settings.home)
    one = Bench(repo, gate=Gate.from_settings(settings, trust=trust))
    assert len(one.gate.problems) == 1
    decision = await one.decide("Python", code="1")
    assert decision.behavior == "ask"
    assert decision.hint.endswith(
        "The rule `Python` (project settings) counts once this folder is trusted."
    )
    assert (await one.decide("Write", **WRITE)).behavior == "deny"
    assert (await one.decide("RunCell", cell_id="a")).behavior == "allow"
    trust.trust(repo)
    assert (await one.decide("Python", code="1")).behavior == "allow"
    assert (settings.home / "trust.json").stat().st_mode & 0o777 == 0o600
    assert TrustStore(settings.home).is_trusted(repo / "src")
    assert not TrustStore(settings.home).is_trusted(tmp_path)


async def test_trust_in_a_folder_is_no_trust_in_settings_that_lie_above_it(
    tmp_path: Path,
) -> None:
    (work := tmp_path / "shared" / "work").mkdir(parents=True)
    settings_file(tmp_path / "shared", allow=["Python"])
    settings = load_settings(work, {"AGENT_KERNEL_HOME": str(tmp_path / "state")})
    trust = TrustStore(settings.home)
    one = Bench(work, gate=Gate.from_settings(settings, trust=trust))
    trust.trust(work)
    assert (await one.decide("Python", code="1")).behavior == "ask"
    trust.trust(tmp_path / "shared")
    assert (await one.decide("Python", code="1")).behavior == "allow"


async def test_always_allow_is_kept_for_the_project_and_read_again(tmp_path: Path) -> None:
    (repo := tmp_path / "repo").mkdir()
    environ = {"AGENT_KERNEL_HOME": str(tmp_path / "state")}
    settings = load_settings(repo, environ)
    Gate.from_settings(settings).remember("Edit(./src/a.py)", "local")
    Gate.from_settings(settings).remember("Edit(docs/**)", "user")
    later = Bench(repo, gate=Gate.from_settings(settings))
    assert (await later.decide("Write", **WRITE)).rule == "Edit(/src/a.py)"
    assert (await later.decide("Write", file_path="docs/x", content="")).behavior == "allow"
    (other := tmp_path / "other").mkdir()
    elsewhere = Bench(other, gate=Gate.from_settings(load_settings(other, environ)))
    assert (await elsewhere.decide("Write", **WRITE)).behavior == "ask"
    assert (await elsewhere.decide("Write", file_path="docs/x", content="")).behavior == "allow"
    (file, user) = sorted((tmp_path / "state" / "rules").iterdir())
    assert (file.stat().st_mode & 0o777, user.name) == (0o600, "user.json")
    assert not (repo / ".claude").exists()


def test_a_rule_for_the_project_keeps_what_its_settings_held(tmp_path: Path) -> None:
    settings_file(tmp_path, deny=["Read(.env)"])
    settings = load_settings(tmp_path, {"AGENT_KERNEL_HOME": str(tmp_path / "state")})
    gate = Gate.from_settings(settings)
    gate.remember("Edit(src/**)", "project")
    gate.remember("Edit(src/**)", "project")
    content = json.loads((tmp_path / ".claude" / "settings.json").read_text())
    assert content == {"permissions": {"deny": ["Read(.env)"], "allow": ["Edit(/src/**)"]}}


@pytest.mark.parametrize("rule", ["Edit(./data.csv)", "Edit(/data.csv)", "Edit(*.csv)"])
@pytest.mark.parametrize("destination", ["local", "project"])
async def test_always_allow_in_one_folder_of_a_project_is_not_taken_up_in_another(
    tmp_path: Path, rule: str, destination: RuleDestination
) -> None:
    (tmp_path / ".git").mkdir()
    environ = {"AGENT_KERNEL_HOME": str(tmp_path / "state")}
    folders = {name: tmp_path / "book [1]" / name for name in ("here", "there")}
    for folder in folders.values():
        folder.mkdir(parents=True)
    Gate.from_settings(load_settings(folders["here"], environ)).remember(rule, destination)
    for name, folder in folders.items():
        settings = load_settings(folder, environ)
        trust = TrustStore(settings.home)
        trust.trust(folder)
        later = Bench(folder, gate=Gate.from_settings(settings, trust=trust))
        for path in ("data.csv", str(folders["there"] / "data.csv")):
            decision = await later.decide("Write", file_path=path, content="")
            wanted = "allow" if (name, path) == ("here", "data.csv") else "ask"
            assert decision.behavior == wanted, (name, path)


def test_rules_that_stand_for_any_code_are_not_kept_beyond_the_session(tmp_path: Path) -> None:
    gate = Gate.from_settings(load_settings(tmp_path, {"AGENT_KERNEL_HOME": str(tmp_path)}))
    with pytest.raises(SettingsError, match="for a session only"):
        gate.remember("Python", "local")
    with pytest.raises(SettingsError, match="one line"):
        gate.remember("Bash(a\nb)", "local")
    gate.remember("Python", "session")
    assert [str(rule) for rule in gate.rules] == ["Python"]


def test_settings_that_cannot_be_read_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    file = tmp_path / ".claude" / "settings.json"
    file.write_text("{ broken")
    gate = Gate.from_settings(load_settings(tmp_path, {"AGENT_KERNEL_HOME": str(tmp_path / "s")}))
    with pytest.raises(SettingsError, match="left alone"):
        gate.remember("Edit(a)", "project")
    assert file.read_text() == "{ broken"


def test_nothing_is_written_below_the_persons_own_settings(own_home: Path) -> None:
    (own_home / ".claude").mkdir()
    settings = load_settings(own_home, {"AGENT_KERNEL_HOME": str(own_home / "state")})
    with pytest.raises(SettingsError, match="only read"):
        Gate.from_settings(settings).remember("Edit(a)", "project")
    assert list((own_home / ".claude").iterdir()) == []
