"""Skills that were loaded, to be said again after a compact: the newest first, within bounds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_kernel.context.tokens import CHARS_PER_TOKEN, estimate_text
from agent_kernel.messages import AttachmentMessage, Message, TextBlock, UserMessage

EACH_TOKENS = 5_000
ALL_TOKENS = 25_000

_NAME = re.compile(r"\s*<command-name>/([^<\n]+)</command-name>")


def invoked_skills(messages: Sequence[Message]) -> list[AttachmentMessage]:
    """The latest text of each skill, cut to 5,000 tokens; 25,000 in all."""
    texts: dict[str, str] = {}
    for message in reversed(messages):
        for block in message.content if isinstance(message, UserMessage) else ():
            if isinstance(block, TextBlock) and (found := _NAME.match(block.text)):
                texts.setdefault(found.group(1), block.text[found.end() :].strip())
    left = ALL_TOKENS
    attachments: list[AttachmentMessage] = []
    for name, text in texts.items():
        shown = cut_to(text, min(EACH_TOKENS, left))
        left -= estimate_text(shown)
        if not shown:
            break
        told = f"The skill {name} was loaded before the summary and still holds:\n\n{shown}"
        attachments.append(
            AttachmentMessage(uuid="", is_meta=True, kind="skill", content=(TextBlock(text=told),))
        )
    return attachments


def cut_to(text: str, tokens: int) -> str:
    """The beginning of a text, at most about so many tokens, and a word on the rest."""
    chars = int(tokens * CHARS_PER_TOKEN)
    if len(text) <= chars:
        return text
    return f"{text[:chars]}\n[cut here]" if chars > 0 else ""
