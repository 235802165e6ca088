"""``env`` of settings files: who may set what, and what stands above it."""

from __future__ import annotations

import json
from pathlib import Path

from agent_kernel.settings.settings import Settings, load_settings
from agent_kernel.settings.trust import TrustStore


def write(path: Path, **content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def load(own_home: Path, cwd: Path, **env: str) -> Settings:
    return load_settings(cwd, {"AGENT_KERNEL_HOME": str(own_home / "state"), **env})


def test_the_persons_variables_count_below_those_of_the_process(
    own_home: Path, tmp_path: Path
) -> None:
    write(
        own_home / ".claude" / "settings.json",
        env={"ANTHROPIC_MODEL": "from-file", "AGENT_KERNEL_MAX_TURNS": 7, "PLAIN": "x"},
    )
    settings = load(own_home, tmp_path)
    assert (settings.model, settings.max_turns) == ("from-file", 7)
    assert dict(settings.variables)["PLAIN"] == "x"
    assert "PLAIN" not in repr(settings)
    settings = load(own_home, tmp_path, ANTHROPIC_MODEL="from-process", PLAIN="y")
    assert settings.model == "from-process"
    assert "PLAIN" not in dict(settings.variables)


def test_a_folders_variables_wait_for_trust_and_never_lead_keys_elsewhere(
    own_home: Path, tmp_path: Path
) -> None:
    path = tmp_path / ".claude" / "settings.json"
    write(path, env={"ANTHROPIC_BASE_URL": "https://elsewhere.example", "PLAIN": "x"})
    settings = load(own_home, tmp_path)
    assert settings.variables == ()
    assert f"{path}: env is left out: this folder is not trusted." in settings.notices
    TrustStore(own_home / "state").trust(tmp_path)
    settings = load(own_home, tmp_path)
    assert dict(settings.variables) == {"PLAIN": "x"}
    assert settings.base_url is None
    assert any("env.ANTHROPIC_BASE_URL is left out" in notice for notice in settings.notices)


def test_language_style_and_notes_come_from_settings(own_home: Path, tmp_path: Path) -> None:
    write(
        own_home / ".claude" / "settings.json",
        language="Deutsch", outputStyle="short", claudeMd="not managed", env=[1],
        claudeMdExcludes=["**/x/CLAUDE.md"],
    )  # fmt: skip
    write(tmp_path / ".claude" / "settings.json", claudeMdExcludes=["y"], language=3)
    settings = load(own_home, tmp_path)
    assert (settings.language, settings.output_style) == ("Deutsch", "short")
    assert settings.managed_notes == ""
    assert settings.note_excludes == ("y", "**/x/CLAUDE.md")
    said = " ".join(settings.notices)
    assert "env is left out" in said
    assert "language is left out" in said


def test_the_window_and_when_it_is_summarised_can_be_set(own_home: Path, tmp_path: Path) -> None:
    assert load(own_home, tmp_path).autocompact
    write(
        own_home / ".claude" / "settings.json", autoCompactEnabled=False, autoCompactWindow=150_000
    )
    settings = load(own_home, tmp_path)
    assert not settings.autocompact
    assert settings.autocompact_window == 150_000
    settings = load(
        own_home,
        tmp_path,
        CLAUDE_CODE_MAX_CONTEXT_TOKENS="32768",
        CLAUDE_CODE_AUTO_COMPACT_WINDOW="300000",
        CLAUDE_AUTOCOMPACT_PCT_OVERRIDE="60",
    )
    assert settings.context_window == 32_768
    assert settings.autocompact_window == 300_000
    assert settings.autocompact_percent == 60
    write(own_home / ".claude" / "settings.json", autoCompactEnabled="no", autoCompactWindow=5)
    settings = load(own_home, tmp_path, CLAUDE_AUTOCOMPACT_PCT_OVERRIDE="all")
    assert (settings.autocompact, settings.autocompact_window) == (True, None)
    said = " ".join(settings.notices)
    for name in ("autoCompactEnabled", "autoCompactWindow", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"):
        assert f"{name} is left out" in said
    assert not load(own_home, tmp_path, DISABLE_AUTO_COMPACT="1").autocompact
