"""Gates: tests set an order by them instead of by time."""

from __future__ import annotations

import asyncio
import threading


class Gates:
    """Named gates, shut until released, then open for good. Any thread, unless said otherwise."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: dict[str, threading.Event] = {}
        self._reached: dict[str, threading.Event] = {}
        self._waiters: list[asyncio.Event] = []

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """The server's loop."""
        with self._lock:
            self._loop = loop

    def release(self, name: str) -> None:
        """Open a gate; a reply that comes later passes it at once."""
        self._set(self._open, name)

    def reached(self, name: str, timeout: float = 30.0) -> bool:
        """Block until a reply waits at the gate; false if none came within ``timeout`` seconds."""
        return self._event(self._reached, name).wait(timeout)

    async def arrival(self, name: str) -> None:
        """Like :meth:`reached`, on the server's loop and without end."""
        await self._until(self._event(self._reached, name))

    async def wait(self, name: str) -> None:
        """Wait at the gate, on the server's loop."""
        self._set(self._reached, name)
        await self._until(self._event(self._open, name))

    async def _until(self, event: threading.Event) -> None:
        changed = asyncio.Event()
        self._waiters.append(changed)
        try:
            while not event.is_set():
                changed.clear()
                await changed.wait()
        finally:
            self._waiters.remove(changed)

    def _event(self, events: dict[str, threading.Event], name: str) -> threading.Event:
        with self._lock:
            return events.setdefault(name, threading.Event())

    def _set(self, events: dict[str, threading.Event], name: str) -> None:
        self._event(events, name).set()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for waiter in self._waiters:
            waiter.set()
