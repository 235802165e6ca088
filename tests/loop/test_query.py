"""Runs over real HTTP and SSE: the order of events, the requests, the ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_kernel.events import (
    Event,
    Notice,
    PermissionRequested,
    RunFinished,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from agent_kernel.messages import AssistantMessage, ToolResultBlock, UserMessage
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.protocols import ApprovalAnswer
from agent_kernel.testing.approver import ScriptedApprover
from agent_kernel.testing.tools import FakeGate, FakeInput, FakeTool
from agent_kernel.tool_types import GateDecision, ToolContext, ToolResult
from agent_kernel.vocabulary import RuleSuggestion, RunEnd
from tests.support.loop import Loop, result_texts, told


def call(tool: str, id: str, **input: Any) -> dict[str, Any]:
    return {"tool": tool, "id": id, "input": input}


async def test_a_plain_answer_is_streamed_and_completes(model_server: ScriptedServer) -> None:
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    loop = Loop(model_server)
    await loop.run("hi")
    assert told(loop.events) == [
        "message_started",
        "text_delta",
        "usage",
        "run_finished completed",
    ]
    assert loop.end.text == "Hello."
    assert loop.end.turns == 1


async def test_tools_run_between_two_model_calls_and_results_keep_the_order(
    model_server: ScriptedServer,
) -> None:
    steps = [[{"text": "I look."}, call("A", "a1", x=1), call("B", "b1", y=2)], "Done."]
    model_server.script([{"contains": "go", "steps": steps}])
    a, b = FakeTool("A"), FakeTool("B")
    loop = Loop(model_server, [a, b])
    await loop.run("go")
    assert told(loop.events) == [
        "message_started",
        "text_delta",
        "tool_use_started a1",
        "tool_input_delta a1",
        "tool_use_started b1",
        "tool_input_delta b1",
        "usage",
        "tool_started a1",
        "tool_finished a1 ok",
        "tool_started b1",
        "tool_finished b1 ok",
        "message_started",
        "text_delta",
        "usage",
        "run_finished completed",
    ]
    assert result_texts(model_server.requests[1]) == [
        ("a1", 'A {"x":1}', False),
        ("b1", 'B {"y":2}', False),
    ]
    assert loop.end.turns == 2


async def test_only_a_tool_that_reads_starts_before_the_reply_has_ended(
    model_server: ScriptedServer,
) -> None:
    steps = [
        [call("Look", "r1"), call("Change", "w1"), call("Look", "r2"), {"wait_for": "end"}],
        "Done.",
    ]
    model_server.script([{"contains": "go", "steps": steps}])
    look = FakeTool("Look", read_only=True, concurrent=True)
    change = FakeTool("Change")
    loop = Loop(model_server, [look, change])
    seen: list[str] = []

    async def release() -> None:
        await loop.reached("end")
        while not any(isinstance(e, ToolFinished) for e in loop.events):
            await asyncio.sleep(0.005)
        # r2 also only reads, but it stands behind a change that it might depend on.
        seen.extend(e.tool_use_id for e in loop.events if isinstance(e, ToolStarted))
        model_server.release("end")

    helper = asyncio.create_task(release())
    await loop.run("go")
    await helper
    assert seen == ["r1"]
    assert [e.tool_use_id for e in loop.events if isinstance(e, ToolFinished)] == ["r1", "w1", "r2"]


async def test_at_most_ten_concurrent_calls_run_at_once(model_server: ScriptedServer) -> None:
    now = 0
    most = 0

    async def work(input: FakeInput, context: ToolContext) -> str:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return "ok"

    calls = [call("P", f"p{n}", n=n) for n in range(14)]
    model_server.script([{"contains": "go", "steps": [calls, "Done."]}])
    loop = Loop(model_server, [FakeTool("P", work, concurrent=True)])
    await loop.run("go")
    assert most == 10
    assert [id for id, _, _ in result_texts(model_server.requests[1])] == [
        f"p{n}" for n in range(14)
    ]


async def test_a_call_that_is_not_concurrency_safe_runs_alone(model_server: ScriptedServer) -> None:
    running: list[str] = []
    together: list[list[str]] = []

    async def work(input: FakeInput, context: ToolContext) -> str:
        running.append(context.tool_use_id)
        together.append(list(running))
        await asyncio.sleep(0.005)
        running.remove(context.tool_use_id)
        return "ok"

    safe, alone = FakeTool("Safe", work, concurrent=True), FakeTool("Alone", work)
    calls = [call("Safe", "s1"), call("Safe", "s2"), call("Alone", "x"), call("Safe", "s3")]
    model_server.script([{"contains": "go", "steps": [calls, "Done."]}])
    await Loop(model_server, [safe, alone]).run("go")
    assert together == [["s1"], ["s1", "s2"], ["x"], ["s3"]]


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


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ({"tool": "Nope", "id": "t1", "input": {}}, "There is no tool named 'Nope'"),
        ({"tool": "W", "id": "t1", "input": {"refuse": 1}}, "no field named refuse"),
        ({"tool": "W", "id": "t1", "raw_input": '{"path": "a'}, "not a JSON object"),
        ({"tool": "W", "id": "t1", "raw_input": "[1]"}, "not a JSON object"),
    ],
)
async def test_a_call_that_cannot_run_gets_an_error_that_teaches(
    model_server: ScriptedServer, part: dict[str, Any], says: str
) -> None:
    model_server.script([{"contains": "go", "steps": [[part], "I see."]}])
    tool = FakeTool("W")
    loop = Loop(model_server, [tool])
    await loop.run("go")
    ((id, text, is_error),) = result_texts(model_server.requests[1])
    assert (id, is_error) == ("t1", True)
    assert says in text
    assert tool.calls == []
    assert loop.end.end is RunEnd.COMPLETED


async def test_a_tool_that_raises_is_an_error_result(model_server: ScriptedServer) -> None:
    async def broken(input: FakeInput, context: ToolContext) -> str:
        raise KeyError("x")

    model_server.script([{"contains": "go", "steps": [[call("W", "w1")], "I see."]}])
    loop = Loop(model_server, [FakeTool("W", broken)])
    await loop.run("go")
    assert result_texts(model_server.requests[1]) == [("w1", "W failed: KeyError: 'x'", True)]


async def test_max_turns_ends_the_run_after_the_results_and_the_conversation_goes_on(
    model_server: ScriptedServer,
) -> None:
    model_server.script(
        [
            {"contains": "go", "repeat": True, "steps": [[{"tool": "W", "input": {}}]]},
            {"contains": "next", "reply": "Yes."},
        ]
    )
    loop = Loop(model_server, [FakeTool("W")])
    await loop.run("go", max_turns=2)
    assert loop.end.end is RunEnd.MAX_TURNS
    assert loop.end.turns == 2
    notice = next(e for e in loop.events if isinstance(e, Notice))
    assert notice.text == "Stopped after 2 of at most 2 turns."
    assert len(model_server.requests) == 2
    await loop.run("next")
    assert loop.end.end is RunEnd.COMPLETED


async def test_a_reply_cut_by_the_output_limit_runs_none_of_its_tools(
    model_server: ScriptedServer,
) -> None:
    cut = {
        "blocks": [call("Look", "r1"), call("W", "w1"), {"tool": "W", "id": "w2",
                   "raw_input": '{"path":"a.py","content":"print('}],
        "stop_reason": "max_tokens",
    }  # fmt: skip
    model_server.script([{"contains": "go", "steps": [cut, "Smaller then."]}])
    write = FakeTool("W")
    loop = Loop(model_server, [FakeTool("Look", read_only=True, concurrent=True), write])
    await loop.run("go")
    assert write.calls == []
    results = result_texts(model_server.requests[1])
    assert [id for id, _, _ in results] == ["r1", "w1", "w2"]
    assert all(error and "smaller parts" in text for _, text, error in results)
    assert loop.end.text == "Smaller then."


async def test_a_text_cut_by_the_output_limit_is_continued_at_most_three_times(
    model_server: ScriptedServer,
) -> None:
    cut = {"blocks": [{"text": "and then"}], "stop_reason": "max_tokens"}
    model_server.script([{"contains": "go", "repeat": True, "steps": [cut]}])
    loop = Loop(model_server)
    await loop.run("go")
    assert len(model_server.requests) == 4
    assert loop.end.end is RunEnd.MODEL_ERROR
    assert "output limit" in loop.end.detail


async def test_steering_is_taken_with_the_next_results(model_server: ScriptedServer) -> None:
    async def work(input: FakeInput, context: ToolContext) -> str:
        loop.control.steer("make it blue")
        return "ok"

    model_server.script(
        [
            {"contains": "blue", "reply": "Blue it is."},
            {"contains": "go", "steps": [[call("W", "w1")], "Red."]},
        ]
    )
    gate = FakeGate()
    loop = Loop(model_server, [FakeTool("W", work)], gate=gate)
    await loop.run("go")
    assert "prompt_taken" in told(loop.events)
    assert [b["type"] for b in model_server.requests[1]["messages"][-1]["content"]] == [
        "tool_result",
        "text",
    ]
    assert loop.end.text == "Blue it is."
    assert gate.applied == [None]


async def test_text_queued_while_the_last_reply_streams_is_a_follow_up(
    model_server: ScriptedServer,
) -> None:
    first = [{"text": "First."}, {"wait_for": "steered"}]
    model_server.script(
        [{"contains": "more", "reply": "More."}, {"contains": "go", "steps": [first]}]
    )
    loop = Loop(model_server)

    def once(event: Event) -> None:
        if isinstance(event, TextDelta) and event.text == "First.":
            loop.control.steer("more")
            model_server.release("steered")

    await loop.run("go", on=once)
    assert loop.end.text == "More."
    assert loop.control.steer("late") is False


async def test_a_refusal_withdraws_the_turn(model_server: ScriptedServer) -> None:
    refusal = {"blocks": [{"text": "Well,"}], "stop_reason": "refusal"}
    model_server.script([{"contains": "go", "steps": [refusal]}, {"contains": "hi", "reply": "Hi."}])
    loop = Loop(model_server)
    await loop.run("go")
    assert told(loop.events)[-2:] == ["tombstone", "run_finished refused"]
    assert not any(isinstance(m, AssistantMessage) for m in loop.messages)
    await loop.run("hi")
    assert loop.end.end is RunEnd.COMPLETED


async def test_extra_messages_of_a_result_follow_the_results(model_server: ScriptedServer) -> None:
    from agent_kernel.messages import TextBlock

    async def skill(input: FakeInput, context: ToolContext) -> ToolResult:
        text = TextBlock(text="<command-name>/x</command-name>\nDo it.")
        extra = UserMessage(uuid="", content=(text,), is_meta=True)
        return ToolResult((TextBlock(text="ok"),), extra_messages=(extra,))

    model_server.script([{"contains": "go", "steps": [[call("Skill", "k1")], "Did it."]},
                         {"contains": "command-name", "reply": "Did it."}])  # fmt: skip
    loop = Loop(model_server, [FakeTool("Skill", skill)])
    await loop.run("go")
    content = model_server.requests[1]["messages"][-1]["content"]
    assert content[0]["type"] == "tool_result"
    assert content[1]["text"].startswith("<command-name>/x")


async def test_a_big_result_goes_to_a_file_and_its_head_stays(
    model_server: ScriptedServer,
) -> None:
    async def big(input: FakeInput, context: ToolContext) -> str:
        return "x" * 5_000

    model_server.script([{"contains": "go", "steps": [[call("W", "w1")], "I see."]}])
    loop = Loop(model_server, [FakeTool("W", big, max_result_chars=3_000)])
    await loop.run("go")
    ((_, text, _),) = result_texts(model_server.requests[1])
    assert text.startswith("x" * 2_000 + "\n")
    assert "/blobs/w1.txt" in text
    assert loop.blobs.kept["w1.txt"] == b"x" * 5_000


async def test_secrets_and_broken_characters_never_leave_a_result(
    model_server: ScriptedServer,
) -> None:
    async def leak(input: FakeInput, context: ToolContext) -> str:
        return "key hunter2 and \ud83c."

    model_server.script([{"contains": "go", "steps": [[call("W", "w1")], "I see."]}])
    loop = Loop(
        model_server, [FakeTool("W", leak)], scrub=lambda text: text.replace("hunter2", "[gone]")
    )
    await loop.run("go")
    assert result_texts(model_server.requests[1]) == [("w1", "key [gone] and \ufffd.", False)]
    assert "hunter2" not in "".join(e.model_dump_json() for e in loop.events)


@pytest.mark.parametrize("output", ["", "\n", "   "])
async def test_an_empty_result_becomes_a_placeholder(
    model_server: ScriptedServer, output: str
) -> None:
    async def nothing(input: FakeInput, context: ToolContext) -> str:
        return output

    model_server.script([{"contains": "go", "steps": [[call("W", "w1")], "I see."]}])
    loop = Loop(model_server, [FakeTool("W", nothing)])
    await loop.run("go")
    assert result_texts(model_server.requests[1]) == [("w1", "(no output)", False)]


async def test_the_head_of_the_request_does_not_change_from_turn_to_turn(
    model_server: ScriptedServer,
) -> None:
    steps = [[call("W", "w1")], [call("W", "w2")], "Done."]
    model_server.script([{"contains": "go", "steps": steps}, {"contains": "then", "reply": "Ok."}])
    loop = Loop(model_server, [FakeTool("W")])
    await loop.run("go")
    await loop.run("then")
    bodies = [_without_marks(body) for body in model_server.requests]
    for before, after in zip(bodies, bodies[1:], strict=False):
        assert after["system"] == before["system"]
        assert after["tools"] == before["tools"]
        assert after["messages"][: len(before["messages"])] == before["messages"]


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_marks(v) for k, v in value.items() if k != "cache_control"}
    return [_without_marks(v) for v in value] if isinstance(value, list) else value


async def test_a_result_may_not_start_a_second_time_when_the_same_id_comes_again(
    model_server: ScriptedServer,
) -> None:
    steps = [[call("W", "same")], [call("W", "same")], "Done."]
    model_server.script([{"contains": "go", "steps": steps}])
    loop = Loop(model_server, [FakeTool("W")])
    await loop.run("go")
    assert loop.end.end is RunEnd.COMPLETED
    ids = [
        block.tool_use_id
        for message in loop.messages
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]
    assert ids == ["same", "same_2"]


async def test_leaving_the_stream_early_ends_the_run_in_order(
    model_server: ScriptedServer,
) -> None:
    model_server.script(
        [{"contains": "go", "steps": [[{"text": "One "}, {"wait_for": "never"}, {"text": "two"}]]},
         {"contains": "hi", "reply": "Hi."}]
    )  # fmt: skip
    loop = Loop(model_server)

    def leave(event: Event) -> None:
        if isinstance(event, TextDelta):
            raise LookupError("the reader goes away")

    with pytest.raises(LookupError):
        await loop.run("go", on=leave)
    assert [m.complete for m in loop.messages if isinstance(m, AssistantMessage)] == [False]
    await loop.run("hi")
    assert isinstance(loop.end, RunFinished)
    assert loop.end.text == "Hi."
