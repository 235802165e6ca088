"""Sub-agents in this process: told in the parent's run, never looser, gone with their parent."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

from agent_kernel.agent_types import SpawnSpec
from agent_kernel.events import (
    AgentFinished,
    AgentProgress,
    AgentStarted,
    Event,
    PermissionRequested,
    UsageReported,
)
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.protocols import HookOutcome
from agent_kernel.testing.approver import ScriptedApprover
from agent_kernel.testing.tools import Behaviour, FakeGate, FakeInput, FakeTool
from agent_kernel.tool_types import ToolContext, ToolResult
from agent_kernel.vocabulary import RunEnd
from tests.support.loop import Loop, told


def spawning(spec: SpawnSpec, seen: list[Event] | None = None) -> Behaviour:
    """A tool that runs a sub-agent and gives back what it said."""

    async def behaviour(input: FakeInput, context: ToolContext) -> ToolResult:
        assert context.spawner is not None
        text = ""
        async with aclosing(context.spawner.run(spec)) as events:
            async for event in events:
                context.emit(event)
                if seen is not None:
                    seen.append(event)
                if isinstance(event, AgentFinished):
                    text = f"{event.end}: {event.text}"
        return ToolResult.text(text)

    return behaviour


def call(tool: str, id: str, **input: Any) -> dict[str, Any]:
    return {"tool": tool, "id": id, "input": input}


PARENT = {"contains": "parent", "steps": [[call("Spawn", "s1")], [{"text": "Told."}]]}
CHILD = {"contains": "child", "steps": [[call("Look", "c1")], [{"text": "Found it."}]]}


async def test_a_sub_agent_is_told_in_the_run_of_its_parent(model_server: ScriptedServer) -> None:
    model_server.script([PARENT, CHILD])
    seen: list[Event] = []
    spec = SpawnSpec(prompt="child, look", description="look around", tool_use_id="s1")
    spawn = FakeTool("Spawn", spawning(spec, seen))
    look = FakeTool("Look", read_only=True)
    loop = Loop(model_server, [spawn, look])
    await loop.run("parent, go")
    started, *between, finished = seen
    assert isinstance(started, AgentStarted)
    assert (started.agent_id, started.child_id) == ("main", "agent_1")
    assert (started.description, started.tool_use_id) == ("look around", "s1")
    assert [type(e) for e in between] == [UsageReported, AgentProgress, UsageReported]
    assert {e.agent_id for e in between if isinstance(e, UsageReported)} == {"agent_1"}
    assert isinstance(finished, AgentFinished)
    assert (finished.end, finished.text) == (RunEnd.COMPLETED, "Found it.")
    assert len(look.calls) == 1
    # Nothing of its conversation is in the parent's, and the other way round.
    first_of_child = model_server.requests[1]["messages"]
    assert [b["text"] for m in first_of_child for b in m["content"]] == ["child, look"]
    assert "child, look" not in str(model_server.requests[-1])
    assert loop.end.usage.total_input == sum(
        e.usage.total_input for e in loop.events if isinstance(e, UsageReported)
    )


async def test_it_has_only_the_tools_it_is_given(model_server: ScriptedServer) -> None:
    child = {"contains": "child", "steps": [[call("Write", "w1")], [{"text": "No."}]]}
    model_server.script([PARENT, child])
    write = FakeTool("Write")
    spawn = FakeTool("Spawn", spawning(SpawnSpec(prompt="child", tools=("Look",))))
    loop = Loop(model_server, [spawn, write, FakeTool("Look")])
    await loop.run("parent, go")
    assert write.calls == []
    assert [tool["name"] for tool in model_server.requests[1]["tools"]] == ["Look"]


async def test_with_the_parents_context_the_request_begins_with_the_same_bytes(
    model_server: ScriptedServer,
) -> None:
    model_server.script([PARENT, {"contains": "child", "reply": "Yes."}])
    spec = SpawnSpec(prompt="child", inherit_context=True, tools=("Look",))
    write = FakeTool("Write")
    loop = Loop(model_server, [FakeTool("Spawn", spawning(spec)), write])
    await loop.run("parent, go")
    parent, child = (_unmarked(body) for body in model_server.requests[:2])
    assert child["system"] == parent["system"]
    assert child["tools"] == parent["tools"]
    assert child["messages"][0] == parent["messages"][0]


async def test_its_questions_come_to_the_person_and_an_answer_counts(
    model_server: ScriptedServer,
) -> None:
    child = {"contains": "child", "steps": [[call("Write", "w1")], [{"text": "Written."}]]}
    model_server.script([PARENT, child])
    write = FakeTool("Write")
    gate = FakeGate({"Write": "ask"})
    loop = Loop(
        model_server,
        [FakeTool("Spawn", spawning(SpawnSpec(prompt="child"))), write],
        gate=gate,
        approver=ScriptedApprover(["allow_once"]),
    )
    await loop.run("parent, go")
    asked = [e for e in loop.events if isinstance(e, PermissionRequested)]
    assert [e.agent_id for e in asked] == ["agent_1"]
    assert len(write.calls) == 1


async def test_it_is_never_looser_than_its_parent_is_now(model_server: ScriptedServer) -> None:
    modes: list[str] = []

    async def note(input: FakeInput, context: ToolContext) -> ToolResult:
        modes.append(context.mode)
        loop.control.mode = "plan"
        return ToolResult.text("noted")

    child = {
        "contains": "child",
        "steps": [[call("Note", "n1")], [call("Note", "n2")], [{"text": "Done."}]],
    }
    model_server.script([PARENT, child])
    loop = Loop(
        model_server,
        [FakeTool("Spawn", spawning(SpawnSpec(prompt="child"))), FakeTool("Note", note)],
    )
    await loop.run("parent, go")
    assert modes == ["default", "plan"]


async def test_stopping_the_parent_stops_it(model_server: ScriptedServer) -> None:
    step = {"wait_for": "held", "blocks": [{"text": "Late."}]}
    model_server.script([PARENT, {"contains": "child", "steps": [step]}])
    loop = Loop(model_server, [FakeTool("Spawn", spawning(SpawnSpec(prompt="child")))])
    task = asyncio.ensure_future(loop.run("parent, go"))
    await loop.reached("held")
    loop.control.stop()
    await task
    model_server.release("held")
    assert loop.end.end is RunEnd.ABORTED_TOOLS
    assert "tool_finished s1 cancelled" in told(loop.events)


async def test_sub_agents_of_sub_agents_end_somewhere(model_server: ScriptedServer) -> None:
    depths: list[bool] = []

    async def deeper(input: FakeInput, context: ToolContext) -> ToolResult:
        depths.append(context.spawner is not None)
        if context.spawner is None:
            return ToolResult.error("No deeper.")
        return await spawning(SpawnSpec(prompt="parent, deeper"))(input, context)  # type: ignore[return-value]

    model_server.script([PARENT])
    loop = Loop(model_server, [FakeTool("Spawn", deeper)])
    await loop.run("parent, go")
    assert depths == [True, True, True, False]
    assert loop.end.end is RunEnd.COMPLETED


async def test_what_it_has_read_is_not_read_by_its_parent(model_server: ScriptedServer) -> None:
    async def read(input: FakeInput, context: ToolContext) -> ToolResult:
        context.read_state.remember("file:/a", "1")
        return ToolResult.text("read")

    model_server.script([PARENT, CHILD])
    loop = Loop(
        model_server,
        [FakeTool("Spawn", spawning(SpawnSpec(prompt="child"))), FakeTool("Look", read)],
    )
    await loop.run("parent, go")
    assert loop.reads.digest("file:/a") is None


async def test_hooks_are_told_that_it_is_a_sub_agent(model_server: ScriptedServer) -> None:
    class Noting:
        def __init__(self) -> None:
            self.seen: list[tuple[str, object]] = []

        async def run(self, event: str, payload: dict[str, Any]) -> HookOutcome:
            self.seen.append((event, payload.get("agent_type")))
            return HookOutcome()

    hooks = Noting()
    model_server.script([PARENT, CHILD])
    spec = SpawnSpec(prompt="child", agent_type="explore")
    loop = Loop(model_server, [FakeTool("Spawn", spawning(spec)), FakeTool("Look")], hooks=hooks)
    await loop.run("parent, go")
    stops = [seen for seen in hooks.seen if "top" in seen[0]]
    assert stops == [("SubagentStop", "explore"), ("Stop", None)]
    assert ("PreToolUse", "explore") in hooks.seen


def _unmarked(body: dict[str, Any]) -> dict[str, Any]:
    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k != "cache_control"}
        return [strip(v) for v in value] if isinstance(value, list) else value

    result: dict[str, Any] = strip(body)
    return result
