"""When a conversation is summarised without being asked, and when that is given up (SPEC C1)."""

from __future__ import annotations

MAX_FAILURES = 3
"""In a row, of any kind; a summary that frees too little is one as well."""


class Breaker:
    """One per conversation."""

    def __init__(self) -> None:
        self._failures = 0
        self._replied = True

    @property
    def is_open(self) -> bool:
        """Whether it is given up."""
        return self._failures >= MAX_FAILURES

    def allows(self) -> bool:
        """Not again before the model has replied once."""
        return self._replied and not self.is_open

    def replied(self) -> None:
        self._replied = True

    def failed(self) -> None:
        self._failures += 1
        self._replied = False

    def compacted(self, *, useful: bool) -> None:
        self._failures = 0 if useful else self._failures + 1
        self._replied = False
