"""Replies and their faults over real HTTP: the exact events a caller gets."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from agent_kernel.errors import ModelErrorKind
from agent_kernel.messages import (
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    Usage,
)
from agent_kernel.model.offline import Fault
from agent_kernel.model.offline.signature import sign
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.model_types import (
    ReplyBlock,
    ReplyFailed,
    ReplyFinished,
    ReplyStarted,
    ReplyText,
    ReplyThinking,
    ReplyToolInput,
    ReplyToolStarted,
)
from agent_kernel.testing.model import a_request, check_reply
from tests.support.replies import kinds, reply, script

CUT = "The connection ended before the reply was complete."


async def test_a_reply_with_every_kind_of_block_is_told_block_by_block(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    script(
        model_server,
        {"thinking": "First look."},
        {"redacted_thinking": "b3BhcXVl"},
        {"text": "I will read."},
        {"tool": "Read", "input": {"file_path": "a.py"}, "id": "toolu_1"},
        usage={
            "input_tokens": 20,
            "output_tokens": 7,
            "cache_read_input_tokens": 5,
            "cache_creation_input_tokens": 3,
        },
    )
    events = await reply(model_server, tmp_path)
    usage = Usage(
        input_tokens=20,
        output_tokens=7,
        cache_read_input_tokens=5,
        cache_creation_input_tokens=3,
    )
    started = events[0]
    assert isinstance(started, ReplyStarted)
    assert started.message_id.startswith("msg_")
    assert started.model == "claude-sonnet-5-5"
    thought = ThinkingBlock(thinking="First look.", signature=sign("First look."))
    call = ToolUseBlock(id="toolu_1", name="Read", input={"file_path": "a.py"})
    assert events[1:] == [
        ReplyThinking(index=0, text="First lo"),
        ReplyThinking(index=0, text="ok."),
        ReplyBlock(index=0, block=thought),
        ReplyBlock(index=1, block=RedactedThinkingBlock(data="b3BhcXVl")),
        ReplyText(index=2, text="I will r"),
        ReplyText(index=2, text="ead."),
        ReplyBlock(index=2, block=TextBlock(text="I will read.")),
        ReplyToolStarted(index=3, tool_use_id="toolu_1", name="Read"),
        ReplyToolInput(index=3, tool_use_id="toolu_1", partial_json='{"file_p'),
        ReplyToolInput(index=3, tool_use_id="toolu_1", partial_json='ath": "a'),
        ReplyToolInput(index=3, tool_use_id="toolu_1", partial_json='.py"}'),
        ReplyBlock(index=3, block=call),
        ReplyFinished(stop_reason="tool_use", usage=usage),
    ]


async def test_text_arrives_while_the_server_still_holds_the_rest_back(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    script(model_server, {"text": "Early."}, {"wait_for": "rest"}, {"text": "Late."})
    client = model_server.client(tmp_path)
    seen: list[str] = []
    async for event in client.stream(a_request()):
        if isinstance(event, ReplyBlock) and isinstance(event.block, TextBlock):
            seen.append(event.block.text)
            if seen == ["Early."]:
                model_server.release("rest")
    await client.close()
    assert seen == ["Early.", "Late."]


@pytest.mark.parametrize("raw", ["{not json", '{"type": "content_block_delta"}', "\ufffd"])
async def test_an_event_that_breaks_the_protocol_ends_the_reply(
    model_server: ScriptedServer, tmp_path: Path, raw: str
) -> None:
    script(model_server, {"text": "ok"}, {"raw": raw})
    events = await reply(model_server, tmp_path)
    assert kinds(events) == ["started", "text", "block", "failed"]
    last = events[-1]
    assert isinstance(last, ReplyFailed)
    assert last.kind is ModelErrorKind.PROTOCOL


async def test_events_sent_twice_change_nothing(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    script(
        model_server,
        {"again": True},
        {"tool": "Read", "input": {}, "id": "toolu_1"},
        {"again": True},
        {"event": {"type": "message_stop"}},
        {"event": {"type": "message_stop"}},
    )
    events = await reply(model_server, tmp_path)
    assert kinds(events) == ["started", "tool_started", "tool_input", "block", "finished"]


async def test_unknown_events_and_blocks_are_skipped_and_pings_too(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    script(
        model_server,
        {"ping": True},
        {"event": {"type": "mood", "value": "good"}},
        {"content_block": {"type": "server_tool_use", "id": "x", "name": "web", "input": {}}},
        {
            "event": {
                "type": "content_block_delta",
                "index": 9,
                "delta": {"type": "citations_delta"},
            }
        },
        {"text": "Still here."},
    )
    events = await reply(model_server, tmp_path)
    assert kinds(events) == ["started", "text", "text", "block", "finished"]
    assert events[3] == ReplyBlock(index=1, block=TextBlock(text="Still here."))


@pytest.mark.parametrize(
    "raw", ['{"a": ', "[1]", '"text"', '{"a": NaN}', '{"a": 1} trailing', "nothing"]
)
async def test_tool_input_that_is_no_json_object_is_handed_over_as_it_is(
    model_server: ScriptedServer, tmp_path: Path, raw: str
) -> None:
    script(model_server, {"tool": "Write", "raw_input": raw, "id": "toolu_1"})
    events = await reply(model_server, tmp_path)
    (block,) = [event for event in events if isinstance(event, ReplyBlock)]
    assert block.block == ToolUseBlock(id="toolu_1", name="Write", input={})
    assert block.broken_input == raw


async def test_a_tool_without_any_input_gets_an_empty_object(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    script(model_server, {"tool": "Variables", "raw_input": "", "id": "toolu_1"})
    events = await reply(model_server, tmp_path)
    assert kinds(events) == ["started", "tool_started", "block", "finished"]
    block = events[2]
    assert isinstance(block, ReplyBlock)
    assert block.broken_input is None


async def test_input_cut_by_the_output_limit_is_broken_and_the_stop_reason_says_why(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    script(
        model_server,
        {"tool": "Write", "raw_input": '{"path":"a.py","content":"print('},
        stop_reason="max_tokens",
    )
    events = await reply(model_server, tmp_path)
    block, last = events[-2], events[-1]
    assert isinstance(block, ReplyBlock)
    assert block.broken_input == '{"path":"a.py","content":"print('
    assert isinstance(last, ReplyFinished)
    assert last.stop_reason == "max_tokens"


async def test_half_a_character_from_the_server_is_replaced(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    delta = {"type": "text_delta", "text": "x\ud83c"}
    script(
        model_server,
        {"text": "a", "upto": 1},
        {"event": {"type": "content_block_delta", "index": 0, "delta": delta}},
        {"event": {"type": "content_block_stop", "index": 0}},
        {"tool": "Write", "raw_input": '{"a": "\\ud83c"}', "id": "toolu_1"},
    )
    events = await reply(model_server, tmp_path)
    blocks = [event.block for event in events if isinstance(event, ReplyBlock)]
    assert blocks == [
        TextBlock(text="ax�"),
        ToolUseBlock(id="toolu_1", name="Write", input={"a": "�"}),
    ]


async def test_a_line_of_many_megabytes_is_read(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    script(model_server, {"text": "x" * 3_000_000}, chunk=2_000_000)
    events = await reply(model_server, tmp_path)
    assert kinds(events) == ["started", "text", "text", "block", "finished"]


async def test_cancelling_closes_the_connection_at_once(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    script(model_server, {"text": "Let me think"}, {"wait_for": "never"})
    client = model_server.client(tmp_path)
    began = asyncio.Event()

    async def read() -> None:
        async for event in client.stream(a_request()):
            if isinstance(event, ReplyText):
                began.set()

    task = asyncio.create_task(read())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (exchange,) = model_server.exchanges
    assert await asyncio.to_thread(exchange.finished.wait, 10)
    assert exchange.end == "client_gone"
    await client.close()


async def test_leaving_a_reply_early_closes_the_connection(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    script(model_server, {"text": "Long story"}, {"wait_for": "never"})
    client = model_server.client(tmp_path)
    stream = client.stream(a_request())
    async with aclosing(stream):  # type: ignore[type-var]
        await anext(stream)
    (exchange,) = model_server.exchanges
    assert await asyncio.to_thread(exchange.finished.wait, 10)
    assert exchange.end == "client_gone"
    await client.close()


async def test_a_connection_serves_many_replies(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    script(model_server, {"text": "ok"})
    client = model_server.client(tmp_path)
    for _ in range(3):
        check_reply([event async for event in client.stream(a_request())])
    await client.close()
    assert len({exchange.connection for exchange in model_server.exchanges}) == 1


async def test_a_server_that_knows_no_thinking_is_asked_once_and_then_without(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    script(model_server, {"text": "ok"})
    model_server.fail_next(Fault(status=400, message="thinking: unsupported parameter"))
    client = model_server.client(tmp_path)
    request = a_request().model_copy(update={"thinking_budget": 2_000})
    for _ in range(2):
        check_reply([event async for event in client.stream(request)])
    assert ["thinking" in body for body in model_server.requests] == [True, False, False]
    assert not (await client.capabilities(request.model)).thinking
    await client.close()


async def test_a_character_split_over_two_pieces_arrives_whole(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    halves = ["a\ud83d", "\ude00b"]
    deltas = [{"type": "text_delta", "text": half} for half in halves]
    script(
        model_server,
        {"content_block": {"type": "future"}},
        {"event": {"type": "content_block_start", "index": 7, "content_block": {"type": "text"}}},
        *({"event": {"type": "content_block_delta", "index": 7, "delta": d}} for d in deltas),
    )
    events = await reply(model_server, tmp_path)
    assert events[1:-1] == [
        ReplyText(index=7, text="a"),
        ReplyText(index=7, text="😀b"),
        ReplyBlock(index=7, block=TextBlock(text="a😀b")),
    ]
