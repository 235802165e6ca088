"""The handle on a run that is on: stop it, steer it, change its mode."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator

from agent_kernel.events import Event
from agent_kernel.vocabulary import PermissionMode


class Outbox:
    """Events on their way to the reader of a run. Telling never blocks; any thread may tell."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._closed = False

    def tell(self, event: Event) -> None:
        """Queue an event; after the end it is dropped."""
        if threading.get_ident() == self._thread:
            self._put(event)
            return
        try:
            self._loop.call_soon_threadsafe(self._put, event)
        except RuntimeError:  # the loop has closed: nobody is left to be told
            return

    def _put(self, event: Event | None) -> None:
        if not self._closed:
            self._queue.put_nowait(event)

    def close(self) -> None:
        """No event follows."""
        self._put(None)
        self._closed = True

    async def drain(self) -> AsyncIterator[Event]:
        """The events in order until the outbox is closed."""
        while (event := await self._queue.get()) is not None:
            yield event


class RunControl:
    """One per run. ``steer`` may be called from any thread, the rest on the loop of the run."""

    def __init__(self, mode: PermissionMode = "default") -> None:
        self.mode: PermissionMode = mode
        self._lock = threading.Lock()
        self._texts: deque[str] = deque()
        self._accepts = True
        self._task: asyncio.Task[object] | None = None
        self._stopped = False

    @property
    def stopped(self) -> bool:
        """Whether somebody asked for the end of this run."""
        return self._stopped

    def bind(self, task: asyncio.Task[object] | None) -> None:
        """The engine names its task, which :meth:`stop` cancels.

        It does so from inside, because a task cancelled before its first step never runs.
        """
        self._task = task

    def stop(self) -> bool:
        """End the run, once; False if it has ended already or is about to."""
        if self._stopped or (self._task is not None and self._task.done()):
            return False
        self._stopped = True
        if self._task is not None:
            self._task.cancel()
        return True

    def steer(self, text: str) -> bool:
        """Queue text for the run's next step; False if the run takes no more."""
        with self._lock:
            if self._accepts:
                self._texts.append(text)
            return self._accepts

    def take(self) -> list[str]:
        """What was queued since the last time."""
        with self._lock:
            taken = list(self._texts)
            self._texts.clear()
            return taken

    def take_or_close(self) -> list[str]:
        """The same at the end of a run: with nothing queued, nothing more is accepted."""
        with self._lock:
            taken = list(self._texts)
            self._texts.clear()
            self._accepts = bool(taken)
            return taken

    def close(self) -> list[str]:
        """Accept no more; returns what nobody will see."""
        with self._lock:
            self._accepts = False
            left = list(self._texts)
            self._texts.clear()
            return left
