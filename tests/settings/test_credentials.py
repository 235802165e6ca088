"""Which key is used, and that it stays out of sight."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agent_kernel.errors import SettingsError
from agent_kernel.settings.credentials import (
    find_credential,
    forget_key,
    read_key,
    save_key,
)

KEY = "sk-ant-test-0123456789abcdef"


def test_the_environment_comes_before_the_saved_key_and_nothing_means_offline(
    tmp_path: Path,
) -> None:
    assert find_credential({}, tmp_path, None).kind == "offline"
    save_key(tmp_path, KEY)
    saved = find_credential({}, tmp_path, None)
    assert (saved.kind, saved.source) == ("api_key", "saved by %agent setup")
    token = find_credential({"ANTHROPIC_AUTH_TOKEN": "t"}, tmp_path, None)
    assert (token.kind, token.source) == ("auth_token", "ANTHROPIC_AUTH_TOKEN")
    both = {"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_API_KEY": " k\n"}
    key = find_credential(both, tmp_path, None)
    assert key.source == "ANTHROPIC_API_KEY"
    assert key.secret is not None
    assert key.secret.get_secret_value() == "k"
    assert find_credential({"ANTHROPIC_API_KEY": " "}, tmp_path, None).source == saved.source


def test_a_key_is_saved_for_its_owner_and_shown_to_nobody(tmp_path: Path) -> None:
    path = save_key(tmp_path / "home", f"  {KEY}\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    credential = find_credential({}, tmp_path / "home", None)
    assert credential.secret is not None
    assert credential.secret.get_secret_value() == KEY
    for shown in (repr(credential), str(credential), credential.model_dump_json()):
        assert KEY not in shown


def test_a_saved_key_is_used_for_the_endpoint_it_was_given_for_and_no_other(
    tmp_path: Path,
) -> None:
    save_key(tmp_path, KEY)
    assert read_key(tmp_path, None) is not None
    assert read_key(tmp_path, "https://api.anthropic.com/") is not None
    assert read_key(tmp_path, "https://elsewhere.example") is None
    assert find_credential({}, tmp_path, "https://elsewhere.example").kind == "none"
    save_key(tmp_path, KEY, base_url="https://elsewhere.example/")
    assert find_credential({}, tmp_path, "https://elsewhere.example").kind == "api_key"
    assert find_credential({}, tmp_path, None).kind == "offline"


@pytest.mark.parametrize("bad", ["", "   ", "two words", "schlüssel", "a\x00b", "a\nb"])
def test_what_is_no_key_is_refused(tmp_path: Path, bad: str) -> None:
    with pytest.raises(SettingsError, match="not a key"):
        save_key(tmp_path, bad)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"key": 3}', "\x00"])
def test_a_broken_key_file_counts_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "key.json").write_text(content, encoding="utf-8")
    assert read_key(tmp_path, None) is None


def test_a_key_that_cannot_be_saved_is_an_error_that_says_where(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="cannot be saved"):
        save_key(tmp_path / "file" / "home", KEY)


def test_a_key_can_be_forgotten(tmp_path: Path) -> None:
    save_key(tmp_path, KEY)
    assert forget_key(tmp_path)
    assert not forget_key(tmp_path)


def test_the_client_librarys_own_chain_comes_before_the_saved_key(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_key(tmp_path, KEY)
    profile = own_home / ".config" / "anthropic" / "configs" / "default.json"
    profile.parent.mkdir(parents=True)
    profile.write_text("{}", encoding="utf-8")
    found = find_credential(os.environ, tmp_path, None)
    assert (found.kind, found.source) == ("chain", "profile default")
    monkeypatch.setenv("ANTHROPIC_PROFILE", "work")
    assert "ANTHROPIC_PROFILE" in find_credential(os.environ, tmp_path, None).source
    monkeypatch.delenv("ANTHROPIC_PROFILE")
    for name in ("IDENTITY_TOKEN", "FEDERATION_RULE_ID", "ORGANIZATION_ID"):
        monkeypatch.setenv(f"ANTHROPIC_{name}", "x")
    assert find_credential(os.environ, tmp_path, None).source == "workload identity"
