"""Which thinking an endpoint complains about: that of one turn, as a whole (CASES 62)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_kernel.messages import RedactedThinkingBlock, TextBlock, ThinkingBlock
from agent_kernel.model_types import ApiMessage

_PLACE = re.compile(r"messages\.(\d+)")


def thinking_at(messages: Sequence[ApiMessage], complaint: str) -> frozenset[str]:
    """The signatures of the thinking in the turn a complaint names; of all, if it names none.

    A turn reaches from one text of the person to the next: its thinking stays or goes together.
    """
    match = _PLACE.search(complaint)
    place = int(match[1]) if match else len(messages)
    if place < len(messages):
        start = place
        while start > 0 and not _begins_turn(messages[start]):
            start -= 1
        end = place + 1
        while end < len(messages) and not _begins_turn(messages[end]):
            end += 1
        found = _signatures(messages[start:end])
        if found:
            return found
    return _signatures(messages)


def _begins_turn(message: ApiMessage) -> bool:
    return message.role == "user" and any(isinstance(b, TextBlock) for b in message.content)


def _signatures(messages: Sequence[ApiMessage]) -> frozenset[str]:
    return frozenset(
        block.signature if isinstance(block, ThinkingBlock) else block.data
        for message in messages
        for block in message.content
        if isinstance(block, ThinkingBlock | RedactedThinkingBlock)
    )
