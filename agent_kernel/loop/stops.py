"""Where the model would stop: hooks may send it on (SPEC L2.9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import JsonValue

from agent_kernel.events import Event, Notice
from agent_kernel.loop.call import STOPPED_BY_HOOK, one_line
from agent_kernel.loop.ends import Ended
from agent_kernel.protocols import HookOutcome, Hooks
from agent_kernel.tool_types import ToolContext
from agent_kernel.vocabulary import RunEnd

MAX_BLOCKS = 8
"""How often in a row hooks may refuse the end."""

NO_REASON = "A hook says that you are not done yet."


@dataclass
class StopHooks:
    """Asks the hooks at each end of one run."""

    hooks: Hooks
    tell: Callable[[Event], None]
    _blocks: int = 0

    async def objection(self, answer: str, context: ToolContext) -> str | None:
        """Why the model must go on, in words for it; None: it may end. Raises ``Ended``."""
        outcome = await self._ask(answer, context)
        for text in outcome.messages:
            self.tell(Notice(agent_id=context.agent_id, code="hook", text=text))
        if outcome.stop is not None:
            raise Ended(RunEnd.HOOK_STOPPED, outcome.stop or STOPPED_BY_HOOK)
        reasons = [outcome.block or NO_REASON] if outcome.block is not None else []
        reasons += outcome.additional_context
        if not reasons:
            self._blocks = 0
            return None
        self._blocks += 1
        if self._blocks > MAX_BLOCKS:
            text = f"Hooks refused the end {MAX_BLOCKS} times in a row. The last said: {reasons[0]}"
            raise Ended(RunEnd.HOOK_STOPPED, text)
        return "\n\n".join(reasons)

    async def _ask(self, answer: str, context: ToolContext) -> HookOutcome:
        payload: dict[str, JsonValue] = {
            "session_id": context.session_id,
            "agent_id": context.agent_id,
            "cwd": str(context.cwd),
            "permission_mode": context.mode,
            "stop_hook_active": self._blocks > 0,
            "last_assistant_message": answer,
        }
        event = "Stop" if context.agent_id == "main" else "SubagentStop"
        try:
            return await self.hooks.run(event, payload)
        except Exception as error:  # noqa: BLE001 - a broken hook must not hold or break a run
            text = f"The hooks for the end of a turn failed: {one_line(error)}"
            return HookOutcome(messages=(text,))
