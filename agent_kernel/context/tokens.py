"""How many tokens a conversation holds: what the API last said, and a guess at what came after.

Never a rescan: the search goes back to the newest reply that carries usage (SPEC C7).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from agent_kernel.messages import (
    AssistantMessage,
    AttachmentMessage,
    ImageBlock,
    Message,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    UserMessage,
)
from agent_kernel.model_types import SystemBlock, ToolSpec

CHARS_PER_TOKEN = 3.5
"""On the low side: code and data have short tokens, and a guess should not be too small."""

IMAGE_TOKENS = 1_600


def estimate_text(text: str) -> int:
    """A guess for a text, rounded up."""
    return int(len(text) / CHARS_PER_TOKEN) + 1 if text else 0


def estimate_fixed(system: Iterable[SystemBlock], tools: Iterable[ToolSpec]) -> int:
    """A guess for what stands before the messages."""
    texts = [block.text for block in system]
    texts += [t.name + t.description + json.dumps(t.input_schema) for t in tools]
    return sum(map(estimate_text, texts))


def estimate_message(message: Message) -> int:
    """A guess for one message as it would be sent."""
    match message:
        case UserMessage() | AssistantMessage() | AttachmentMessage():
            return sum(estimate_block(block) for block in message.content)
        case SystemMessage(is_command_output=True):
            return estimate_text(message.text)
        case _:
            return 0


class TokenCount:
    """Tokens of the next request, kept up to date message by message."""

    def __init__(self) -> None:
        self._told: int | None = None
        self._guessed = 0

    def start(self, messages: Sequence[Message], outdated: Collection[str] = frozenset()) -> None:
        """Begin with a conversation; looks back to the newest reply that carries usage.

        ``outdated``: uuids of replies whose usage tells of what is not sent any more.
        """
        self._told, self._guessed = None, 0
        for message in reversed(messages):
            if (
                isinstance(message, AssistantMessage)
                and message.usage.total_input
                and message.uuid not in outdated
            ):
                self._told = message.usage.total_input + message.usage.output_tokens
                return
            self._guessed += estimate_message(message)

    def add(self, message: Message) -> None:
        self._guessed += estimate_message(message)

    def free(self, tokens: int) -> None:
        """So many tokens of what was counted are not sent any more."""
        self._guessed -= tokens

    def told(self, usage: Usage) -> None:
        """What the API said of the newest request and its reply; some servers say nothing."""
        if usage.total_input:
            self._told = usage.total_input + usage.output_tokens
            self._guessed = 0

    def total(self, fixed: int = 0) -> int:
        """``fixed``: system prompt and tools, good until a reply has told."""
        return max(0, (fixed if self._told is None else self._told) + self._guessed)


def count_tokens(messages: Sequence[Message], *, fixed: int = 0) -> int:
    """Tokens of the next request. ``fixed``: system prompt and tools, if nothing is known yet."""
    count = TokenCount()
    count.start(messages)
    return count.total(fixed)


def estimate_block(block: object) -> int:
    match block:
        case TextBlock():
            return estimate_text(block.text)
        case ImageBlock():
            return IMAGE_TOKENS
        case ThinkingBlock():
            return estimate_text(block.thinking)
        case ToolUseBlock():
            return estimate_text(block.name) + estimate_text(json.dumps(block.input))
        case ToolResultBlock():
            return sum(estimate_block(inner) for inner in block.content)
        case _:
            return 0
