"""Long sessions: what resuming, listing and going on cost, as ratios within one run."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_kernel.messages import (
    AssistantMessage,
    Message,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_kernel.store.lines import encode_message
from agent_kernel.store.transcript import TranscriptStore
from agent_kernel.testing.clock import CountingIds, FakeClock

pytestmark = pytest.mark.bench

MANY = 100_000


def messages(turn: int) -> tuple[Message, ...]:
    """One turn with a call: four messages of a usual length."""
    call = ToolUseBlock(id=f"t{turn}", name="Read", input={"file_path": "a.py"})
    result = ToolResultBlock(tool_use_id=call.id, content=(TextBlock(text="line of text\n" * 30),))
    said = TextBlock(text="I look at it, and then I say what I found. " * 3)
    return (
        UserMessage(uuid=f"u{turn}", content=(TextBlock(text=f"question {turn} " * 5),)),
        AssistantMessage(uuid=f"a{turn}", message_id=f"m{turn}", content=(said, call)),
        UserMessage(uuid=f"r{turn}", content=(result,)),
        AssistantMessage(uuid=f"b{turn}", message_id=f"n{turn}", content=(said,)),
    )


def report(text: str) -> None:
    sys.stdout.write(f"\n{text}\n")


def store(folder: Path) -> TranscriptStore:
    return TranscriptStore(
        folder, cwd=Path("/work"), scrub=str, clock=FakeClock(), ids=CountingIds()
    )


def fill(path: Path, count: int) -> None:
    with path.open("ab") as file:
        for turn in range(count // 4):
            file.write(b"".join(encode_message(m, str) for m in messages(turn)))


def seconds(do: Callable[[], object], times: int = 3) -> float:
    """The best of some."""
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        do()
        best = min(best, time.perf_counter() - began)
    return best


def test_resume_of_a_hundred_thousand_messages_costs_hardly_more_than_reading_their_json(
    tmp_path: Path,
) -> None:
    made = store(tmp_path)
    made.open("s")
    made.close("s")
    path = tmp_path / "s.jsonl"
    fill(path, MANY)

    def bare() -> None:
        with path.open("rb") as file:
            kept = [json.loads(line) for line in file]  # kept, as a conversation is
        assert len(kept) == MANY + 1

    def resume() -> None:
        fresh = store(tmp_path)
        opened = fresh.open("s")
        assert len(opened.messages) == MANY
        assert len(fresh.runs("s", opened.messages)) == 200
        fresh.close("s")

    plain, ours = seconds(bare, 2), seconds(resume, 2)
    report(f"resume of {MANY:,} messages: {ours:.2f} s; their JSON alone, kept: {plain:.2f} s")
    assert ours <= 1.5 * plain


def test_a_message_costs_the_same_in_a_long_session_as_in_a_short_one(tmp_path: Path) -> None:
    short, long = store(tmp_path), store(tmp_path)
    short.open("short")
    long.open("long")
    fill(tmp_path / "long.jsonl", MANY)

    def appending(to: TranscriptStore, name: str) -> Callable[[], None]:
        def append() -> None:
            for turn in range(50):
                for message in messages(turn):
                    to.append(name, message)

        return append

    in_short = seconds(appending(short, "short"), 5)
    in_long = seconds(appending(long, "long"), 5)
    report(f"200 messages: {in_short * 1000:.0f} ms in a short, {in_long * 1000:.0f} ms in a long")
    assert in_long <= 1.5 * in_short


def test_a_list_of_long_sessions_costs_what_a_list_of_short_ones_costs(tmp_path: Path) -> None:
    for kind, size in (("short", 10_000), ("long", 50_000_000)):
        made = store(tmp_path / kind)
        for number in range(40):
            made.append(f"s{number}", messages(number)[0])
            with (tmp_path / kind / f"s{number}.jsonl").open("ab") as file:
                file.truncate(size)
            made.close(f"s{number}")
    short = seconds(store(tmp_path / "short").list)
    long = seconds(store(tmp_path / "long").list)
    report(f"40 sessions listed: {short * 1000:.1f} ms short, {long * 1000:.1f} ms long")
    assert long <= 3 * short
