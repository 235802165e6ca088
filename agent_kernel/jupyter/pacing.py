"""Keeps large answers under the server's limit of about 1 MB a second on output (CASES 49).

What is over the limit the server drops without a word, so a long message is sent in time instead.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from agent_kernel.jupyter.paging import JsonObject

BURST = 1_500_000  # bytes at once; the server counts over three seconds
RATE = 700_000  # bytes a second after that; cells print as well


class PacedSender:
    """Sends in order, at once while there is room. Belongs to one event loop."""

    def __init__(self, send: Callable[[JsonObject], None]) -> None:
        self._send = send
        self._waiting: deque[tuple[JsonObject, int]] = deque()
        self._room = float(BURST)
        self._seen: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def put(self, data: JsonObject, size: int) -> None:
        self._waiting.append((data, size))
        if self._timer is None:
            self._drain()

    def close(self) -> None:
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _drain(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._seen is not None:
            self._room = min(float(BURST), self._room + (now - self._seen) * RATE)
        self._seen = now
        while self._waiting:
            data, size = self._waiting[0]
            if size > self._room:
                delay = (min(size, BURST) - self._room) / RATE
                self._timer = loop.call_later(max(delay, 0.01), self._drain)
                return
            self._waiting.popleft()
            self._room -= size
            self._send(data)
