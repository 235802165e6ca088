"""Failures of the model: retried, withdrawn, reported; never a half effect."""

from __future__ import annotations

import base64
import io
from typing import Any

import pytest
from PIL import Image

from agent_kernel.errors import ModelErrorKind
from agent_kernel.events import Notice, Tombstone, ToolFinished
from agent_kernel.loop.recovery import Recovery, RetryPolicy
from agent_kernel.messages import AssistantMessage, ImageBlock
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.model_types import ReplyFailed
from agent_kernel.testing.tools import FakeInput, FakeTool
from agent_kernel.tool_types import ToolContext, ToolResult
from agent_kernel.vocabulary import RunEnd
from tests.support.loop import Loop, told


def call(tool: str, id: str, **input: Any) -> dict[str, Any]:
    return {"tool": tool, "id": id, "input": input}


async def test_an_overloaded_model_is_asked_again_and_says_until_when(
    model_server: ScriptedServer,
) -> None:
    step = {"fault": {"status": 529, "times": 2}, "blocks": [{"text": "Hello."}]}
    model_server.script([{"contains": "go", "steps": [step]}])
    loop = Loop(model_server)
    began = loop.clock.now()
    await loop.run("go")
    assert told(loop.events) == [
        "notice retry",
        "notice retry",
        "message_started",
        "text_delta",
        "usage",
        "run_finished completed",
    ]
    assert loop.clock.slept == [1.0, 2.0]
    first = next(e for e in loop.events if isinstance(e, Notice))
    assert first.until == began + 1.0
    assert first.text == "The model is overloaded. Trying again in 1 s (1 of 5)."


async def test_a_pause_the_server_asks_for_is_honoured(model_server: ScriptedServer) -> None:
    step = {"fault": {"status": 429, "retry_after": 7}, "blocks": [{"text": "Hello."}]}
    model_server.script([{"contains": "go", "steps": [step]}])
    loop = Loop(model_server)
    await loop.run("go")
    assert loop.clock.slept == [7.0]


@pytest.mark.parametrize("fault", [{"cut": True}, {"cut": "clean"}, {"error": "overloaded_error"}])
async def test_a_broken_stream_is_withdrawn_and_its_tools_leave_no_effect(
    model_server: ScriptedServer, fault: dict[str, Any]
) -> None:
    broken = [{"text": "I will "}, call("Look", "r1"), call("Write", "w1"), fault]
    model_server.script([{"contains": "go", "steps": [broken]}])
    write = FakeTool("Write")
    loop = Loop(model_server, [FakeTool("Look", read_only=True, concurrent=True), write])
    await loop.run("go")
    assert write.calls == []
    assert loop.end.end is RunEnd.MODEL_ERROR
    assert len(model_server.requests) == 6
    stones = [e for e in loop.events if isinstance(e, Tombstone)]
    assert len({stone.message_id for stone in stones}) == 6
    assert not any(isinstance(m, AssistantMessage) for m in loop.messages)
    # Five reads of six attempts may have ended; no write ever began.
    assert all(
        e.tool_use_id.startswith("r") or e.status == "cancelled"
        for e in loop.events
        if isinstance(e, ToolFinished)
    )


async def test_what_a_withdrawn_call_read_does_not_count_as_read(
    model_server: ScriptedServer,
) -> None:
    async def look(input: FakeInput, context: ToolContext) -> str:
        context.read_state.remember("file:/x", "abc")
        assert context.read_state.digest("file:/x") == "abc"
        return "text"

    steps = [[call("Look", "r1"), {"text": "and"}, {"cut": True}]]
    model_server.script([{"contains": "go", "steps": steps}])
    loop = Loop(model_server, [FakeTool("Look", look, read_only=True, concurrent=True)])
    await loop.run("go")
    assert loop.reads.digest("file:/x") is None

    model_server.script([{"contains": "look", "steps": [[call("Look", "r2")], "Seen."]}])
    await loop.run("look")
    assert loop.reads.digest("file:/x") == "abc"


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_a_failure_that_stays_ends_the_run_at_once(
    model_server: ScriptedServer, status: int
) -> None:
    step = {"fault": {"status": status, "message": "no such thing"}, "blocks": []}
    model_server.script([{"contains": "hi", "reply": "Hi."}, {"contains": "go", "steps": [step]}])
    loop = Loop(model_server)
    await loop.run("go")
    assert loop.end.end is RunEnd.MODEL_ERROR
    assert "no such thing" in loop.end.detail
    assert len(model_server.requests) == 1
    await loop.run("hi")
    assert loop.end.text == "Hi."


async def test_thinking_that_is_refused_is_left_out_and_the_request_sent_again(
    model_server: ScriptedServer,
) -> None:
    message = (
        "messages.1.content.0: `thinking` blocks in the latest assistant message cannot be modified"
    )
    steps = [
        [{"thinking": "Hm."}, call("W", "w1")],
        {"fault": {"status": 400, "message": message}, "blocks": [{"text": "Done."}]},
    ]
    model_server.script([{"contains": "go", "steps": steps}])
    loop = Loop(model_server, [FakeTool("W")])
    await loop.run("go")
    assert loop.end.end is RunEnd.COMPLETED
    kinds = [b["type"] for b in model_server.requests[-1]["messages"][1]["content"]]
    assert kinds == ["tool_use"]


def test_the_delay_doubles_up_to_a_bound_and_then_gives_up() -> None:
    policy = RetryPolicy(attempts=7, base=1.0, longest=30.0)
    failure = ReplyFailed(kind=ModelErrorKind.OVERLOADED, message="")
    assert [policy.delay(n, failure) for n in range(1, 9)] == [1, 2, 4, 8, 16, 30, 30, None]


def test_a_pause_beyond_patience_is_reported_instead_of_waited_for() -> None:
    failure = ReplyFailed(kind=ModelErrorKind.RATE_LIMIT, message="", retry_after=3_600)
    assert Recovery().after(failure).action == "give_up"


@pytest.mark.parametrize("kind", [ModelErrorKind.BAD_THINKING, ModelErrorKind.BAD_IMAGE])
def test_a_repair_is_not_tried_for_ever(kind: ModelErrorKind) -> None:
    recovery = Recovery()
    failure = ReplyFailed(kind=kind, message="")
    tried = 0
    while recovery.after(failure).action != "give_up":
        tried += 1
    assert tried == (1 if kind is ModelErrorKind.BAD_THINKING else 5)


async def test_the_image_an_endpoint_names_is_left_out_and_the_others_stay(
    model_server: ScriptedServer,
) -> None:
    images = tuple(
        ImageBlock(media_type="image/png", data=base64.b64encode(_png(shade)).decode())
        for shade in (1, 2)
    )

    async def plot(input: FakeInput, context: ToolContext) -> ToolResult:
        return ToolResult(images)

    message = "messages.2.content.0.tool_result.content.1.image.source.base64: image is too large"
    steps = [
        [call("Plot", "p1")],
        {"fault": {"status": 400, "message": message}, "blocks": [{"text": "Done."}]},
    ]
    model_server.script([{"contains": "go", "steps": steps}])
    loop = Loop(model_server, [FakeTool("Plot", plot)])
    await loop.run("go")
    assert loop.end.end is RunEnd.COMPLETED
    (result,) = model_server.requests[-1]["messages"][-1]["content"]
    assert [block["type"] for block in result["content"]] == ["image", "text"]


def _png(shade: int) -> bytes:
    out = io.BytesIO()
    Image.new("L", (2, 2), shade).save(out, "PNG")
    return out.getvalue()
