"""Secrets are taken out, other text is left as it is."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.settings.secrets import MARKER, Scrubber, without_lone_surrogates

KEY = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz"


def test_values_of_secret_variables_are_replaced_wherever_they_stand() -> None:
    environment = {
        "ANTHROPIC_API_KEY": "plain-looking-value",
        "DB_PASSWORD": "hunter2hunter2",
        "SHORT_TOKEN": "abc",
        "HOME": "/home/somebody",
        "AUTH_MODE": "true",
        "KEY_FILE": "/etc/keys/long-path",
        "SSH_AUTH_SOCK": "/tmp/ssh-agent.12345",
        "RETRY_KEY": "1234567890",
    }
    scrubber = Scrubber.from_environment(environment, "another-secret")
    printed = "\n".join(f"{name}={value}" for name, value in environment.items())
    shown = scrubber.scrub(printed + "\nanother-secret")
    assert "plain-looking-value" not in shown
    assert "hunter2" not in shown
    assert "another-secret" not in shown
    for name in ("SHORT_TOKEN", "HOME", "AUTH_MODE", "KEY_FILE", "SSH_AUTH_SOCK", "RETRY_KEY"):
        assert f"{name}={environment[name]}" in shown
    assert repr(scrubber) == "Scrubber()"


def test_a_printed_environment_holds_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "t0k3n-of-the-service")
    shown = Scrubber.from_environment(os.environ).scrub(str(dict(os.environ)))
    assert "t0k3n" not in shown
    assert MARKER in shown


@pytest.mark.parametrize(
    "secret",
    [
        KEY,
        "sk-proj-abcdefghijklmnopqrstuvwx",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
        "glpat-abcdefghij0123456789",
        "xoxb-123456789012-abcdefghijkl",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA-1234567890abcdefghijklmnopqrstu",
        "hf_abcdefghijklmnopqrstuvwxyz",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_key_is_replaced(secret: str) -> None:
    assert Scrubber().scrub(f"before {secret} after") == f"before {MARKER} after"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abcdef123456", f"Authorization: Bearer {MARKER}"),
        ("{'x-api-key': 'abcdef123456'}", f"{{'x-api-key': '{MARKER}'}}"),
        ("postgres://me:geheim@db/x", f"postgres://me:{MARKER}@db/x"),
    ],
)
def test_secrets_in_headers_and_addresses_are_replaced(text: str, shown: str) -> None:
    assert Scrubber().scrub(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "key = df['token'].nunique()",
        "the task-force met; risk-free rate 3.5%",
        "sk-learn and sk-ip",
        "http://localhost:8888/tree?x=1",
        "def authorization(request): return None",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "df.groupby('key').size()",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Scrubber().scrub(text) == text


@given(st.text())
def test_scrubbing_twice_changes_nothing_more(text: str) -> None:
    scrubber = Scrubber(["a-known-secret"])
    once = scrubber.scrub(text + " a-known-secret")
    assert "a-known-secret" not in once
    assert scrubber.scrub(once) == once


@given(st.text(st.characters(codec=None), max_size=30))
def test_text_can_always_be_encoded_afterwards(text: str) -> None:
    cleaned = without_lone_surrogates(text)
    cleaned.encode()
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert cleaned == text


def test_a_pair_is_joined_and_a_half_is_replaced() -> None:
    assert without_lone_surrogates("a\ud83d\ude00b") == "a😀b"
    assert without_lone_surrogates("\ud83dx\ude00") == "�x�"


def test_a_key_learnt_later_is_removed_too() -> None:
    scrubber = Scrubber(["first-secret"])
    scrub = scrubber.scrub
    assert "plain-looking-key" in scrub("plain-looking-key")
    scrubber.learn("plain-looking-key", "short")
    assert scrub("first-secret plain-looking-key short") == f"{MARKER} {MARKER} short"
