"""The signal that ends a run from anywhere inside it."""

from __future__ import annotations

from agent_kernel.vocabulary import RunEnd

STOPPED = "Interrupted by the user."


class Ended(Exception):
    """Carries one of the ends (SPEC L3) and, for the person, what happened."""

    def __init__(self, end: RunEnd, detail: str = "") -> None:
        super().__init__(detail)
        self.end = end
        self.detail = detail
