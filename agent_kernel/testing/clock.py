"""A clock and ids that make event logs byte-stable."""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter


class FakeClock:
    """Time moves only when somebody sleeps or a test calls :meth:`advance`.

    With ``jump`` (the default) a sleep ends at once and moves the time by its length; without, it
    waits for :meth:`advance`. ``slept`` lists the lengths asked for, in seconds.
    """

    def __init__(self, start: float = 1_000_000.0, *, jump: bool = True) -> None:
        self._now = start
        self._jump = jump
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self.slept: list[float] = []

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self._jump:
            self._now += seconds
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (self._now + seconds, len(self.slept), future))
        await future

    def advance(self, seconds: float) -> None:
        """Move the time and wake who has slept long enough."""
        self._now += seconds
        while self._waiting and self._waiting[0][0] <= self._now:
            _, _, future = heapq.heappop(self._waiting)
            if not future.done():
                future.set_result(None)


class CountingIds:
    """``run_1``, ``run_2``, ``ask_1`` … per prefix."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def new(self, prefix: str) -> str:
        self._counts[prefix] += 1
        return f"{prefix}_{self._counts[prefix]}"
