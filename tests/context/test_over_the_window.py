"""Conversations driven over the window: they go on or end, and never spend requests in circles."""

from __future__ import annotations

from typing import Any

import pytest

from agent_kernel.context.keeper import LEFT_OUT, Keeper
from agent_kernel.context.window import WindowSettings
from agent_kernel.events import Compacted, Notice
from agent_kernel.messages import AssistantMessage, CompactBoundary, TextBlock, UserMessage
from agent_kernel.model.offline import Fault
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.protocols import HookOutcome
from agent_kernel.testing.tools import Behaviour, FakeInput, FakeTool
from agent_kernel.tool_types import ToolContext, ToolResult
from agent_kernel.vocabulary import RunEnd
from tests.support.loop import Loop

HUGE = "x" * 665_000
"""About 190,000 tokens."""

SUMMARY = {"contains": "no longer fits and will", "reply": "<summary>We looked.</summary>"}
TOO_LONG = Fault(status=400, message="prompt is too long: 210000 tokens > 200000 maximum")


def says(text: str) -> Behaviour:
    async def behaviour(input: FakeInput, context: ToolContext) -> ToolResult:
        return ToolResult.text(text)

    return behaviour


def huge_loop(server: ScriptedServer, **seams: Any) -> Loop:
    window = WindowSettings(size=200_000)
    tool = FakeTool("Fetch", says(HUGE), read_only=True, max_result_chars=10**7)
    loop = Loop(server, [tool], window=window, **seams)
    loop.keeper = Keeper(loop.conversation, settings=window, hooks=loop.hooks)
    return loop


def fetch(id: str, **more: Any) -> dict[str, Any]:
    return {"blocks": [{"tool": "Fetch", "id": id, "input": {}}], **more}


def text_size(body: dict[str, Any]) -> int:
    return len(str(body["messages"]))


def asked_for_summary(body: dict[str, Any]) -> bool:
    return "no longer fits and will" in str(body["messages"][-1])


async def test_results_that_fill_the_window_are_summarised_away_one_by_one(
    model_server: ScriptedServer,
) -> None:
    """What all results of one message may hold is bounded, so each fills most of the window."""
    full = {"input_tokens": 178_000, "output_tokens": 5}
    rules = [
        {"contains": f"part {n}", "steps": [fetch(f"f{n}", usage=full), [{"text": f"Part {n}."}]]}
        for n in range(4)
    ]
    model_server.script([SUMMARY, *rules])
    loop = huge_loop(model_server)
    for n in range(4):
        await loop.run(f"part {n}")
        assert loop.end.end is RunEnd.COMPLETED
    # Two requests of each run, and a summary for each until three were filled by one reply.
    summaries = sum(map(asked_for_summary, model_server.requests))
    assert summaries <= 4
    assert len(model_server.requests) == 8 + summaries
    assert all(text_size(body) < 700_000 for body in model_server.requests)


async def test_a_conversation_that_only_refills_is_given_up_after_three_summaries(
    model_server: ScriptedServer,
) -> None:
    """Every reply says that the window is full again, whatever was summarised."""
    full = {"input_tokens": 179_000, "output_tokens": 5}
    steps = [fetch("f", usage=full)]
    model_server.script([SUMMARY, {"contains": "go", "steps": steps, "repeat": True}])
    loop = huge_loop(model_server)
    await loop.run("go", max_turns=12)
    assert sum(map(asked_for_summary, model_server.requests)) <= 4
    assert len(model_server.requests) <= 12 + 4
    codes = [e.code for e in loop.events if isinstance(e, Notice)]
    assert codes.count("compact_stopped") == 1
    # From then on the oldest part is left out, and in the end the run says how it ended.
    assert loop.end.end in (RunEnd.MAX_TURNS, RunEnd.BLOCKING_LIMIT)


@pytest.mark.parametrize("status", [401, 500])
async def test_failures_of_any_kind_count(model_server: ScriptedServer, status: int) -> None:
    fault = {"status": status, "message": "no", "times": 999}
    broken = {"contains": "no longer fits and will", "steps": [{"fault": fault, "blocks": []}]}
    full = {"input_tokens": 170_000, "output_tokens": 5}
    small = FakeTool("Fetch", says("little"), read_only=True)
    model_server.script(
        [broken, {"contains": "go", "steps": [fetch("f", usage=full)], "repeat": True}]
    )
    loop = Loop(model_server, [small], window=WindowSettings(size=200_000))
    loop.keeper = Keeper(loop.conversation, settings=loop.window)
    await loop.run("go", max_turns=8)
    codes = [e.code for e in loop.events if isinstance(e, Notice)]
    assert codes.count("compact_failed") == 3
    assert codes.count("compact_stopped") == 1
    attempts = 1 if status == 401 else 6
    assert sum(map(asked_for_summary, model_server.requests)) == 3 * attempts


async def test_a_refused_prompt_is_summarised_once_and_sent_again(
    model_server: ScriptedServer,
) -> None:
    model_server.script(
        [SUMMARY, {"contains": "first", "reply": "One."}, {"contains": "second", "reply": "Two."}]
    )
    loop = huge_loop(model_server)
    await loop.run("first")
    model_server.fail_next(TOO_LONG)
    await loop.run("second")
    assert loop.end.end is RunEnd.COMPLETED
    assert loop.end.text == "Two."
    assert [e.trigger for e in loop.events if isinstance(e, Compacted)] == ["reactive"]
    refused, summary, again = model_server.requests[1:]
    assert asked_for_summary(summary)
    assert "We looked." in str(again["messages"])
    assert "second" in str(again["messages"])
    assert "first" in str(refused["messages"])
    assert "first" not in str(again["messages"])


