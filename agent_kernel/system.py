"""The machine's own clock and the source of unguessable ids."""

from __future__ import annotations

import asyncio
import secrets
import time
from datetime import UTC, datetime


class SystemClock:
    """Real time (the ``Clock`` seam)."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class RandomIds:
    """Ids of 96 random bits (the ``Ids`` seam)."""

    def new(self, prefix: str) -> str:
        return f"{prefix}_{secrets.token_hex(12)}"


def iso(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
