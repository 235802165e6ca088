"""When a conversation is summarised without being asked, and when that is given up (SPEC C1)."""

from __future__ import annotations

MAX_FAILURES = 3
"""In a row, of any kind; a summary that brings less than two replies is one as well."""


class Breaker:
    """One per conversation."""

    def __init__(self) -> None:
        self._failures = 0
        self._replies = 2

    @property
    def is_open(self) -> bool:
        """Whether it is given up."""
        return self._failures >= MAX_FAILURES

    def allows(self) -> bool:
        """Not again before the model has replied once."""
        return self._replies > 0 and not self.is_open

    def replied(self) -> None:
        self._replies += 1

    def failed(self) -> None:
        self._failures += 1
        self._replies = 0

    def compacted(self, *, useful: bool) -> None:
        """``useful``: there is room now. If one reply had filled it, the one before was of none."""
        self._failures = 0 if useful and self._replies > 1 else self._failures + 1
        self._replies = 0
