"""The conversation as the loop sees it: append only, every message stored as it is added."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agent_kernel.context.normalise import Repairs
from agent_kernel.messages import (
    AssistantMessage,
    Message,
    TextBlock,
    TombstoneMessage,
    ToolUseBlock,
    UserContent,
    UserMessage,
)
from agent_kernel.protocols import Clock, Ids
from agent_kernel.system import iso


class Conversation:
    """Owned by a session (or a sub-agent); one run at a time writes to it.

    ``repairs`` are what an endpoint made us change in what is sent; the messages stay as they are.
    """

    def __init__(
        self,
        messages: Iterable[Message] = (),
        *,
        clock: Clock,
        ids: Ids,
        on_append: Callable[[Message], None] | None = None,
    ) -> None:
        self.messages: list[Message] = list(messages)
        self.repairs = Repairs()
        self._clock = clock
        self._ids = ids
        self._on_append = on_append
        self._names: set[str] = set()
        for message in self.messages:
            self._note(message)

    def _note(self, message: Message) -> None:
        if isinstance(message, AssistantMessage):
            self._names.add(message.message_id)
            self._names.update(b.id for b in message.content if isinstance(b, ToolUseBlock))

    def unique(self, name: str, prefix: str) -> str:
        """``name``, or a variant if a message or call of this conversation has it (CASES 65)."""
        chosen = name or self._ids.new(prefix)
        number = 2
        while chosen in self._names:
            chosen = f"{name or prefix}_{number}"
            number += 1
        self._names.add(chosen)
        return chosen

    def add(self, message: Message) -> None:
        """Append a message made elsewhere; its uuid, parent and time are set here."""
        stamped = message.model_copy(
            update={
                "uuid": message.uuid or self._ids.new("m"),
                "parent_uuid": self.messages[-1].uuid if self.messages else None,
                "timestamp": message.timestamp or iso(self._clock.now()),
            }
        )
        self._note(stamped)
        self.messages.append(stamped)
        if self._on_append is not None:
            self._on_append(stamped)

    def add_user(self, content: tuple[UserContent, ...], *, meta: bool = False) -> None:
        """Append what the person said, or with ``meta`` what was added for the model."""
        self.add(UserMessage(uuid="", content=content, is_meta=meta))

    def withdraw_turn(self, reason: str) -> None:
        """Leave the newest turn out of later requests, as if the person had not said it.

        What was attached stays: its sources count it as seen.
        """
        start = len(self.messages) - 1
        while start > 0 and not _is_prompt(self.messages[start]):
            start -= 1
        for message in self.messages[start:]:
            if isinstance(message, UserMessage | AssistantMessage):
                self.add(TombstoneMessage(uuid="", target_uuid=message.uuid, reason=reason))


def _is_prompt(message: Message) -> bool:
    """Whether a person's words begin here."""
    return (
        isinstance(message, UserMessage)
        and not message.is_meta
        and any(isinstance(block, TextBlock) for block in message.content)
    )
