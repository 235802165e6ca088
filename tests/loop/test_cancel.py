"""Stops at every state: what is told, what is stored, and that the next request is valid."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_kernel.events import (
    Notice,
    PermissionRequested,
    PermissionResolved,
    TextDelta,
    ToolFinished,
    ToolUseStarted,
)
from agent_kernel.messages import AssistantMessage, ToolResultBlock, UserMessage
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.testing.approver import ScriptedApprover
from agent_kernel.testing.tools import FakeGate, FakeInput, FakeTool
from agent_kernel.tool_types import ToolContext
from agent_kernel.vocabulary import RunEnd
from tests.support.loop import Loop, told

AGAIN = {"contains": "again", "reply": "Here I am."}


def call(tool: str, id: str, **input: Any) -> dict[str, Any]:
    return {"tool": tool, "id": id, "input": input}


async def stop_at(loop: Loop, prompt: str, ready: Any) -> None:
    """Run, stop as soon as ``ready`` (a coroutine) has ended, and wait for the end."""
    run = asyncio.create_task(loop.run(prompt))
    await ready
    assert loop.control.stop() is True
    assert loop.control.stop() is False
    await run


async def goes_on(loop: Loop) -> None:
    """The server answers 400 to a conversation that is not valid."""
    await loop.run("again")
    assert (loop.end.end, loop.end.text) == (RunEnd.COMPLETED, "Here I am.")


def results(loop: Loop) -> dict[str, tuple[str, bool]]:
    return {
        block.tool_use_id: (getattr(block.content[0], "text", ""), block.is_error)
        for message in loop.messages
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResultBlock)
    }


async def test_stop_before_the_first_token(model_server: ScriptedServer) -> None:
    model_server.script([AGAIN, {"contains": "go", "steps": [{"blocks": [{"text": "x"}],
                                                              "wait_for": "start"}]}])  # fmt: skip
    loop = Loop(model_server)
    await stop_at(loop, "go", loop.reached("start"))
    assert told(loop.events) == ["run_finished aborted_streaming"]
    await goes_on(loop)


async def test_stop_in_mid_text_keeps_what_was_said(model_server: ScriptedServer) -> None:
    parts = [{"text": "Half a "}, {"text": "sentence  ", "upto": 9}, {"wait_for": "mid"}]
    model_server.script([AGAIN, {"contains": "go", "steps": [parts]}])
    loop = Loop(model_server)

    async def shown() -> None:
        await loop.reached("mid")
        await loop.told(TextDelta, 2)

    await stop_at(loop, "go", shown())
    assert loop.end.end is RunEnd.ABORTED_STREAMING
    (reply,) = [m for m in loop.messages if isinstance(m, AssistantMessage)]
    assert reply.complete is False
    assert loop.end.text == "Half a \n\nsentence"
    await goes_on(loop)


async def test_stop_in_mid_stream_after_calls_gives_each_a_result(
    model_server: ScriptedServer,
) -> None:
    thinking = {"thinking": "Two looks and a change."}
    parts = [
        thinking, call("Look", "r1"), call("Slow", "r2"), call("Change", "w1"),
        {"tool": "Change", "id": "w2", "raw_input": '{"a": 1}', "upto": 3}, {"wait_for": "mid"},
    ]  # fmt: skip
    model_server.script([AGAIN, {"contains": "go", "steps": [parts]}])
    started = asyncio.Event()

    async def slow(input: FakeInput, context: ToolContext) -> str:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    change = FakeTool("Change")
    look = FakeTool("Look", read_only=True, concurrent=True)
    loop = Loop(
        model_server, [look, FakeTool("Slow", slow, read_only=True, concurrent=True), change]
    )

    async def ready() -> None:
        await loop.reached("mid")
        await started.wait()
        await loop.told(ToolFinished)
        await loop.told(ToolUseStarted, 4)

    await stop_at(loop, "go", ready())
    assert change.calls == []
    assert loop.end.end is RunEnd.ABORTED_STREAMING
    assert results(loop) == {
        "r1": ("Look {}", False),
        "r2": ("This call was interrupted by the user.", True),
        "w1": ("This call was interrupted by the user.", True),
    }
    await goes_on(loop)


async def test_stop_while_tools_run_keeps_results_that_were_there(
    model_server: ScriptedServer,
) -> None:
    calls = [call("Quick", "q"), call("Sleep", "s"), call("Quick", "never")]
    model_server.script([AGAIN, {"contains": "go", "steps": [calls]}])
    sleeping = asyncio.Event()
    cancelled = asyncio.Event()

    async def sleep(input: FakeInput, context: ToolContext) -> str:
        sleeping.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    loop = Loop(model_server, [FakeTool("Quick"), FakeTool("Sleep", sleep)])
    await stop_at(loop, "go", sleeping.wait())
    assert cancelled.is_set()
    assert told(loop.events)[-6:] == [
        "tool_finished q ok",
        "tool_started s",
        "tool_finished s cancelled",
        "tool_started never",
        "tool_finished never cancelled",
        "run_finished aborted_tools",
    ]
    assert results(loop)["q"] == ("Quick {}", False)
    assert results(loop)["s"] == ("This call was interrupted by the user.", True)
    await goes_on(loop)


async def test_stop_at_an_approval_withdraws_the_question(model_server: ScriptedServer) -> None:
    model_server.script([AGAIN, {"contains": "go", "steps": [[call("W", "w1")]]}])
    approver = ScriptedApprover()
    loop = Loop(model_server, [FakeTool("W")], gate=FakeGate(default="ask"), approver=approver)

    async def asked() -> None:
        await loop.told(PermissionRequested)

    await stop_at(loop, "go", asked())
    assert approver.withdrawn == 1
    resolved = next(e for e in loop.events if isinstance(e, PermissionResolved))
    assert (resolved.decision, resolved.by) == ("deny", "stop")
    assert told(loop.events)[-4:] == [
        "permission_requested w1",
        "permission_resolved w1 deny",
        "tool_finished w1 cancelled",
        "run_finished aborted_tools",
    ]
    await goes_on(loop)


async def test_a_tool_that_must_end_is_waited_for(model_server: ScriptedServer) -> None:
    model_server.script([AGAIN, {"contains": "go", "steps": [[call("Save", "s")]]}])
    begun = asyncio.Event()

    async def save(input: FakeInput, context: ToolContext) -> str:
        begun.set()
        await asyncio.sleep(0.05)
        return "saved"

    loop = Loop(model_server, [FakeTool("Save", save, interrupt="wait")])
    await stop_at(loop, "go", begun.wait())
    assert results(loop) == {"s": ("saved", False)}
    assert loop.end.end is RunEnd.ABORTED_TOOLS
    await goes_on(loop)


async def test_a_tool_that_ignores_the_stop_does_not_hold_the_run(
    model_server: ScriptedServer,
) -> None:
    model_server.script([AGAIN, {"contains": "go", "steps": [[call("Deaf", "d")]]}])
    begun, free = asyncio.Event(), asyncio.Event()

    async def deaf(input: FakeInput, context: ToolContext) -> str:
        begun.set()
        while not free.is_set():
            try:
                await free.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    loop = Loop(model_server, [FakeTool("Deaf", deaf)])
    await stop_at(loop, "go", begun.wait())
    assert results(loop) == {"d": ("This call was interrupted by the user.", True)}
    await goes_on(loop)
    free.set()
    await asyncio.sleep(0)


async def test_stop_while_it_waits_to_try_again(model_server: ScriptedServer) -> None:
    from agent_kernel.testing.clock import FakeClock

    model_server.script(
        [AGAIN, {"contains": "go", "steps": [{"fault": {"status": 529}, "blocks": []}]}]
    )
    loop = Loop(model_server, clock=FakeClock(jump=False))

    async def waiting() -> None:
        await loop.told(Notice)

    await stop_at(loop, "go", waiting())
    assert told(loop.events) == ["notice retry", "run_finished aborted_streaming"]
    await goes_on(loop)


async def test_stop_before_the_run_took_its_first_step(model_server: ScriptedServer) -> None:
    model_server.script([AGAIN])
    loop = Loop(model_server)
    run = asyncio.create_task(loop.run("go"))
    await asyncio.sleep(0)
    loop.control.stop()
    await run
    assert loop.end.end is RunEnd.ABORTED_STREAMING
    assert model_server.requests == []
    await goes_on(loop)


async def test_cancelling_the_reader_ends_the_run_in_order(model_server: ScriptedServer) -> None:
    model_server.script([AGAIN, {"contains": "go", "steps": [[call("Sleep", "s")]]}])
    sleeping = asyncio.Event()

    async def sleep(input: FakeInput, context: ToolContext) -> str:
        sleeping.set()
        await asyncio.Event().wait()
        raise AssertionError

    loop = Loop(model_server, [FakeTool("Sleep", sleep)])
    run = asyncio.create_task(loop.run("go"))
    await sleeping.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert results(loop)["s"] == ("This call was interrupted by the user.", True)
    await goes_on(loop)


async def test_deny_and_stop_of_an_early_call_ends_the_stream_too(
    model_server: ScriptedServer,
) -> None:
    parts = [call("Look", "r1"), {"text": "and "}, {"wait_for": "never"}]
    model_server.script([AGAIN, {"contains": "go", "steps": [parts]}])
    loop = Loop(
        model_server,
        [FakeTool("Look", read_only=True, concurrent=True)],
        gate=FakeGate(default="ask"),
        approver=ScriptedApprover(["deny_stop"]),
    )
    await loop.run("go")
    assert loop.end.end is RunEnd.ABORTED_STREAMING
    assert "tool_finished r1 denied" in told(loop.events)
    await goes_on(loop)
