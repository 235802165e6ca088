"""Replies that the output limit cuts: a higher limit, then in parts, at most three times."""

from __future__ import annotations

from typing import Any

from agent_kernel.events import Notice, Tombstone
from agent_kernel.messages import AssistantMessage
from agent_kernel.model.offline import Fault
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.testing.tools import FakeTool
from tests.support.keeper import FakeKeeper
from tests.support.loop import Loop, result_texts, sent, told, without_marks

HALF = {"blocks": [{"text": "Once upon"}], "stop_reason": "max_tokens"}
WHOLE = {"blocks": [{"text": "a time."}], "stop_reason": "end_turn"}


def limits(server: ScriptedServer) -> list[int]:
    return [body["max_tokens"] for body in server.requests]


async def test_the_same_request_goes_again_with_the_highest_limit(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "repeat": True, "steps": [HALF, WHOLE]}])
    loop = Loop(model_server)
    await loop.run("go")
    assert told(loop.events) == [
        "message_started",
        "text_delta",
        "usage",
        "tombstone",
        "notice output_limit",
        "message_started",
        "text_delta",
        "usage",
        "message_started",
        "text_delta",
        "usage",
        "run_finished completed",
    ]
    assert limits(model_server) == [1000, 64_000, 64_000]
    first, second = ({**without_marks(b), "max_tokens": 0} for b in model_server.requests[:2])
    assert first == second
    # Cut again at the highest limit, so the model is asked to go on where it stopped.
    assert sent(model_server.requests[2])[:2] == ["user: go", "assistant: Once upon"]
    assert sent(model_server.requests[2])[2].startswith("user: Your reply was cut off")
    stone = next(e for e in loop.events if isinstance(e, Tombstone))
    assert stone.reason == "The reply was longer than its limit. Asking again with a higher one."
    assert len([m for m in loop.messages if isinstance(m, AssistantMessage)]) == 2


async def test_three_recoveries_in_a_row_are_all(model_server: ScriptedServer) -> None:
    model_server.script([{"contains": "go", "repeat": True, "steps": [HALF]}])
    loop = Loop(model_server)
    await loop.run("go")
    assert limits(model_server) == [1000, 64_000, 64_000, 64_000]
    assert told(loop.events)[-1] == "run_finished model_error"
    assert loop.end.detail == (
        "The model's replies were cut off by its output limit again and again."
    )
    assert loop.end.text == "Once upon"


async def test_a_reply_that_ends_by_itself_starts_the_count_anew(
    model_server: ScriptedServer,
) -> None:
    work = [{"tool": "W", "id": "w1", "input": {}}]
    steps = [HALF, HALF, work, HALF, HALF, HALF, WHOLE]
    model_server.script([{"contains": "go", "steps": steps}])
    loop = Loop(model_server, [FakeTool("W")], max_tokens=64_000)
    await loop.run("go")
    assert told(loop.events)[-1] == "run_finished completed"
    assert len(model_server.requests) == 7


async def test_cut_calls_run_neither_before_nor_after_the_limit_is_raised(
    model_server: ScriptedServer,
) -> None:
    cut: dict[str, Any] = {
        "blocks": [
            {"tool": "W", "id": "w1", "input": {"n": 1}},
            {"tool": "W", "id": "w2", "raw_input": '{"path":"a.py","content":"print('},
        ],
        "stop_reason": "max_tokens",
    }
    model_server.script([{"contains": "go", "steps": [cut, "In parts."]}])
    tool = FakeTool("W")
    loop = Loop(model_server, [tool])
    await loop.run("go")
    assert tool.calls == []
    assert limits(model_server) == [1000, 64_000, 64_000]
    text = (
        "The reply was cut off by the output limit, so this call did not run."
        " Send it again in smaller parts."
    )
    assert result_texts(model_server.requests[2]) == [("w1_2", text, True), ("w2_2", text, True)]
    assert loop.end.text == "In parts."


async def test_thinking_that_the_limit_cut_is_gone_and_the_model_goes_on(
    model_server: ScriptedServer,
) -> None:
    cut = {"blocks": [{"thinking": "Hm."}], "stop_reason": "max_tokens"}
    model_server.script([{"contains": "go", "repeat": True, "steps": [cut]}])
    loop = Loop(model_server, max_tokens=64_000)
    await loop.run("go")
    assert [len(sent(body)) for body in model_server.requests] == [1, 2, 3, 4]
    assert not any(isinstance(m, AssistantMessage) for m in loop.messages)


async def test_a_raise_that_does_not_fit_the_window_is_taken_back(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "steps": [HALF, WHOLE]}])
    loop = Loop(model_server)
    complaint = "input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000"

    def once(event: object) -> None:
        raised = isinstance(event, Notice) and "higher" in event.text
        if raised:
            model_server.fail_next(Fault(status=400, message=complaint))

    keeper = loop.keeper = FakeKeeper(loop.conversation)
    await loop.run("go", on=once)
    assert limits(model_server) == [1000, 64_000, 1000, 1000]
    assert keeper.asked == []
    assert told(loop.events)[-1] == "run_finished completed"


async def test_a_reply_that_the_window_cut_is_not_whole_either(
    model_server: ScriptedServer,
) -> None:
    cut = {
        "blocks": [{"tool": "W", "id": "w1", "input": {}}],
        "stop_reason": "model_context_window_exceeded",
    }
    model_server.script([{"contains": "go", "steps": [cut, WHOLE]}])
    tool = FakeTool("W")
    loop = Loop(model_server, [tool])
    await loop.run("go")
    assert tool.calls == []
    assert "tool_finished w1 cancelled" in told(loop.events)
    assert limits(model_server) == [1000, 1000]


async def test_a_session_asks_for_what_the_window_keeps_free_at_first(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "reply": "Hello."}])
    loop = Loop(model_server, max_tokens=None)
    await loop.run("go")
    assert limits(model_server) == [20_000]
