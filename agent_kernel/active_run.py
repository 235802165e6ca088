"""A run that is on: stamps, records and hands out its events; one reader, many sinks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from agent_kernel.events import Event, RunFinished
from agent_kernel.loop.control import RunControl
from agent_kernel.protocols import Clock, EventSink
from agent_kernel.store.run_log import Backlog, RunLog
from agent_kernel.vocabulary import RunEnd


class ActiveRun:
    """The run goes on in a task of its own, so that it ends in order when its reader leaves."""

    def __init__(
        self,
        log: RunLog,
        control: RunControl,
        *,
        clock: Clock,
        sinks: Callable[[], tuple[EventSink, ...]],
        on_end: Callable[[RunLog], None] = lambda log: None,  # noqa: ARG005
    ) -> None:
        self.log = log
        self.control = control
        self._clock = clock
        self._sinks = sinks
        self._on_end = on_end
        self._seq = 0
        self._backlog = Backlog()
        self._task: asyncio.Task[None] | None = None

    @property
    def run_id(self) -> str:
        return self.log.run_id

    @property
    def is_over(self) -> bool:
        """Whether its last event was told."""
        return self.log.end is not None

    def tell(self, event: Event) -> None:
        """Stamp, record and pass on; nothing follows ``run_finished``."""
        if self.is_over:
            return
        self._seq += 1
        stamped = event.model_copy(
            update={"run_id": self.run_id, "seq": self._seq, "at": self._clock.now()}
        )
        self.log.record(stamped)
        self._backlog.put(stamped)
        for sink in self._sinks():
            # Sinks promise not to raise; one that breaks its word must not break the run.
            with contextlib.suppress(Exception):
                sink.emit(stamped)

    def start(self, events: Callable[[], AsyncIterator[Event]]) -> None:
        """Begin to pull events; ``events`` is called in the task of the run."""
        self._task = asyncio.create_task(self._pump(events))

    async def _pump(self, events: Callable[[], AsyncIterator[Event]]) -> None:
        try:
            async for event in events():
                self.tell(event)
        except asyncio.CancelledError:
            self.tell(RunFinished(end=RunEnd.ABORTED_STREAMING, detail="The event loop ended."))
            raise
        except Exception as error:
            detail = f"Internal error: {type(error).__name__}: {error}"
            self.tell(RunFinished(end=RunEnd.MODEL_ERROR, detail=detail))
            raise
        finally:
            self._on_end(self.log)
            self._backlog.close()

    async def read(self) -> AsyncGenerator[Event, None]:
        """The recorded events; raises what a programmer's error raised. Leaving it ends the run."""
        try:
            while (event := await self._backlog.take()) is not None:
                yield event
            if self._task is not None:
                await self._task
        finally:
            await self.end()

    async def end(self) -> bool:
        """Stop it if it is on and wait until it is over (within about a second)."""
        task = self._task
        if task is None or task.done():
            return False
        stopped = self.control.stop()
        if task is not asyncio.current_task():
            await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # its reader has it, or has gone away
        return stopped
