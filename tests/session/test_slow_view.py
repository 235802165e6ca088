"""Long runs and readers that lag: neither waits for the other, and nothing piles up."""

from __future__ import annotations

import asyncio
from typing import Any

from agent_kernel.active_run import ActiveRun
from agent_kernel.events import Event, RunFinished, TextDelta, ToolFinished
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.store.run_log import Backlog
from agent_kernel.testing.tools import FakeGate, FakeTool
from tests.support.session import Maker

CALLS = 300


class Patient:
    """A view that takes events without looking at them."""

    def __init__(self) -> None:
        self.finished = asyncio.Event()
        self.count = 0

    def emit(self, event: Event) -> None:
        self.count += 1
        if isinstance(event, RunFinished):
            self.finished.set()


async def test_a_run_of_three_hundred_calls_does_not_wait_for_its_reader(
    make: Maker, model_server: ScriptedServer
) -> None:
    words = {"text": "One letter at a time, and a lot of them. " * 3}
    steps: list[Any] = [
        {"blocks": [words, *({"tool": "W", "input": {"n": n}} for n in range(10))], "chunk": 1}
    ] * (CALLS // 10)
    model_server.script([{"contains": "go", "steps": [*steps, "Done."]}])
    tool = FakeTool("W")
    view = Patient()
    session = make(tools=(tool,), gate=FakeGate(), sinks=(view,))
    events = session.run("go")
    first = await anext(events)
    await view.finished.wait()  # nobody has read a second event
    assert len(tool.calls) == CALLS
    active = session._active
    assert isinstance(active, ActiveRun)
    kept = session.snapshot().runs[-1].events
    waiting = len(active._backlog)
    assert waiting <= len(kept) + Backlog.PATIENCE < view.count
    seen = [first, *[event async for event in events]]
    assert len(seen) == waiting + 1
    assert [e.tool_use_id for e in seen if isinstance(e, ToolFinished)] == [
        e.tool_use_id for e in kept if isinstance(e, ToolFinished)
    ]
    text = "".join(e.text for e in seen if isinstance(e, TextDelta))
    assert text == words["text"] * (CALLS // 10) + "Done."
    assert [e.seq for e in seen] == sorted({e.seq for e in seen})
    assert isinstance(seen[-1], RunFinished)


async def test_a_reader_that_keeps_up_sees_every_event_as_it_was_told() -> None:
    backlog = Backlog()
    told = [TextDelta(message_id="m", index=0, text=str(n), seq=n) for n in range(5)]
    for event in told:
        backlog.put(event)
    backlog.close()
    assert [await backlog.take() for _ in range(6)] == [*told, None]


async def test_deltas_of_two_blocks_are_not_mixed_while_they_wait() -> None:
    backlog = Backlog()
    for n in range(500):
        backlog.put(TextDelta(message_id="m", index=(n // 100) % 2, text="x", seq=n))
    assert len(backlog) <= Backlog.PATIENCE + 5
    backlog.close()
    seen: list[TextDelta] = []
    while (event := await backlog.take()) is not None:
        assert isinstance(event, TextDelta)
        seen.append(event)
    assert sum(len(event.text) for event in seen) == 500
    assert [event.index for event in seen][-4:] == [1, 0, 1, 0]
    assert seen[-1].seq == 499
