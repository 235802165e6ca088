"""Hooks that answer what a test tells them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from agent_kernel.protocols import HookOutcome


class ScriptedHooks:
    """For each event its outcomes in order, then for ever the empty one.

    ``asked`` lists the events with their payloads.
    """

    def __init__(self, outcomes: Mapping[str, Iterable[HookOutcome]] | None = None) -> None:
        self._outcomes = {event: list(told) for event, told in (outcomes or {}).items()}
        self.asked: list[tuple[str, dict[str, JsonValue]]] = []

    async def run(self, event: str, payload: dict[str, JsonValue]) -> HookOutcome:
        """The next outcome for the event."""
        self.asked.append((event, payload))
        left = self._outcomes.get(event)
        return left.pop(0) if left else HookOutcome()
