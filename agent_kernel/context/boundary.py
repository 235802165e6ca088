"""Which of the stored messages count: those after the last compact, without dead ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent_kernel.messages import (
    CompactBoundary,
    Message,
    ProgressMessage,
    SystemMessage,
    TombstoneMessage,
)


def after_boundary(messages: Sequence[Message]) -> list[Message]:
    """The messages after the last compact boundary (SPEC L2.1).

    Those that the boundary keeps come right after its summary.
    """
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, CompactBoundary):
            after = list(messages[index + 1 :])
            return [*after[:1], *_kept(messages, index, set(message.kept)), *after[1:]]
    return list(messages)


def _kept(messages: Sequence[Message], end: int, wanted: set[str]) -> list[Message]:
    """Looks back from the boundary; they are near."""
    found: list[Message] = []
    while wanted and end > 0:
        end -= 1
        message = messages[end]
        if message.uuid in wanted:
            wanted.discard(message.uuid)
            found.append(message)
    return found[::-1]


def snipped(messages: Iterable[Message]) -> list[Message]:
    """Without what is never sent: progress, notes for the person, what was withdrawn (SPEC C4)."""
    messages = list(messages)
    dead = {m.target_uuid for m in messages if isinstance(m, TombstoneMessage)}
    return [m for m in messages if is_sent(m) and (m.uuid not in dead or not m.uuid)]


def is_sent(message: Message) -> bool:
    """Whether a message of its type is for the model at all."""
    if isinstance(message, SystemMessage):
        return message.is_command_output
    return not isinstance(message, ProgressMessage | TombstoneMessage | CompactBoundary)
