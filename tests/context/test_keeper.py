"""A conversation meets the limits of its window: the ladder, the breaker, exact requests."""

from __future__ import annotations

from typing import Any

from agent_kernel.context.keeper import Keeper
from agent_kernel.context.stale import PLACEHOLDER
from agent_kernel.context.summary import GO_ON, OPENING
from agent_kernel.context.window import WindowSettings
from agent_kernel.events import Compacted, Notice, UsageReported
from agent_kernel.messages import CompactBoundary
from agent_kernel.model.offline import Fault
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.testing.tools import Behaviour, FakeInput, FakeTool
from agent_kernel.tool_types import ToolContext, ToolResult
from agent_kernel.vocabulary import RunEnd
from tests.support.loop import Loop, told

FULL = {"input_tokens": 170_000, "output_tokens": 10}
SUMMARY = {"contains": "no longer fits and will", "reply": "<summary>We counted.</summary>"}


def kept_loop(server: ScriptedServer, *tools: FakeTool, **settings: Any) -> Loop:
    window = WindowSettings(size=200_000, **settings)
    loop = Loop(server, tools, window=window)
    loop.keeper = Keeper(loop.conversation, settings=window)
    return loop


def look(id: str, **more: Any) -> dict[str, Any]:
    return {"blocks": [{"tool": "Read", "id": id, "input": {}}], **more}


def says(text: str) -> Behaviour:
    async def behaviour(input: FakeInput, context: ToolContext) -> ToolResult:
        return ToolResult.text(text)

    return behaviour


def texts(body: dict[str, Any]) -> list[str]:
    """Role and text of all blocks of a request, in order."""
    return [
        f"{message['role']}: {block.get('text') or block['type']}"
        for message in body["messages"]
        for block in message["content"]
    ]


async def test_over_the_threshold_the_history_becomes_a_summary_and_the_run_goes_on(
    model_server: ScriptedServer,
) -> None:
    steps = [look("t1", usage=FULL), [{"text": "Done."}]]
    model_server.script([SUMMARY, {"contains": "count", "steps": steps}])
    loop = kept_loop(model_server, FakeTool("Read", read_only=True))
    await loop.run("count the rows")
    assert told(loop.events) == [
        "message_started",
        "tool_use_started t1",
        "tool_input_delta t1",
        "usage",
        "tool_started t1",
        "tool_finished t1 ok",
        "notice context_low",
        "agent_started",
        "usage",
        "agent_finished completed",
        "compacted",
        "message_started",
        "text_delta",
        "usage",
        "run_finished completed",
    ]


async def test_a_run_that_was_summarised_sends_summary_prompt_and_newest_round(
    model_server: ScriptedServer,
) -> None:
    steps = [look("t1", usage=FULL), [{"text": "Done."}]]
    model_server.script([SUMMARY, {"contains": "count", "steps": steps}])
    loop = kept_loop(model_server, FakeTool("Read", read_only=True))
    await loop.run("count the rows")
    first, summary, after = model_server.requests
    # The summary is asked for with the very same head, so that the cache serves it.
    assert summary["system"] == first["system"]
    assert summary["tools"] == first["tools"]
    assert texts(summary)[:1] == texts(first)
    assert texts(summary)[-1].startswith("user: The conversation so far no longer fits")
    shown = texts(after)
    assert OPENING in shown[0]
    assert "We counted." in shown[0]
    assert GO_ON in shown[0]
    assert shown[1:] == ["user: count the rows", "assistant: tool_use", "user: tool_result"]
    assert after["messages"][-2]["content"][0]["id"] == "t1"
    assert loop.end.end is RunEnd.COMPLETED


async def test_what_is_kept_is_stored_as_it_was_and_found_again(
    model_server: ScriptedServer,
) -> None:
    model_server.script(
        [SUMMARY, {"contains": "count", "steps": [look("t1", usage=FULL), [{"text": "x"}]]}]
    )
    loop = kept_loop(model_server, FakeTool("Read", read_only=True))
    await loop.run("count the rows")
    boundary = next(m for m in loop.messages if isinstance(m, CompactBoundary))
    assert boundary.trigger == "auto"
    assert boundary.tokens_before > 170_000
    again = Loop(model_server, [FakeTool("Read", read_only=True)])
    for message in loop.messages:
        again.conversation.add(message)
    again.keeper = Keeper(again.conversation, settings=loop.window)
    model_server.script([{"contains": "and now", "reply": "Yes."}])
    before = texts(model_server.requests[-1])
    await again.run("and now")
    assert texts(model_server.requests[-1])[: len(before)] == before


async def test_three_failures_in_a_row_end_it_for_the_session(
    model_server: ScriptedServer,
) -> None:
    """Whatever the failure, no more requests are spent; the oldest part is left out instead."""
    fault = {"status": 400, "message": "not today", "times": 99}
    refused = {"contains": "no longer fits and will", "steps": [{"fault": fault, "blocks": []}]}
    steps = [look(f"t{n}", usage=FULL) for n in range(8)]
    model_server.script([refused, {"contains": "count", "steps": [*steps, [{"text": "Done."}]]}])
    loop = kept_loop(model_server, FakeTool("Read", read_only=True))
    await loop.run("count the rows")
    summaries = [body for body in model_server.requests if "no longer fits" in texts(body)[-1]]
    assert len(summaries) == 3
    assert len(model_server.requests) == 9 + 3
    codes = [e.code for e in loop.events if isinstance(e, Notice)]
    assert codes == ["context_low", *["compact_failed"] * 3, "compact_stopped"]
    assert loop.end.end is RunEnd.COMPLETED


