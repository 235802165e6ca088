"""From our request to the body the Messages API takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_kernel.messages import (
    AssistantContent,
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UserContent,
)
from agent_kernel.model.capabilities import ModelFacts
from agent_kernel.model_types import ApiMessage, ClearToolUses, ModelRequest, ToolSpec

Json = dict[str, Any]

IDENTITY = "You are agent_kernel, an agent that lives in a person's Jupyter notebook."
MAX_MARKS = 4
MIN_THINKING = 1024
_MARK = {"type": "ephemeral"}


class WrittenMessages:
    """The messages of the newest request as JSON, since the next one has almost all of them.

    Told apart by identity: a request keeps the messages that did not change.
    """

    def __init__(self) -> None:
        self._messages: tuple[ApiMessage, ...] = ()
        self._written: list[Json] = []

    def of(self, messages: tuple[ApiMessage, ...]) -> list[Json]:
        """The last one is made anew each time, because it gets a cache mark."""
        head = messages[:-1]
        same = 0
        for one, other in zip(self._messages, head, strict=False):
            if one is not other:
                break
            same += 1
        written = [*self._written[:same], *map(_message, head[same:])]
        self._messages, self._written = head, written
        return [*written, *map(_message, messages[-1:])]


def build_body(
    request: ModelRequest, facts: ModelFacts, written: WrittenMessages | None = None
) -> Json:
    """The whole body. Equal requests give equal bytes, so that the prompt cache holds."""
    limit = facts.capabilities.max_output_tokens
    max_tokens = request.max_tokens or limit
    if facts.capabilities.known:
        max_tokens = min(max_tokens, limit)
    system = [{"type": "text", "text": IDENTITY}]
    static_end = steady_end = 0
    for number, block in enumerate(request.system, start=1):
        system.append({"type": "text", "text": block.text})
        if block.cache and not static_end:
            static_end = number
        if not block.volatile:
            steady_end = number
    body: Json = {
        "model": request.model,
        "max_tokens": max_tokens,
        "system": system,
        "messages": (written or WrittenMessages()).of(request.messages),
    }
    if request.tools:
        body["tools"] = [
            {"name": t.name, "description": t.description, "input_schema": t.input_schema}
            for t in request.tools
        ]
    if request.stop_sequences:
        body["stop_sequences"] = list(request.stop_sequences)
    thinking = thinking_of(request.thinking_budget, max_tokens, facts)
    if thinking is not None:
        body["thinking"] = thinking
    if request.clear_tool_uses is not None and facts.capabilities.context_management:
        body["context_management"] = _clearing(request.clear_tool_uses, request.tools)
    place_marks(
        body, static_end=static_end, steady_end=steady_end, written=len(body["messages"]) - 1
    )
    return body


def _clearing(wanted: ClearToolUses, tools: Sequence[ToolSpec]) -> Json:
    edit: Json = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": wanted.above},
        "keep": {"type": "tool_uses", "value": wanted.keep},
    }
    excluded = [tool.name for tool in tools if tool.name not in wanted.tools]
    if excluded:
        edit["exclude_tools"] = excluded
    return {"edits": [edit]}


def _message(message: ApiMessage) -> Json:
    return {"role": message.role, "content": [_block(block) for block in message.content]}


def thinking_of(budget: int | None, max_tokens: int, facts: ModelFacts) -> Json | None:
    """The way of thinking this model takes; the budget is at least 1,024 and below the output."""
    if not facts.capabilities.thinking:
        return None
    if facts.thinking_style == "adaptive" and (budget or facts.always_thinks):
        # Without a display these models send what they say between tool calls as empty thinking.
        return {"type": "adaptive", "display": "summarized"}
    if budget is None or budget <= 0:
        return None
    clamped = min(max(budget, MIN_THINKING), max_tokens - 1)
    return {"type": "enabled", "budget_tokens": clamped} if clamped >= MIN_THINKING else None


def place_marks(body: Json, *, static_end: int = 0, steady_end: int = -1, written: int = 0) -> None:
    """Put the cache marks, the only place that does: static part, system, tools, newest message.

    The ends are indexes of system blocks; what follows ``steady_end`` may change every turn.
    Whatever marks the body had are taken away first, and no more than four are put. ``written``:
    so many messages at the head are known to have none.
    """
    system: list[Json] = body.get("system") or []
    tools: list[Json] = body.get("tools") or []
    messages: list[Json] = body.get("messages") or []
    blocks = [block for message in messages[written:] for block in message["content"]]
    for block in (*system, *tools, *blocks):
        block.pop("cache_control", None)
    newest = messages[-1]["content"] if messages else []
    ends = [
        system[static_end] if 0 < static_end < len(system) else None,
        system[steady_end] if system else None,
        tools[-1] if tools else None,
        next((block for block in reversed(newest) if _takes_mark(block)), None),
    ]
    for block in [end for end in ends if end is not None][:MAX_MARKS]:
        block["cache_control"] = dict(_MARK)


def _takes_mark(block: Json) -> bool:
    if block["type"] == "text":
        return bool(block["text"])
    return block["type"] not in ("thinking", "redacted_thinking")


def _block(block: UserContent | AssistantContent) -> Json:
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ImageBlock():
            source = {"type": "base64", "media_type": block.media_type, "data": block.data}
            return {"type": "image", "source": source}
        case ToolUseBlock():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
        case ThinkingBlock():
            return {
                "type": "thinking",
                "thinking": block.thinking,
                "signature": block.signature,
            }
        case RedactedThinkingBlock():
            return {"type": "redacted_thinking", "data": block.data}
        case _:
            result: Json = {
                "type": "tool_result",
                "tool_use_id": block.tool_use_id,
                "content": [_block(part) for part in block.content],
            }
            if block.is_error:
                result["is_error"] = True
            return result
