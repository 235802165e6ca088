"""Answers that are no reply: what is told, and what the next request is."""

from __future__ import annotations

from typing import Any

import pytest

from agent_kernel.events import Notice
from agent_kernel.messages import AssistantMessage
from agent_kernel.model.anthropic_client import AnthropicClient
from agent_kernel.model.offline import Fault
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.settings.credentials import Credential
from agent_kernel.testing.tools import FakeTool
from agent_kernel.vocabulary import RunEnd
from tests.support.keeper import FakeKeeper
from tests.support.loop import Loop, sent, told, without_marks

ANSWERED = ["message_started", "text_delta", "usage", "run_finished completed"]
LOOK = {"tool": "Look", "id": "r1", "input": {}}


def goes_wrong_at_the_second(server: ScriptedServer, **fault: Any) -> None:
    """The first request is answered by a call; the second, with its result, meets the fault."""
    step = {"fault": fault, "blocks": [{"text": "Done."}]}
    server.script([{"contains": "go", "steps": [[LOOK], step]}, {"contains": "hi", "reply": "Hi."}])


@pytest.mark.parametrize(
    ("status", "saying"),
    [
        (408, "The model's server reported an error."),
        (429, "The model's rate limit is reached."),
        (500, "The model's server reported an error."),
        (502, "The model's server reported an error."),
        (503, "The model's server reported an error."),
        (529, "The model is overloaded."),
    ],
)
async def test_a_failure_that_passes_is_waited_out_and_the_same_request_goes_again(
    model_server: ScriptedServer, status: int, saying: str
) -> None:
    goes_wrong_at_the_second(model_server, status=status, times=2)
    look = FakeTool("Look")
    loop = Loop(model_server, [look])
    await loop.run("go")
    assert told(loop.events) == [
        "message_started",
        "tool_use_started r1",
        "tool_input_delta r1",
        "usage",
        "tool_started r1",
        "tool_finished r1 ok",
        "notice retry",
        "notice retry",
        *ANSWERED,
    ]
    notices = [e for e in loop.events if isinstance(e, Notice)]
    assert [notice.text for notice in notices] == [
        f"{saying} Trying again in 1 s (1 of 5).",
        f"{saying} Trying again in 2 s (2 of 5).",
    ]
    _, second, third, fourth = map(without_marks, model_server.requests)
    assert second == third == fourth
    assert look.calls == [{}]


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (400, ""),
        (401, " Give another key with %agent setup."),
        (403, ""),
        (404, " Choose another model with %agent model NAME."),
    ],
)
async def test_a_failure_that_stays_ends_the_run_and_the_next_one_is_valid(
    model_server: ScriptedServer, status: int, hint: str
) -> None:
    goes_wrong_at_the_second(model_server, status=status, message="No such thing.")
    loop = Loop(model_server, [FakeTool("Look")])
    await loop.run("go")
    assert told(loop.events)[-2:] == ["tool_finished r1 ok", "run_finished model_error"]
    assert loop.end.detail == "No such thing." + hint
    assert len(model_server.requests) == 2
    await loop.run("hi")
    assert sent(model_server.requests[-1]) == [
        "user: go",
        "call r1 Look {}",
        "result r1: Look {}",
        "user: hi",
    ]
    assert loop.end.text == "Hi."


async def test_a_pause_in_seconds_is_kept_if_it_is_longer_than_ours(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "reply": "Hello."}])
    model_server.fail_next(
        Fault(status=429, retry_after="7"),
        Fault(status=429, retry_after="0.5"),
        Fault(status=529, retry_after="soon"),
    )
    loop = Loop(model_server)
    await loop.run("go")
    assert loop.clock.slept == [7.0, 2.0, 4.0]
    assert told(loop.events) == ["notice retry"] * 3 + ANSWERED


async def test_a_pause_given_as_a_date_is_kept(model_server: ScriptedServer) -> None:
    model_server.script([{"contains": "go", "reply": "Hello."}])
    model_server.fail_next(
        Fault(status=429, retry_after="Sun, 06 Nov 1994 08:49:37 GMT"),
        Fault(status=429, retry_after="Sun, 06 Nov 1994 08:49:10 GMT"),
    )
    client = AnthropicClient(
        model="claude-sonnet-5-5",
        credential=Credential(kind="none", source="a test"),
        endpoint=model_server.base_url,
        now=lambda: 784111777.0 - 12,  # twelve seconds before the first date
    )
    loop = Loop(model_server, client=client)
    await loop.run("go")
    assert loop.clock.slept == [12.0, 2.0]


async def test_a_pause_that_nobody_would_wait_for_ends_the_run_at_once(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "reply": "Hello."}])
    model_server.fail_next(Fault(status=429, retry_after="3600", message="daily limit"))
    loop = Loop(model_server)
    await loop.run("go")
    assert told(loop.events) == ["run_finished model_error"]
    assert loop.end.detail == "daily limit"
    assert loop.clock.slept == []


async def test_retries_end_after_five_with_the_last_reason(model_server: ScriptedServer) -> None:
    model_server.fail_next(Fault(status=529, message="too busy", times=6))
    loop = Loop(model_server)
    await loop.run("go")
    assert told(loop.events) == ["notice retry"] * 5 + ["run_finished model_error"]
    assert loop.clock.slept == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert loop.end.detail == "too busy"
    assert len(model_server.requests) == 6