async def test_one_round_that_fills_the_window_is_cut_inside(
    model_server: ScriptedServer,
) -> None:
    """A result of 190,000 tokens: the summary takes it in part, and so does the next request."""
    huge = FakeTool("Read", says("x" * 665_000), read_only=True, max_result_chars=10**7)
    model_server.script([SUMMARY, {"contains": "count", "steps": [look("t1"), [{"text": "Ok."}]]}])
    loop = kept_loop(model_server, huge)
    loop.blobs.kept.clear()
    await loop.run("count the rows")
    assert loop.end.end in (RunEnd.COMPLETED, RunEnd.BLOCKING_LIMIT)
    assert len(model_server.requests) <= 4


async def test_without_autocompact_the_blocking_limit_ends_the_run(
    model_server: ScriptedServer,
) -> None:
    full = {"input_tokens": 178_000, "output_tokens": 10}
    model_server.script([{"contains": "count", "steps": [look("t1", usage=full)]}])
    loop = kept_loop(model_server, FakeTool("Read", read_only=True), autocompact=False)
    loop.client = model_server.client()
    await loop.run("count the rows")
    assert loop.end.end == "blocking_limit"
    assert len(model_server.requests) == 1
    # By hand it works up to there.
    model_server.script([SUMMARY, {"contains": "go on", "reply": "Fine."}])
    assert loop.keeper is not None
    assert await loop.keeper.compact("manual", "the totals")
    assert (
        "The person wants this kept above all:\nthe totals" in texts(model_server.requests[-1])[-1]
    )
    await loop.run("go on")
    assert loop.end.end == "completed"
    assert GO_ON not in texts(model_server.requests[-1])[0]
    await loop.client.close()


async def test_a_summary_that_is_too_long_itself_is_asked_for_with_less(
    model_server: ScriptedServer,
) -> None:
    too_long = Fault(status=400, message="prompt is too long: 210000 tokens > 200000 maximum")
    steps = [look("t1"), look("t2"), [{"text": "Counted."}]]
    more = [look("t3", usage=FULL), [{"text": "Done."}]]
    rules = [{"contains": "count", "steps": steps}, {"contains": "more", "steps": more}]
    model_server.script([SUMMARY, *rules])

    async def behaviour(input: FakeInput, context: ToolContext) -> ToolResult:
        if context.tool_use_id == "t3":  # the summary comes next
            model_server.fail_next(too_long)
        return ToolResult.text("42 rows")

    loop = kept_loop(model_server, FakeTool("Read", behaviour))
    await loop.run("count the rows")
    await loop.run("more")
    asked = [b for b in model_server.requests if "no longer fits" in texts(b)[-1]]
    assert len(asked) == 2
    assert len(texts(asked[1])) < len(texts(asked[0]))
    assert any(isinstance(e, Compacted) for e in loop.events)


async def test_old_results_are_left_out_once_the_cache_is_cold(
    model_server: ScriptedServer,
) -> None:
    calls = [{"tool": "Read", "id": f"r{n}", "input": {}} for n in range(7)]
    model_server.script(
        [
            {"contains": "first", "steps": [calls, [{"text": "Seven."}]]},
            {"contains": "second", "reply": "Warm."},
            {"contains": "third", "reply": "Cold."},
        ]
    )
    loop = kept_loop(model_server, FakeTool("Read", says("long " * 200), read_only=True))
    await loop.run("first")
    loop.clock.advance(299)
    await loop.run("second")
    warm = model_server.requests[-1]
    assert PLACEHOLDER.text not in str(warm)
    stored = list(loop.messages)
    before = loop.keeper.tokens() if loop.keeper else 0
    loop.clock.advance(301)
    await loop.run("third")
    results = model_server.requests[-1]["messages"][2]["content"]
    cleared = [b["tool_use_id"] for b in results if b["content"][0]["text"] == PLACEHOLDER.text]
    assert cleared == ["r0", "r1"]
    assert loop.messages[: len(stored)] == stored
    assert before > 0
    # A resume clears the same results, so that the bytes stay.
    again = Loop(model_server, [FakeTool("Read")])
    for message in loop.messages:
        again.conversation.add(message)
    again.keeper = Keeper(again.conversation, settings=loop.window)
    again.clock.advance(loop.clock.now() - again.clock.now())
    model_server.script([{"contains": "fourth", "reply": "Still."}])
    await again.run("fourth")
    assert model_server.requests[-1]["messages"][2] == model_server.requests[-2]["messages"][2]


async def test_the_usage_of_a_summary_is_told_under_its_own_name(
    model_server: ScriptedServer,
) -> None:
    model_server.script(
        [SUMMARY, {"contains": "count", "steps": [look("t1", usage=FULL), [{"text": "x"}]]}]
    )
    loop = kept_loop(model_server, FakeTool("Read", read_only=True))
    await loop.run("count the rows")
    names = [e.agent_id for e in loop.events if isinstance(e, UsageReported)]
    assert names == ["main", "agent_1", "main"]
