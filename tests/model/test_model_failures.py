"""Model calls that fail, over real HTTP: the exact events a caller gets."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from agent_kernel.errors import ModelErrorKind
from agent_kernel.model.offline import Fault
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.model_types import (
    ReplyFailed,
)
from agent_kernel.testing.model import a_request
from tests.support.replies import kinds, reply, script

CUT = "The connection ended before the reply was complete."


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(status=400, message="max_tokens: too large"), ModelErrorKind.INVALID_REQUEST),
        (
            Fault(status=400, message="prompt is too long: 210000 tokens > 200000 maximum"),
            ModelErrorKind.PROMPT_TOO_LONG,
        ),
        (
            Fault(status=400, message="input length and `max_tokens` exceed context limit"),
            ModelErrorKind.PROMPT_TOO_LONG,
        ),
        (
            Fault(status=400, message="messages.1: `thinking` blocks cannot be modified"),
            ModelErrorKind.BAD_THINKING,
        ),
        (
            Fault(status=400, message="messages.0.content.1.image.source: Could not process image"),
            ModelErrorKind.BAD_IMAGE,
        ),
        (Fault(status=401), ModelErrorKind.AUTHENTICATION),
        (Fault(status=403), ModelErrorKind.PERMISSION),
        (Fault(status=404), ModelErrorKind.NOT_FOUND),
        (Fault(status=413), ModelErrorKind.REQUEST_TOO_LARGE),
        (Fault(status=429), ModelErrorKind.RATE_LIMIT),
        (Fault(status=500), ModelErrorKind.SERVER),
        (Fault(status=502, body="<html><h1>Bad gateway</h1></html>"), ModelErrorKind.SERVER),
        (Fault(status=503, body=""), ModelErrorKind.OVERLOADED),
        (Fault(status=529), ModelErrorKind.OVERLOADED),
        (Fault(status=500, type="overloaded_error"), ModelErrorKind.OVERLOADED),
    ],
    ids=lambda value: value.value if isinstance(value, ModelErrorKind) else str(value.status),
)
async def test_an_error_status_is_one_event_of_the_right_kind(
    model_server: ScriptedServer, tmp_path: Path, fault: Fault, kind: ModelErrorKind
) -> None:
    model_server.fail_next(fault)
    (event,) = await reply(model_server, tmp_path)
    assert isinstance(event, ReplyFailed)
    assert (event.kind, event.status, event.retry_after) == (kind, fault.status, None)
    assert event.message
    assert "<" not in event.message
    assert len(model_server.requests) == 1, "the client library must not retry"


@pytest.mark.parametrize(
    ("written", "seconds"), [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("soon", None)]
)
async def test_the_pause_a_server_asks_for_is_told(
    model_server: ScriptedServer, tmp_path: Path, written: str, seconds: float | None
) -> None:
    model_server.fail_next(Fault(status=429, retry_after=written))
    (event,) = await reply(model_server, tmp_path)
    assert isinstance(event, ReplyFailed)
    assert event.retry_after == seconds


async def test_an_error_event_before_the_reply_is_the_only_event(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    script(model_server, {"error": "overloaded_error", "message": "Overloaded"})
    assert await reply(model_server, tmp_path) == [
        ReplyFailed(kind=ModelErrorKind.OVERLOADED, message="Overloaded")
    ]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("overloaded_error", ModelErrorKind.OVERLOADED),
        ("api_error", ModelErrorKind.SERVER),
        ("rate_limit_error", ModelErrorKind.RATE_LIMIT),
        ("an_error_of_tomorrow", ModelErrorKind.SERVER),
    ],
)
async def test_an_error_event_after_text_is_judged_by_its_type_not_by_the_status_200(
    model_server: ScriptedServer, tmp_path: Path, name: str, kind: ModelErrorKind
) -> None:
    script(model_server, {"text": "So far"}, {"error": name, "message": "Sorry"})
    events = await reply(model_server, tmp_path)
    assert kinds(events) == ["started", "text", "block", "failed"]
    assert events[-1] == ReplyFailed(kind=kind, message="Sorry")


async def test_an_error_event_inside_tool_input_leaves_the_call_incomplete(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    script(
        model_server,
        {"tool": "Write", "input": {"file_path": "a.py"}, "upto": 12},
        {"error": "overloaded_error"},
    )
    events = await reply(model_server, tmp_path)
    assert kinds(events) == ["started", "tool_started", "tool_input", "tool_input", "failed"]


async def test_silence_in_mid_reply_is_a_stall(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    script(model_server, {"text": "Well"}, {"stall": True})
    events = await reply(model_server, tmp_path, idle_timeout=0.2)
    assert kinds(events) == ["started", "text", "block", "failed"]
    assert events[-1] == ReplyFailed(
        kind=ModelErrorKind.STALLED, message="The server said nothing for 0.2 seconds."
    )
    assert model_server.exchanges[0].finished.wait(10)


async def test_a_server_that_accepts_and_says_nothing_has_stalled(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    script(model_server, {"text": "never"}, wait_for="never")
    (event,) = await reply(model_server, tmp_path, idle_timeout=0.2)
    assert isinstance(event, ReplyFailed)
    assert event.kind is ModelErrorKind.STALLED


@pytest.mark.parametrize("how", [True, "clean"])
async def test_a_stream_without_its_end_is_cut_however_it_closes(
    model_server: ScriptedServer, tmp_path: Path, how: object
) -> None:
    script(model_server, {"text": "Half a", "upto": 6}, {"cut": how})
    events = await reply(model_server, tmp_path)
    assert kinds(events) == ["started", "text", "failed"]
    last = events[-1]
    assert isinstance(last, ReplyFailed)
    assert last.kind is ModelErrorKind.CUT
    if how == "clean":
        assert last.message == CUT


async def test_a_cut_before_the_first_event_is_a_broken_connection(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    client = model_server.client(tmp_path, base_url=f"http://127.0.0.1:{port}")
    (event,) = [event async for event in client.stream(a_request())]
    await client.close()
    assert isinstance(event, ReplyFailed)
    assert event.kind is ModelErrorKind.CONNECTION
