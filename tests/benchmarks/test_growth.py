"""What a turn costs in a conversation that has grown: ratios within one run."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_kernel import AgentSession
from agent_kernel.events import RunFinished
from agent_kernel.messages import TextBlock, ToolUseBlock, Usage
from agent_kernel.model.capabilities import UNKNOWN
from agent_kernel.model.request import WrittenMessages, build_body
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.model_types import (
    Capabilities,
    ModelRequest,
    ReplyBlock,
    ReplyEvent,
    ReplyFinished,
    ReplyStarted,
)
from agent_kernel.testing.tools import FakeGate, FakeTool
from agent_kernel.vocabulary import RunEnd
from agent_kernel.wire import ModelStatus

pytestmark = pytest.mark.bench

TURNS = 1_000
SAMPLE = 50


class CallingModel:
    """Asks for one call after the other without any network; ``gaps`` are seconds of ours."""

    def __init__(self) -> None:
        self.gaps: list[float] = []
        self._ended: float | None = None
        self._written = WrittenMessages()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ReplyEvent]:
        build_body(request, UNKNOWN, self._written)
        if self._ended is not None:
            self.gaps.append(time.perf_counter() - self._ended)
        number = len(self.gaps)
        yield ReplyStarted(message_id=f"m{number}", model="m")
        if number >= TURNS:
            block: TextBlock | ToolUseBlock = TextBlock(text="Done.")
        else:
            block = ToolUseBlock(id=f"t{number}", name="W", input={"n": number})
        yield ReplyBlock(index=0, block=block)
        self._ended = time.perf_counter()
        usage = Usage(input_tokens=100 + 60 * number, output_tokens=20)
        yield ReplyFinished(stop_reason=None, usage=usage)

    async def capabilities(self, model: str) -> Capabilities:
        return Capabilities(context_window=1_000_000, max_output_tokens=64_000, known=True)

    async def status(self) -> ModelStatus:
        return ModelStatus(model="m", offline=False)

    async def close(self) -> None:
        return None


async def test_the_thousandth_turn_costs_at_most_half_more_than_the_first(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    model = CallingModel()
    session = AgentSession(
        cwd=tmp_path,
        settings=model_server.settings(tmp_path),
        model_client=model,
        gate=FakeGate(),
        tools=[FakeTool("W")],
    )
    last = None
    async for event in session.run("go"):
        last = event
    await session.close()
    assert isinstance(last, RunFinished)
    assert last.end is RunEnd.COMPLETED, last.detail
    assert len(model.gaps) == TURNS
    first = statistics.median(model.gaps[5 : 5 + SAMPLE])
    newest = statistics.median(model.gaps[-SAMPLE:])
    sys.stdout.write(
        f"\na turn of ours: {1000 * first:.2f} ms at the beginning,"
        f" {1000 * newest:.2f} ms after {TURNS:,}\n"
    )
    assert newest <= 1.5 * first
