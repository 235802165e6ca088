"""Denied, allowed, changed: what a person's answer does to a call and to the run."""

from __future__ import annotations

from typing import Any

from agent_kernel.events import (
    Notice,
    PermissionRequested,
)
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.protocols import ApprovalAnswer
from agent_kernel.testing.approver import ScriptedApprover
from agent_kernel.testing.tools import FakeGate, FakeTool
from agent_kernel.tool_types import GateDecision
from agent_kernel.vocabulary import RuleSuggestion, RunEnd
from tests.support.loop import Loop, result_texts, told


def call(tool: str, name: str, **input: Any) -> dict[str, Any]:
    return {"tool": tool, "id": name, "input": input}


async def test_a_denied_call_gives_the_model_a_refusal_and_the_turn_goes_on(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "steps": [[call("W", "w1", path="x")], "I see."]}])
    tool = FakeTool("W")
    answer = ApprovalAnswer(decision="deny", reason="not that file")
    loop = Loop(
        model_server, [tool], gate=FakeGate(default="ask"), approver=ScriptedApprover([answer])
    )
    await loop.run("go")
    assert told(loop.events)[4:9] == [
        "tool_started w1",
        "permission_requested w1",
        "permission_resolved w1 deny",
        "tool_finished w1 denied",
        "message_started",
    ]
    ((_, text, is_error),) = result_texts(model_server.requests[1])
    assert is_error
    assert "not that file" in text
    assert tool.calls == []
    assert loop.end.end is RunEnd.COMPLETED


async def test_deny_and_stop_ends_the_run_and_the_next_prompt_is_accepted(
    model_server: ScriptedServer,
) -> None:
    calls = [call("W", "w1"), call("W", "w2")]
    rules = [{"contains": "go", "steps": [calls]}, {"contains": "again", "reply": "Here I am."}]
    model_server.script(rules)
    loop = Loop(
        model_server,
        [FakeTool("W")],
        gate=FakeGate(default="ask"),
        approver=ScriptedApprover(["deny_stop"]),
    )
    await loop.run("go")
    assert loop.end.end is RunEnd.ABORTED_TOOLS
    assert told(loop.events)[-3:] == [
        "tool_started w2",
        "tool_finished w2 cancelled",
        "run_finished aborted_tools",
    ]
    await loop.run("again")
    assert loop.end.text == "Here I am."


async def test_an_allowed_call_runs_and_the_rule_is_remembered(
    model_server: ScriptedServer,
) -> None:
    steps = [[call("W", "w1")], [call("W", "w2")], "Done."]
    model_server.script([{"contains": "go", "steps": steps}])
    decision = GateDecision(
        behavior="ask", reason="no rule", suggestions=(RuleSuggestion(rule="W(x)"),)
    )
    gate, tool = FakeGate({"W": decision}), FakeTool("W")
    approver = ScriptedApprover(["allow_session"])
    loop = Loop(model_server, [tool], gate=gate, approver=approver)
    await loop.run("go")
    assert gate.remembered == [("W(x)", "session")]
    assert len(approver.asked) == 1
    assert len(tool.calls) == 2


async def test_a_rule_that_cannot_be_saved_allows_once_and_says_so(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "steps": [[call("W", "w1")], "Done."]}])
    answer = ApprovalAnswer(decision="allow_always", rule="W(!)", destination="user")
    tool = FakeTool("W")
    loop = Loop(
        model_server, [tool], gate=FakeGate(default="ask"), approver=ScriptedApprover([answer])
    )
    await loop.run("go")
    assert [e.code for e in loop.events if isinstance(e, Notice)] == ["rule_not_saved"]
    assert len(tool.calls) == 1


async def test_input_changed_by_the_person_is_validated_judged_again_and_used(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "steps": [[call("W", "w1", n=1)], "Done."]}])
    gate, tool = FakeGate(default="ask"), FakeTool("W")
    answer = ApprovalAnswer(decision="allow_once", updated_input={"n": 2})
    loop = Loop(model_server, [tool], gate=gate, approver=ScriptedApprover([answer]))
    await loop.run("go")
    assert gate.judged == [("W", {"n": 1}), ("W", {"n": 2})]
    assert tool.calls == [{"n": 2}]


async def test_changed_input_that_is_not_valid_does_not_run(model_server: ScriptedServer) -> None:
    model_server.script([{"contains": "go", "steps": [[call("W", "w1")], "Done."]}])
    tool = FakeTool("W")
    answer = ApprovalAnswer(decision="allow_once", updated_input={"refuse": 1})
    loop = Loop(
        model_server, [tool], gate=FakeGate(default="ask"), approver=ScriptedApprover([answer])
    )
    await loop.run("go")
    assert tool.calls == []
    ((_, text, is_error),) = result_texts(model_server.requests[1])
    assert is_error
    assert "no field named refuse" in text


async def test_with_nobody_to_ask_the_refusal_names_what_would_allow_it(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "steps": [[call("W", "w1")], "Done."]}])
    decision = GateDecision(behavior="ask", reason="No rule allows W.", hint="Allow `W`.")
    loop = Loop(
        model_server,
        [FakeTool("W")],
        gate=FakeGate({"W": decision}),
        approver=ScriptedApprover(reachable=False),
    )
    await loop.run("go")
    assert not any(isinstance(e, PermissionRequested) for e in loop.events)
    ((_, text, _),) = result_texts(model_server.requests[1])
    assert text == "No rule allows W. Nobody can be asked here. Allow `W`."
