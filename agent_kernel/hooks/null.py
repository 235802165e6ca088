"""Hooks where none are configured."""

from __future__ import annotations

from pydantic import JsonValue

from agent_kernel.protocols import HookOutcome


class NullHooks:
    """Lets everything pass (the ``Hooks`` seam)."""

    async def run(self, event: str, payload: dict[str, JsonValue]) -> HookOutcome:
        del event, payload
        return HookOutcome()
