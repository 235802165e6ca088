"""A stop between the steps and inside the seams: the run ends, nothing done is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent_kernel.context.plain import PlainKeeper
from agent_kernel.context_types import CompactTrigger
from agent_kernel.messages import (
    AssistantMessage,
    AttachmentMessage,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_kernel.model.offline import Fault
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.protocols import HookOutcome
from agent_kernel.testing.tools import FakeInput, FakeTool
from agent_kernel.tool_types import ToolContext
from agent_kernel.vocabulary import RunEnd
from tests.support.loop import Loop, sent, told


@dataclass
class Hold:
    """A place that is reached and, until it is opened, not left."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    open: asyncio.Event = field(default_factory=asyncio.Event)

    async def here(self) -> None:
        self.reached.set()
        await self.open.wait()


class HoldingKeeper(PlainKeeper):
    def __init__(self, log: Any, hold: Hold, where: str) -> None:
        super().__init__(log)
        self._hold, self._where = hold, where

    async def before_request(self) -> bool:
        if self._where == "making room":
            await self._hold.here()
        return True

    async def compact(self, trigger: CompactTrigger, focus: str = "") -> bool:
        await self._hold.here()
        return True


class HoldingHooks:
    def __init__(self, hold: Hold, event: str) -> None:
        self._hold, self._event = hold, event

    async def run(self, event: str, payload: Any) -> HookOutcome:
        if event == self._event:
            await self._hold.here()
        return HookOutcome()


class HoldingSource:
    def __init__(self, hold: Hold) -> None:
        self._hold = hold

    async def collect(self, context: ToolContext) -> Sequence[AttachmentMessage]:
        await self._hold.here()
        return ()

    def reset(self) -> None:
        return None


class HoldingBlobs:
    def __init__(self, hold: Hold) -> None:
        self._hold = hold

    async def put(self, name: str, data: bytes) -> Path:
        await self._hold.here()
        return Path("/state") / name


def keeps_the_rules(loop: Loop) -> None:
    """Each stored call has one stored result, in the message after it (SPEC L3)."""
    for number, message in enumerate(loop.messages):
        if isinstance(message, AssistantMessage):
            calls = [b.id for b in message.content if isinstance(b, ToolUseBlock)]
            after = loop.messages[number + 1] if calls else None
            blocks = after.content if isinstance(after, UserMessage) else ()
            assert [b.tool_use_id for b in blocks if isinstance(b, ToolResultBlock)] == calls


POINTS = {
    "attaching": RunEnd.ABORTED_STREAMING,
    "making room": RunEnd.ABORTED_STREAMING,
    "compacting": RunEnd.ABORTED_STREAMING,
    "PreToolUse": RunEnd.ABORTED_TOOLS,
    "PostToolUse": RunEnd.ABORTED_TOOLS,
    "keeping results": RunEnd.ABORTED_TOOLS,
    "Stop": RunEnd.ABORTED_STREAMING,
}


@pytest.mark.parametrize("where", POINTS)
async def test_a_stop_anywhere_ends_the_run_and_leaves_a_valid_conversation(
    model_server: ScriptedServer, where: str
) -> None:
    work = {"tool": "W", "id": "w1", "input": {}}
    model_server.script(
        [{"contains": "again", "reply": "Here I am."}, {"contains": "go", "steps": [[work], "Ok."]}]
    )
    hold = Hold()

    async def big(input: FakeInput, context: ToolContext) -> str:
        return "x" * 50_000 if where == "keeping results" else "done"

    tool = FakeTool("W", big, max_result_chars=40_000)
    loop = Loop(model_server, [tool])
    loop.keeper = HoldingKeeper(loop.conversation, hold, where)
    if where == "attaching":
        loop.attachments = (HoldingSource(hold),)
    if where == "compacting":
        model_server.fail_next(Fault(status=400, message="prompt is too long"))
    if where == "keeping results":
        loop.blobs = HoldingBlobs(hold)  # type: ignore[assignment]
    loop.hooks = HoldingHooks(hold, where)
    run = asyncio.create_task(loop.run("go"))
    await hold.reached.wait()
    assert loop.control.stop() is True
    await run
    assert loop.end.end is POINTS[where]
    assert loop.end.detail == "Interrupted by the user."
    keeps_the_rules(loop)
    hold.open.set()
    loop.attachments, loop.keeper = (), None
    await loop.run("again")
    assert (loop.end.end, loop.end.text) == (RunEnd.COMPLETED, "Here I am.")
    *_, last = model_server.requests[-1]["messages"]
    assert json.dumps(last).count("The user interrupted you here") == 1
    assert sent(model_server.requests[-1])[-1] == "user: again"


async def test_what_a_tool_did_before_a_stop_is_not_called_interrupted(
    model_server: ScriptedServer,
) -> None:
    work = {"tool": "W", "id": "w1", "input": {}}
    model_server.script([{"contains": "go", "steps": [[work], "Ok."]}])
    hold = Hold()
    loop = Loop(model_server, [FakeTool("W")], hooks=HoldingHooks(hold, "PostToolUse"))
    run = asyncio.create_task(loop.run("go"))
    await hold.reached.wait()
    loop.control.stop()
    await run
    assert told(loop.events)[-2:] == ["tool_finished w1 ok", "run_finished aborted_tools"]


async def test_hooks_that_break_after_a_call_leave_its_result_alone(
    model_server: ScriptedServer,
) -> None:
    class Broken:
        async def run(self, event: str, payload: Any) -> HookOutcome:
            if event == "PostToolUse":
                raise OSError("no such program")
            return HookOutcome()

    work = {"tool": "W", "id": "w1", "input": {}}
    model_server.script([{"contains": "go", "steps": [[work], "Ok."]}])
    loop = Loop(model_server, [FakeTool("W")], hooks=Broken())
    await loop.run("go")
    assert "tool_finished w1 ok" in told(loop.events)
    assert sent(model_server.requests[1])[-1] == "result w1: W {}"


async def test_two_stops_are_one(model_server: ScriptedServer) -> None:
    model_server.script([{"contains": "go", "steps": [[{"text": "a"}, {"wait_for": "never"}]]}])
    loop = Loop(model_server)
    run = asyncio.create_task(loop.run("go"))
    await loop.reached("never")
    assert [loop.control.stop(), loop.control.stop()] == [True, False]
    await run
    assert told(loop.events).count("run_finished aborted_streaming") == 1
