"""Runs over real HTTP and SSE: the order of events, the requests, the ends."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from agent_kernel.events import (
    Event,
    Notice,
    RunFinished,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from agent_kernel.messages import AssistantMessage, TextBlock, ToolResultBlock, UserMessage
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.testing.tools import FakeGate, FakeInput, FakeTool
from agent_kernel.tool_types import ContextModifier, ToolContext, ToolResult
from agent_kernel.vocabulary import RunEnd
from tests.support.loop import Loop, result_texts, told, without_marks


def call(tool: str, name: str, **input: Any) -> dict[str, Any]:
    return {"tool": tool, "id": name, "input": input}


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
        await loop.told(ToolFinished)
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
    assert [name for name, _, _ in result_texts(model_server.requests[1])] == [
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
    assert (loop.end.end, loop.end.turns) == (RunEnd.MAX_TURNS, 2)
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
    results = result_texts(model_server.requests[-1])
    # The first reply was withdrawn for one with a higher limit, so its ids are taken.
    assert [name for name, _, _ in results] == ["r1_2", "w1_2", "w2_2"]
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
    model_server.script(
        [{"contains": "go", "steps": [refusal]}, {"contains": "hi", "reply": "Hi."}]
    )
    loop = Loop(model_server)
    await loop.run("go")
    assert told(loop.events)[-2:] == ["tombstone", "run_finished refused"]
    assert not any(isinstance(m, AssistantMessage) for m in loop.messages)
    await loop.run("hi")
    assert loop.end.end is RunEnd.COMPLETED


async def test_the_head_of_the_request_does_not_change_from_turn_to_turn(
    model_server: ScriptedServer,
) -> None:
    steps = [[call("W", "w1")], [call("W", "w2")], "Done."]
    model_server.script([{"contains": "go", "steps": steps}, {"contains": "then", "reply": "Ok."}])
    loop = Loop(model_server, [FakeTool("W")])
    await loop.run("go")
    await loop.run("then")
    bodies = [without_marks(body) for body in model_server.requests]
    for before, after in pairwise(bodies):
        assert after["system"] == before["system"]
        assert after["tools"] == before["tools"]
        assert after["messages"][: len(before["messages"])] == before["messages"]


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
            raise LookupError("the reader goes away")  # noqa: TRY004

    with pytest.raises(LookupError):
        await loop.run("go", on=leave)
    assert [m.complete for m in loop.messages if isinstance(m, AssistantMessage)] == [False]
    await loop.run("hi")
    assert isinstance(loop.end, RunFinished)
    assert loop.end.text == "Hi."


async def test_a_person_s_word_gives_the_model_of_the_run_back(
    model_server: ScriptedServer,
) -> None:
    async def work(input: FakeInput, context: ToolContext) -> ToolResult:
        other = ContextModifier(model="claude-haiku-5-5")
        return ToolResult((TextBlock(text="ok"),), modifier=other)

    async def steered(input: FakeInput, context: ToolContext) -> str:
        loop.control.steer("be quick")
        return "ok"

    steps = [[call("Skill", "s1")], [call("Then", "t1")], "Done."]
    model_server.script(
        [{"contains": "quick", "reply": "Quick."}, {"contains": "go", "steps": steps}]
    )
    loop = Loop(model_server, [FakeTool("Skill", work), FakeTool("Then", steered)])
    await loop.run("go")
    assert [body["model"] for body in model_server.requests] == [
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-sonnet-5-5",
    ]
