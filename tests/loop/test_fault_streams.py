"""Replies that go wrong while they stream: withdrawn, asked again, and without half effects."""

from __future__ import annotations

from typing import Any

import pytest

from agent_kernel.events import Tombstone
from agent_kernel.messages import AssistantMessage
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.testing.tools import FakeTool
from tests.support.loop import Loop, sent, told, without_marks

ANSWERED = ["message_started", "text_delta", "usage", "run_finished completed"]
OVERLOADED = {"error": "overloaded_error", "message": "too busy"}
WRITE = {"tool": "Write", "id": "w1", "input": {"path": "a.py", "content": "print()"}}


class _Changing:
    """Before its second request the script becomes a good one, as a server recovers."""

    def __init__(self, server: ScriptedServer, **settings: Any) -> None:
        self._server = server
        self._client = server.client(**settings)
        self.capabilities = self._client.capabilities
        self.status = self._client.status
        self.close = self._client.close

    def stream(self, request: Any) -> Any:
        if self._server.requests:
            self._server.script([{"contains": "go", "steps": [[WRITE], "Done."]}])
        return self._client.stream(request)


# What is told of the first reply, up to its end.
BROKEN = {
    "an error before anything": ([OVERLOADED], []),
    "an error after text": (
        [{"text": "I will"}, OVERLOADED],
        ["message_started", "text_delta", "tombstone"],
    ),
    "an error inside a tool's input": (
        [{"text": "I will"}, {**WRITE, "upto": 12}, OVERLOADED],
        ["message_started", "text_delta", "tool_use_started w1", "tool_input_delta w1",
         "tombstone"],
    ),
    "an error after a whole call": (
        [WRITE, OVERLOADED],
        ["message_started", "tool_use_started w1", "tool_input_delta w1",
         "tool_started w1", "tool_finished w1 cancelled", "tombstone"],
    ),
    "a cut inside a tool's input": (
        [{**WRITE, "upto": 12}, {"cut": True}],
        ["message_started", "tool_use_started w1", "tool_input_delta w1", "tombstone"],
    ),
    "an end without message_stop": (
        [{"text": "I will"}, {"cut": "clean"}],
        ["message_started", "text_delta", "tombstone"],
    ),
    "a stall before anything": ([{"stall": True}], ["message_started", "tombstone"]),
    "a stall after a call": (
        [WRITE, {"stall": True}],
        ["message_started", "tool_use_started w1", "tool_input_delta w1",
         "tool_started w1", "tool_finished w1 cancelled", "tombstone"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
async def test_a_reply_that_breaks_is_withdrawn_and_asked_for_again(
    model_server: ScriptedServer, fault: str
) -> None:
    parts, course = BROKEN[fault]
    model_server.script([{"contains": "go", "steps": [parts]}])
    write = FakeTool("Write")
    client = _Changing(model_server, idle_timeout=1.5 if "stall" in fault else 60.0)
    loop = Loop(model_server, [write], client=client)
    await loop.run("go")
    # The withdrawn reply had the id first.
    name = "w1_2" if any("w1" in word for word in course) else "w1"
    assert told(loop.events) == [
        *course,
        "notice retry",
        "message_started",
        f"tool_use_started {name}",
        f"tool_input_delta {name}",
        "usage",
        f"tool_started {name}",
        f"tool_finished {name} ok",
        *ANSWERED,
    ]
    first, second, third = model_server.requests
    assert without_marks(first) == without_marks(second)
    call = '{"path": "a.py", "content": "print()"}'
    assert sent(third) == [
        "user: go",
        f"call {name} Write {call}",
        f'result {name}: Write {{"path":"a.py","content":"print()"}}',
    ]
    assert write.calls == [WRITE["input"]]
    assert len([m for m in loop.messages if isinstance(m, AssistantMessage)]) == 2
    stones = {e.message_id for e in loop.events if isinstance(e, Tombstone)}
    assert stones.isdisjoint(m.message_id for m in loop.messages if isinstance(m, AssistantMessage))


async def test_an_error_in_the_stream_that_stays_is_not_retried(
    model_server: ScriptedServer,
) -> None:
    error = {"error": "invalid_request_error", "message": "no such thing"}
    model_server.script(
        [{"contains": "go", "steps": [[{"text": "I "}, error]]}, {"contains": "hi", "reply": "Hi."}]
    )
    loop = Loop(model_server)
    await loop.run("go")
    assert told(loop.events) == [
        "message_started",
        "text_delta",
        "tombstone",
        "run_finished model_error",
    ]
    assert loop.end.detail == "no such thing"
    assert loop.end.text == ""
    await loop.run("hi")
    assert sent(model_server.requests[1]) == ["user: go", "user: hi"]


async def test_a_line_that_is_no_json_ends_the_run_with_words(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "steps": [[{"text": "I "}, {"raw": "{oops"}]]}])
    loop = Loop(model_server)
    await loop.run("go")
    assert told(loop.events)[-2:] == ["tombstone", "run_finished model_error"]
    assert loop.end.detail == "The server sent an event that is no JSON."


async def test_unknown_blocks_and_events_are_passed_over(model_server: ScriptedServer) -> None:
    parts = [
        {"ping": True},
        {"event": {"type": "weather_report", "sky": "blue"}},
        {"content_block": {"type": "hologram", "depth": 3}},
        {"text": "Here."},
        {"event": {"type": "content_block_delta", "index": 1,
                   "delta": {"type": "smell_delta", "smell": "pine"}}},
    ]  # fmt: skip
    model_server.script([{"contains": "go", "steps": [parts]}, {"contains": "hi", "reply": "Hi."}])
    loop = Loop(model_server)
    await loop.run("go")
    assert told(loop.events) == ANSWERED
    assert loop.end.text == "Here."
    await loop.run("hi")
    assert sent(model_server.requests[1]) == ["user: go", "assistant: Here.", "user: hi"]


async def test_an_empty_reply_ends_the_run_and_says_so(model_server: ScriptedServer) -> None:
    model_server.script(
        [{"contains": "go", "steps": [{"blocks": []}]}, {"contains": "hi", "reply": "Hi."}]
    )
    loop = Loop(model_server)
    await loop.run("go")
    assert told(loop.events) == [
        "message_started",
        "usage",
        "notice empty_reply",
        "run_finished completed",
    ]
    await loop.run("hi")
    assert sent(model_server.requests[1]) == ["user: go", "user: hi"]


@pytest.mark.parametrize("blank", ["", " ", "\n\n"])
async def test_a_blank_text_is_neither_kept_nor_sent(
    model_server: ScriptedServer, blank: str
) -> None:
    look = {"tool": "Look", "id": "r1", "input": {}}
    steps = [[{"text": blank}, look], [{"text": blank}]]
    model_server.script([{"contains": "go", "steps": steps}, {"contains": "hi", "reply": "Hi."}])
    loop = Loop(model_server, [FakeTool("Look")])
    await loop.run("go")
    assert told(loop.events)[-2:] == ["notice empty_reply", "run_finished completed"]
    await loop.run("hi")
    assert sent(model_server.requests[2]) == [
        "user: go",
        "call r1 Look {}",
        "result r1: Look {}",
        "user: hi",
    ]
    blocks = [b for m in loop.messages if isinstance(m, AssistantMessage) for b in m.content]
    assert all(getattr(block, "text", "x").strip() for block in blocks)


async def test_thinking_alone_is_no_message(model_server: ScriptedServer) -> None:
    model_server.script(
        [{"contains": "go", "steps": [[{"thinking": "Hm."}]]}, {"contains": "hi", "reply": "Hi."}]
    )
    loop = Loop(model_server)
    await loop.run("go")
    assert told(loop.events)[-2:] == ["notice empty_reply", "run_finished completed"]
    assert not any(isinstance(m, AssistantMessage) for m in loop.messages)
    await loop.run("hi")
    assert sent(model_server.requests[1]) == ["user: go", "user: hi"]


async def test_two_calls_of_one_id_in_a_message_run_once_each_under_two_ids(
    model_server: ScriptedServer,
) -> None:
    twice = [{"tool": "W", "id": "same", "input": {"n": n}} for n in (1, 2)]
    model_server.script([{"contains": "go", "steps": [twice, "Done."]}])
    work = FakeTool("W")
    await Loop(model_server, [work]).run("go")
    assert work.calls == [{"n": 1}, {"n": 2}]
    assert sent(model_server.requests[1])[1:] == [
        'call same W {"n": 1}',
        'call same_2 W {"n": 2}',
        'result same: W {"n":1}',
        'result same_2: W {"n":2}',
    ]


async def test_an_event_that_comes_twice_counts_once(model_server: ScriptedServer) -> None:
    work = {"tool": "W", "id": "w1", "input": {"n": 1}}
    model_server.script([{"contains": "go", "steps": [[work, {"again": True}], "Done."]}])
    tool = FakeTool("W")
    loop = Loop(model_server, [tool])
    await loop.run("go")
    assert tool.calls == [{"n": 1}]
    assert told(loop.events).count("tool_finished w1 ok") == 1


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence", "tool_use", "something_new"])
async def test_a_call_runs_whatever_the_reason_to_stop_says(
    model_server: ScriptedServer, reason: str
) -> None:
    step = {"blocks": [{"tool": "W", "id": "w1", "input": {}}], "stop_reason": reason}
    answer = {"blocks": [{"text": "Done."}], "stop_reason": reason}
    model_server.script([{"contains": "go", "steps": [step, answer]}])
    loop = Loop(model_server, [FakeTool("W")])
    await loop.run("go")
    assert told(loop.events)[-5:] == ["tool_finished w1 ok", *ANSWERED]
    assert len(model_server.requests) == 2


async def test_input_that_is_no_json_gives_an_error_result(model_server: ScriptedServer) -> None:
    broken = {"tool": "W", "id": "w1", "raw_input": '{"path": "a.py", "con'}
    model_server.script([{"contains": "go", "steps": [[broken], "Again."]}])
    tool = FakeTool("W")
    loop = Loop(model_server, [tool])
    await loop.run("go")
    assert tool.calls == []
    assert sent(model_server.requests[1])[1:] == [
        "call w1 W {}",
        "result w1 failed: The input of this call is not a JSON object, so W did not ru",
    ]