# -- too long


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "prompt is too long: 211000 tokens > 200000 maximum"),
        (413, "Request exceeds the maximum size"),
    ],
)
async def test_too_long_a_prompt_is_summarised_and_sent_again(
    model_server: ScriptedServer, status: int, message: str
) -> None:
    model_server.script([{"contains": "go", "reply": "Done."}])
    model_server.fail_next(Fault(status=status, message=message))
    loop = Loop(model_server)
    keeper = loop.keeper = FakeKeeper(loop.conversation, compacts=(True,))
    await loop.run("go")
    assert told(loop.events) == ANSWERED
    assert keeper.asked == ["compact reactive"]
    assert sent(model_server.requests[1]) == ["user: What was said so far.", "user: go"]


async def test_what_is_still_too_long_loses_its_oldest_rounds(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "reply": "Done."}])
    model_server.fail_next(Fault(status=400, message="prompt is too long", times=3))
    loop = Loop(model_server)
    keeper = loop.keeper = FakeKeeper(loop.conversation, compacts=(True,), shrinks=(True, True))
    await loop.run("go")
    assert told(loop.events) == ANSWERED
    assert keeper.asked == ["compact reactive", "shrink", "shrink"]
    assert len(model_server.requests) == 4


async def test_where_nothing_can_be_left_out_the_run_ends_prompt_too_long(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "reply": "Done."}])
    model_server.fail_next(Fault(status=400, message="prompt is too long: much"))
    loop = Loop(model_server)
    keeper = loop.keeper = FakeKeeper(loop.conversation)
    await loop.run("go")
    assert told(loop.events) == ["run_finished prompt_too_long"]
    assert loop.end.detail == "prompt is too long: much"
    assert keeper.asked == ["compact reactive", "shrink"]
    assert len(model_server.requests) == 1


async def test_a_prompt_that_stays_too_long_is_not_sent_for_ever(
    model_server: ScriptedServer,
) -> None:
    model_server.fail_next(Fault(status=400, message="prompt is too long", times=99))
    loop = Loop(model_server)
    loop.keeper = FakeKeeper(loop.conversation, compacts=(True,) * 99, shrinks=(True,) * 99)
    await loop.run("go")
    assert loop.end.end is RunEnd.PROMPT_TOO_LONG
    assert len(model_server.requests) == 8  # one, one after the summary, six that were cut


async def test_no_room_for_a_request_ends_the_run_before_it(model_server: ScriptedServer) -> None:
    loop = Loop(model_server)
    loop.keeper = FakeKeeper(loop.conversation, rooms=(False,))
    await loop.run("go")
    assert told(loop.events) == ["run_finished blocking_limit"]
    assert "%agent compact" in loop.end.detail
    assert model_server.requests == []


# -- thinking and images


async def test_refused_thinking_of_a_turn_goes_as_a_whole_and_other_thinking_stays(
    model_server: ScriptedServer,
) -> None:
    def thought(text: str, *parts: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"thinking": text}, *parts]

    complaint = "messages.4.content.0: Invalid `signature` in `thinking` block"
    refused = {"fault": {"status": 400, "message": complaint}, "blocks": [{"text": "Two."}]}
    first = thought("First.", {"text": "One."})
    second = thought("Second.", LOOK)
    third = thought("Third.", {**LOOK, "id": "r2"})
    model_server.script(
        [
            {"contains": "one", "steps": [first]},
            {"contains": "two", "steps": [second, third, refused]},
            {"contains": "three", "steps": [thought("Fourth.", {"text": "Three."})]},
            {"contains": "four", "reply": "Four."},
        ]
    )
    look = FakeTool("Look")
    loop = Loop(model_server, [look], thinking_budget=2_000, max_tokens=4_000)
    await loop.run("one")
    await loop.run("two")
    assert told(loop.events)[-5:] == ["notice retry", *ANSWERED]
    before, after = model_server.requests[-2:]
    assert [line for line in sent(before) if "thinking" in line] == ["assistant: <thinking>"] * 3
    assert [line for line in sent(after) if "thinking" in line] == ["assistant: <thinking>"]
    assert sent(after)[1] == "assistant: <thinking>"
    assert "thinking" in before
    assert "thinking" not in after  # it cannot begin again in the middle of a turn
    assert look.calls == [{}, {}]
    await loop.run("three")
    await loop.run("four")
    assert [line for line in sent(model_server.requests[-1]) if "thinking" in line] == [
        "assistant: <thinking>"
    ] * 2
    assert "thinking" in model_server.requests[-1]


async def test_thinking_refused_twice_ends_the_run(model_server: ScriptedServer) -> None:
    fault = Fault(status=400, message="thinking blocks cannot be modified", times=9)
    model_server.fail_next(fault)
    loop = Loop(model_server)
    await loop.run("go")
    assert told(loop.events) == ["notice retry", "run_finished model_error"]
    assert len(model_server.requests) == 2
    assert not any(isinstance(m, AssistantMessage) for m in loop.messages)
