"""Messages of a conversation in few words."""

from __future__ import annotations

from typing import Any

from agent_kernel.messages import (
    AssistantContent,
    AssistantMessage,
    Message,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserContent,
    UserMessage,
)
from agent_kernel.model_types import ApiMessage


def user(*content: UserContent | str, meta: bool = False, uuid: str = "") -> Message:
    blocks = tuple(TextBlock(text=c) if isinstance(c, str) else c for c in content)
    return UserMessage(uuid=uuid, content=blocks, is_meta=meta)


def assistant(*content: AssistantContent | str, id: str = "m", uuid: str = "") -> Message:
    blocks = tuple(TextBlock(text=c) if isinstance(c, str) else c for c in content)
    return AssistantMessage(uuid=uuid, message_id=id, content=blocks)


def use(id: str, name: str = "Read", **input: Any) -> ToolUseBlock:
    return ToolUseBlock(id=id, name=name, input=input)


def result(id: str, text: str = "ok", *, error: bool = False) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=id, content=(TextBlock(text=text),), is_error=error)


def shape(messages: tuple[ApiMessage, ...]) -> list[list[str]]:
    """Role first, then each block in a word or two."""
    return [[message.role, *(_word(block) for block in message.content)] for message in messages]


def _word(block: Any) -> str:
    match block:
        case TextBlock():
            return block.text
        case ToolUseBlock():
            return f"use {block.id}"
        case ToolResultBlock():
            return f"result {block.tool_use_id}{' error' if block.is_error else ''}"
        case _:
            return str(block.type)
