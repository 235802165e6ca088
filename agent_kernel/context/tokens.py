"""How many tokens a conversation holds: what the API last said, and a guess at what came after.

Never a rescan: the search goes back to the newest reply that carries usage (SPEC C7).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

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
    UserMessage,
)

CHARS_PER_TOKEN = 3.5
"""On the low side: code and data have short tokens, and a guess should not be too small."""

IMAGE_TOKENS = 1_600


def estimate_text(text: str) -> int:
    """A guess for a text, rounded up."""
    return int(len(text) / CHARS_PER_TOKEN) + 1 if text else 0


def estimate_message(message: Message) -> int:
    """A guess for one message as it would be sent."""
    match message:
        case UserMessage() | AssistantMessage() | AttachmentMessage():
            return sum(_block(block) for block in message.content)
        case SystemMessage(is_command_output=True):
            return estimate_text(message.text)
        case _:
            return 0


def count_tokens(messages: Sequence[Message], *, fixed: int = 0) -> int:
    """Tokens of the next request. ``fixed``: system prompt and tools, if nothing is known yet."""
    after = 0
    for message in reversed(messages):
        if isinstance(message, AssistantMessage) and message.usage.total_input:
            return message.usage.total_input + message.usage.output_tokens + after
        after += estimate_message(message)
    return fixed + after


def _block(block: object) -> int:
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
            return sum(_block(inner) for inner in block.content)
        case _:
            return 0