async def test_a_prompt_that_stays_too_long_ends_the_run_in_a_bounded_number_of_requests(
    model_server: ScriptedServer,
) -> None:
    rules = [{"contains": f"part {n}", "reply": f"Part {n}."} for n in range(5)]
    model_server.script([SUMMARY, *rules])
    loop = huge_loop(model_server)
    for n in range(4):
        await loop.run(f"part {n}")
    before = len(model_server.requests)
    model_server.fail_next(TOO_LONG.model_copy(update={"times": 99}))
    await loop.run("part 4")
    assert loop.end.end is RunEnd.PROMPT_TOO_LONG
    assert len(model_server.requests) - before <= 12
    cuts = [m.trigger for m in loop.messages if isinstance(m, CompactBoundary)]
    assert set(cuts) == {"cut"}


async def test_what_was_left_out_stays_left_out_after_a_resume(
    model_server: ScriptedServer,
) -> None:
    rules = [{"contains": f"part {n}", "reply": f"Part {n}."} for n in range(5)]
    model_server.script(rules)
    loop = huge_loop(model_server)
    for n in range(4):
        await loop.run(f"part {n}")
    assert loop.keeper is not None
    assert await loop.keeper.shrink_head()
    assert loop.keeper.tokens() < 1_000
    again = huge_loop(model_server)
    for message in loop.messages:
        again.conversation.add(message)
    await loop.run("part 4")
    await again.run("part 4")
    first, second = (body["messages"] for body in model_server.requests[-2:])
    assert first == second
    assert LEFT_OUT in str(first)
    assert "part 0" not in str(first)
    assert "part 3" in str(first)


async def test_one_round_that_fills_a_small_window_is_cut_inside(
    model_server: ScriptedServer,
) -> None:
    """Nothing older can go, so the result is sent in part; and the summary sees it in part too."""
    fault = {"status": 400, "message": "no", "times": 99}
    broken = {"contains": "no longer fits and will", "steps": [{"fault": fault, "blocks": []}]}
    model_server.script([broken, {"contains": "go", "steps": [fetch("f1"), [{"text": "Ok."}]]}])
    tool = FakeTool("Fetch", says("x" * 190_000), read_only=True, max_result_chars=10**7)
    loop = Loop(model_server, [tool], window=WindowSettings(size=60_000))
    loop.keeper = Keeper(loop.conversation, settings=loop.window)
    await loop.run("go")
    assert loop.end.end is RunEnd.COMPLETED
    first, summary, last = model_server.requests
    assert asked_for_summary(summary)
    assert text_size(last) < 5_000
    assert "the rest was left out because nothing more fits" in str(last)
    assert text_size(first) < 500
    codes = [e.code for e in loop.events if isinstance(e, Notice)]
    assert codes == ["context_low", "compact_failed", "context_cut"]


async def test_a_prompt_that_is_itself_too_large_ends_with_the_blocking_limit(
    model_server: ScriptedServer,
) -> None:
    loop = huge_loop(model_server)
    await loop.run("words " * 150_000)
    assert loop.end.end is RunEnd.BLOCKING_LIMIT
    assert model_server.requests == []
    # The stored conversation is valid; a summary cannot help it, another conversation can.
    assert isinstance(loop.messages[0], UserMessage)


async def test_a_hook_can_forbid_a_summary_and_add_to_what_it_keeps(
    model_server: ScriptedServer,
) -> None:
    class Keeping:
        def __init__(self) -> None:
            self.block: str | None = "not now"
            self.seen: list[tuple[str, dict[str, Any]]] = []

        async def run(self, event: str, payload: dict[str, Any]) -> HookOutcome:
            self.seen.append((event, payload))
            if event == "PreCompact":
                return HookOutcome(block=self.block, additional_context=("keep the seed",))
            if event == "SessionStart":
                return HookOutcome(additional_context=("the branch is main",))
            return HookOutcome()

    hooks = Keeping()
    rules = [{"contains": "one", "reply": "1"}, {"contains": "two", "reply": "2"}]
    model_server.script([SUMMARY, *rules])
    loop = huge_loop(model_server, hooks=hooks)
    loop.client = model_server.client()
    await loop.run("one")
    assert loop.keeper is not None
    assert not await loop.keeper.compact("manual", "the plan")
    hooks.block = None
    assert await loop.keeper.compact("manual", "the plan")
    prompt = model_server.requests[-1]["messages"][-1]["content"][-1]["text"]
    assert "the plan" in prompt
    assert "keep the seed" in prompt
    await loop.run("two")
    await loop.client.close()
    assert "the branch is main" in str(model_server.requests[-1]["messages"])
    names = [name for name, _ in hooks.seen if "ompact" in name or name == "SessionStart"]
    assert names == ["PreCompact", "PreCompact", "SessionStart", "PostCompact"]
    before = next(payload for name, payload in hooks.seen if name == "PreCompact")
    assert before == {"trigger": "manual", "custom_instructions": "the plan"}
    last = loop.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert last.content == (TextBlock(text="2"),)
