"""Replies that pause, and replies that are declined."""

from __future__ import annotations

from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.testing.tools import FakeTool
from agent_kernel.vocabulary import RunEnd
from tests.support.loop import Loop, sent, told

PAUSED = {"blocks": [{"text": "Searching."}], "stop_reason": "pause_turn"}
ANSWER = ["message_started", "text_delta", "usage"]


async def test_a_paused_turn_is_sent_back_as_it_is_and_goes_on(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "steps": [PAUSED, "Found."]}])
    loop = Loop(model_server)
    await loop.run("go")
    assert told(loop.events) == [*ANSWER * 2, "run_finished completed"]
    assert sent(model_server.requests[1]) == ["user: go", "assistant: Searching."]
    assert loop.end.text == "Found."


async def test_a_paused_turn_with_a_call_gets_its_result(model_server: ScriptedServer) -> None:
    step = {"blocks": [{"tool": "W", "id": "w1", "input": {}}], "stop_reason": "pause_turn"}
    model_server.script([{"contains": "go", "steps": [step, "Found."]}])
    loop = Loop(model_server, [FakeTool("W")])
    await loop.run("go")
    assert sent(model_server.requests[1])[1:] == ["call w1 W {}", "result w1: W {}"]
    assert loop.end.end is RunEnd.COMPLETED


async def test_a_model_that_only_pauses_does_not_hold_the_run_for_ever(
    model_server: ScriptedServer,
) -> None:
    empty = {"blocks": [], "stop_reason": "pause_turn"}
    model_server.script([{"contains": "go", "repeat": True, "steps": [empty]}])
    loop = Loop(model_server)
    await loop.run("go")
    assert loop.end.end is RunEnd.MODEL_ERROR
    assert loop.end.detail == "The model paused again and again without an answer."
    assert len(model_server.requests) == 21


async def test_a_declined_turn_is_withdrawn_with_its_calls_and_results(
    model_server: ScriptedServer,
) -> None:
    look = {"tool": "Look", "id": "r1", "input": {}}
    write = {"tool": "Write", "id": "w1", "input": {}}
    refused = {"blocks": [{"text": "I"}, write], "stop_reason": "refusal"}
    model_server.script(
        [
            {"contains": "hello", "reply": "Hello."},
            {"contains": "go", "steps": [[look], refused]},
            {"contains": "hi", "reply": "Hi."},
        ]
    )
    tool = FakeTool("Write")
    loop = Loop(model_server, [FakeTool("Look"), tool])
    await loop.run("hello")
    await loop.run("go")
    assert told(loop.events)[-9:] == [
        "message_started",
        "text_delta",
        "tool_use_started w1",
        "tool_input_delta w1",
        "usage",
        "tool_started w1",
        "tool_finished w1 cancelled",
        "tombstone",
        "run_finished refused",
    ]
    assert tool.calls == []
    await loop.run("hi")
    assert sent(model_server.requests[-1]) == ["user: hello", "assistant: Hello.", "user: hi"]
