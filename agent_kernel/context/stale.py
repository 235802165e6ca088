"""Microcompact (SPEC C3): old results of tools that can be called again become placeholders.

Only when nobody has asked the endpoint for a while, so that its cache of the old bytes is gone
anyway. Decided by the times the messages carry: after a resume the same results are cleared.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from agent_kernel.messages import (
    AssistantMessage,
    Message,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

REPEATABLE = frozenset({"Read", "Grep", "Glob", "Bash", "WebFetch", "Python"})
KEPT = 5
COLD_AFTER = 300.0
"""Seconds after the newest reply until the cache counts as cold."""

PLACEHOLDER = TextBlock(
    text="[An old result, left out to save room. Call the tool again if you need it.]"
)


class StaleResults:
    """Follows a conversation; ``cleared`` holds the ids of the calls whose results are left out."""

    def __init__(
        self, canonical: Callable[[str], str] = lambda name: name, cold_after: float = COLD_AFTER
    ) -> None:
        self.cleared: set[str] = set()
        self._canonical = canonical
        self._cold_after = cold_after
        self._calls: set[str] = set()
        self._results: list[str] = []
        self._replied: float | None = None
        self._newest: float | None = None

    def see(self, message: Message) -> None:
        """The next message of the conversation."""
        if isinstance(message, AssistantMessage):
            self.clear_if_cold()  # a request was made just before
            self._calls.update(
                block.id
                for block in message.content
                if isinstance(block, ToolUseBlock) and self._canonical(block.name) in REPEATABLE
            )
        elif isinstance(message, UserMessage):
            self._results += [
                block.tool_use_id
                for block in message.content
                if isinstance(block, ToolResultBlock) and block.tool_use_id in self._calls
            ]
        self._newest = _seconds(message.timestamp) or self._newest
        if isinstance(message, AssistantMessage):
            self._replied = self._newest

    def clear_if_cold(self) -> set[str]:
        """Before a request: the ids that are cleared from now on."""
        if self._replied is None or self._newest is None:
            return set()
        if self._newest - self._replied < self._cold_after:
            return set()
        fresh = set(self._results[:-KEPT])
        del self._results[:-KEPT]
        self.cleared |= fresh
        return fresh


def _seconds(timestamp: str) -> float | None:
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except ValueError:
        return None
