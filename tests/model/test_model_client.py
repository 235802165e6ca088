"""Which endpoint a client talks to, and how long it lives."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from agent_kernel.errors import ModelErrorKind
from agent_kernel.messages import TextBlock, Usage
from agent_kernel.model.anthropic_client import is_loopback
from agent_kernel.model.client import create_client
from agent_kernel.model.prices import cost
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.model_types import ReplyBlock, ReplyEvent, ReplyFailed, ReplyFinished
from agent_kernel.settings.credentials import Credential, save_key
from agent_kernel.settings.settings import load_settings
from agent_kernel.testing.model import a_request


async def replies(client: object, text: str = "hello") -> list[ReplyEvent]:
    return [event async for event in client.stream(a_request(text))]  # type: ignore[attr-defined]


def said(events: list[ReplyEvent]) -> str:
    blocks = [event.block for event in events if isinstance(event, ReplyBlock)]
    return "".join(block.text for block in blocks if isinstance(block, TextBlock))


async def test_with_nothing_configured_the_answer_is_an_honest_script(tmp_path: Path) -> None:
    settings = load_settings(tmp_path)
    assert settings.is_offline
    client = create_client(settings)
    status = await client.status()
    assert (status.offline, status.endpoint, status.key_source) == (True, "", "none")
    text = said(await replies(client, "Prove the Riemann hypothesis"))
    await client.close()
    assert "fixed script" in text
    assert "%agent setup" in text


async def test_own_scripts_can_be_given_by_the_environment(tmp_path: Path) -> None:
    script = tmp_path / "mine.yaml"
    script.write_text("rules:\n  - reply: From my file.\n", encoding="utf-8")
    settings = load_settings(tmp_path, {"AGENT_KERNEL_OFFLINE_SCRIPTS": str(script)})
    client = create_client(settings)
    assert said(await replies(client)) == "From my file."
    await client.close()


async def test_a_script_with_a_fault_is_a_failure_that_names_the_place(tmp_path: Path) -> None:
    script = tmp_path / "bad.yaml"
    script.write_text("rules:\n  - matches: '('\n", encoding="utf-8")
    settings = load_settings(tmp_path, {"AGENT_KERNEL_OFFLINE_SCRIPTS": str(script)})
    client = create_client(settings)
    (event,) = await replies(client)
    await client.close()
    assert isinstance(event, ReplyFailed)
    assert "bad.yaml: rules.0.matches" in event.message


async def test_status_names_model_endpoint_and_source_but_never_the_key(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    settings = load_settings(
        tmp_path,
        {
            "ANTHROPIC_API_KEY": "sk-ant-very-secret-value",
            "ANTHROPIC_BASE_URL": "https://user:pass@gateway.example/path/",
            "ANTHROPIC_MODEL": "opus",
        },
    )
    client = create_client(settings)
    status = await client.status()
    assert status.model_dump() == {
        "model": "claude-opus-5-5",
        "offline": False,
        "endpoint": "https://gateway.example/path",
        "key_source": "ANTHROPIC_API_KEY",
    }
    for shown in (repr(settings), settings.model_dump_json(), repr(client), str(vars(client))):
        assert "very-secret" not in shown


async def test_the_key_and_the_token_travel_in_the_header_of_their_kind(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    model_server.script([{"reply": "ok"}])
    for kind in ("api_key", "auth_token"):
        credential = Credential(kind=kind, source="test", secret=SecretStr(f"the-{kind}"))
        client = model_server.client(tmp_path, credential=credential)
        assert isinstance((await replies(client))[-1], ReplyFinished)
        await client.close()
    headers = [exchange.headers for exchange in model_server.exchanges]
    assert ["the-api_key" in str(each.values()) for each in headers] == [True, False]
    assert headers[1]["authorization"] == "Bearer the-auth_token"


async def test_an_endpoint_of_ones_own_needs_no_key(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    model_server.script([{"reply": "ok"}])
    settings = load_settings(tmp_path, {"ANTHROPIC_BASE_URL": model_server.base_url})
    assert settings.credential.kind == "none"
    client = create_client(settings)
    assert said(await replies(client)) == "ok"
    await client.close()


async def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    model_server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    model_server.script([{"reply": "direct"}])
    client = model_server.client(tmp_path)
    assert said(await replies(client)) == "direct"
    await client.close()


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:80", True),
        ("http://127.8.8.8", True),
        ("http://[::1]:1", True),
        ("http://localhost:11434/v1", True),
        ("http://api.localhost", True),
        ("https://localhost.example.org", False),
        ("http://10.0.0.1", False),
        ("https://api.anthropic.com", False),
    ],
)
def test_loopback_is_judged_by_the_host_alone(url: str, local: bool) -> None:
    assert is_loopback(url) is local


def test_one_client_serves_one_event_loop_after_another(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    model_server.script([{"reply": "ok"}])
    client = model_server.client(tmp_path)

    async def once() -> str:
        text = said(await replies(client))
        await client.close()
        return text

    assert [asyncio.run(once()) for _ in range(2)] == ["ok", "ok"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_loop_that_ended_without_closing_leaves_a_client_that_works_on_the_next(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    model_server.script([{"reply": "ok"}])
    client = model_server.client(tmp_path)
    assert [said(asyncio.run(replies(client))) for _ in range(2)] == ["ok", "ok"]
    asyncio.run(client.close())
    # The connections of the loops that were not closed go here, not in somebody else's test.
    del client
    gc.collect()


async def test_a_key_that_is_refused_is_told_as_such_and_not_remembered(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    from agent_kernel.model.offline import Fault

    model_server.script([{"reply": "ok"}])
    model_server.fail_next(Fault(status=401, message="invalid x-api-key"))
    client = model_server.client(tmp_path)
    (event,) = await replies(client)
    assert isinstance(event, ReplyFailed)
    assert event.kind is ModelErrorKind.AUTHENTICATION
    assert said(await replies(client)) == "ok"
    await client.close()


async def test_what_a_model_can_do_comes_from_the_endpoint_then_the_table_then_caution(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    client = model_server.client(tmp_path)
    told = await client.capabilities("claude-sonnet-5-5")
    assert (told.context_window, told.max_output_tokens, told.known) == (200_000, 64_000, True)
    table = await client.capabilities("claude-opus-4-5")
    assert (table.context_window, table.known) == (200_000, True)
    careful = await client.capabilities("llama-9")
    assert (careful.context_window, careful.thinking, careful.known) == (200_000, False, False)
    await client.close()


def test_nothing_heavy_is_imported_before_the_first_request(tmp_path: Path) -> None:
    code = (
        "import sys, asyncio; from pathlib import Path\n"
        "from agent_kernel.model.client import create_client\n"
        "from agent_kernel.settings.settings import load_settings\n"
        "client = create_client(load_settings(Path.cwd()))\n"
        "asyncio.run(client.status())\n"
        "print([name for name in ('anthropic', 'httpx2', 'yaml') if name in sys.modules])\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert run.stdout.strip() == "[]"


def test_a_saved_key_makes_the_client_real(tmp_path: Path) -> None:
    home = Path(os.environ["AGENT_KERNEL_HOME"])
    save_key(home, "sk-ant-saved-key-0123456789")
    settings = load_settings(tmp_path)
    status = asyncio.run(create_client(settings).status())
    assert (status.offline, status.key_source) == (False, "saved by %agent setup")


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        ("claude-sonnet-5-5", Usage(input_tokens=1_000_000, output_tokens=100_000), 3.0),
        ("claude-haiku-4-5-20251001", Usage(output_tokens=1_000_000), 5.0),
        ("claude-opus-5-5", Usage(cache_read_input_tokens=1_000_000), 0.2),
        ("claude-haiku-5-5", Usage(input_tokens=100_000), 0.01),
        ("claude-haiku-5-5", Usage(input_tokens=50_000, cache_read_input_tokens=60_000), 0.028),
        ("some-model", Usage(input_tokens=5), None),
    ],
)
def test_the_cost_of_a_call_is_by_the_table_or_unknown(
    model: str, usage: Usage, dollars: float | None
) -> None:
    assert cost(model, usage) == (None if dollars is None else pytest.approx(dollars))


def profile(home: Path, base_url: str, **config: object) -> None:
    folder = home / ".config" / "anthropic"
    (folder / "configs").mkdir(parents=True)
    (folder / "credentials").mkdir()
    auth = {"type": "user_oauth"}
    told = {"base_url": base_url, "authentication": auth, **config}
    (folder / "configs" / "default.json").write_text(json.dumps(told), encoding="utf-8")
    secret = folder / "credentials" / "default.json"
    secret.write_text(json.dumps({"access_token": "from-the-profile"}), encoding="utf-8")
    secret.chmod(0o600)


async def test_a_profile_of_the_client_library_is_used_as_the_library_would(
    model_server: ScriptedServer, tmp_path: Path, own_home: Path
) -> None:
    model_server.script([{"reply": "ok"}])
    profile(own_home, model_server.base_url)
    client = create_client(load_settings(tmp_path))
    assert (await client.status()).key_source == "profile default"
    assert said(await replies(client)) == "ok"
    assert model_server.exchanges[0].headers["authorization"] == "Bearer from-the-profile"
    await client.close()


async def test_a_profile_that_cannot_be_used_is_a_failure_and_no_exception(
    model_server: ScriptedServer, tmp_path: Path, own_home: Path
) -> None:
    profile(own_home, model_server.base_url, authentication="broken")
    client = create_client(load_settings(tmp_path))
    (event,) = await replies(client)
    assert isinstance(event, ReplyFailed)
    assert event.kind is ModelErrorKind.AUTHENTICATION
    await client.close()
