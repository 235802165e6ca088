"""From the raw events of a stream to reply events.

The stream is read as it comes over the wire, because the client library parses unfinished tool
input leniently and would hand over half an input as if it were whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pydantic import JsonValue

from agent_kernel.errors import ModelErrorKind
from agent_kernel.messages import (
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    Usage,
)
from agent_kernel.model.failures import failure_of_type
from agent_kernel.model_types import (
    ReplyBlock,
    ReplyEvent,
    ReplyFailed,
    ReplyFinished,
    ReplyStarted,
    ReplyText,
    ReplyThinking,
    ReplyToolInput,
    ReplyToolStarted,
)
from agent_kernel.settings.secrets import ends_in_half, without_lone_surrogates

Json = dict[str, Any]
_COUNTS = tuple(Usage.model_fields)


@dataclass
class _Open:
    """A block that is being written."""

    kind: str
    id: str = ""
    name: str = ""
    given: dict[str, JsonValue] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)
    held: str = ""

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def add(self, text: str, *, last: bool = False) -> str:
        """Take a piece and return what of it can be shown: a character may be split in two."""
        text = self.held + text
        self.held = ""
        if not last and ends_in_half(text):
            text, self.held = text[:-1], text[-1]
        text = without_lone_surrogates(text)
        self.parts.append(text)
        return text


class ReplyReader:
    """Feed it the data lines of a stream; it keeps no more than the blocks that are open.

    After ``ended`` is true nothing more may be fed: the last event was final.
    """

    def __init__(self) -> None:
        self.ended = False
        self.started = False
        self._open: dict[int, _Open] = {}
        self._done: set[int] = set()
        self._usage: dict[str, int] = {}
        self._stop_reason: str | None = None

    def feed(self, kind: str | None, data: str) -> Iterator[ReplyEvent]:
        """The reply events of one server-sent event. Unknown ones give none."""
        if kind == "ping" or not data:
            return
        try:
            event = json.loads(data)
        except ValueError:
            if kind != "error":
                text = "The server sent an event that is no JSON."
                yield self._fail(ModelErrorKind.PROTOCOL, text)
                return
            event = {"error": {"message": data[:500]}}
        if not isinstance(event, dict):
            return
        try:
            yield from self._read(event.get("type") or kind or "", event)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            text = f"The server sent an event that is not as the protocol says: {error!r}"
            yield self._fail(ModelErrorKind.PROTOCOL, text)

    def cut(self) -> ReplyFailed:
        """The stream is over without its end."""
        text = "The connection ended before the reply was complete."
        return self._fail(ModelErrorKind.CUT, text)

    def _fail(self, kind: ModelErrorKind, message: str) -> ReplyFailed:
        self.ended = True
        return ReplyFailed(kind=kind, message=message)

    def _read(self, kind: str, event: Json) -> Iterator[ReplyEvent]:
        match kind:
            case "message_start" if not self.started:
                yield self._start(event["message"])
            case "content_block_start":
                yield from self._start_block(event["index"], event["content_block"])
            case "content_block_delta":
                yield from self._delta(event["index"], event["delta"])
            case "content_block_stop":
                yield from self._stop_block(event["index"])
            case "message_delta":
                self._stop_reason = (event.get("delta") or {}).get("stop_reason")
                self._count(event.get("usage"))
            case "message_stop":
                # Not every server closes its blocks.
                for index in sorted(self._open):
                    yield from self._stop_block(index)
                self.ended = True
                yield ReplyFinished(stop_reason=self._stop_reason, usage=Usage(**self._usage))
            case "error":
                self.ended = True
                yield failure_of_type(event.get("error"))
            case _:
                return

    def _start(self, message: Json) -> ReplyStarted:
        self.started = True
        self._count(message.get("usage"))
        return ReplyStarted(
            message_id=str(message.get("id") or ""),
            model=str(message.get("model") or ""),
            usage=Usage(**self._usage),
        )

    def _count(self, usage: Any) -> None:
        """Take over the counts that are told; some servers tell them only at the end."""
        if isinstance(usage, dict):
            self._usage.update(
                {name: count for name in _COUNTS if isinstance(count := usage.get(name), int)}
            )

    def _start_block(self, index: int, block: Json) -> Iterator[ReplyEvent]:
        if index in self._open or index in self._done:
            return
        kind = block.get("type", "")
        opened = _Open(kind)
        self._open[index] = opened
        match kind:
            case "text" | "thinking":
                # Some servers put the beginning, or all of it, here.
                yield from self._said(index, opened, block.get(kind) or "")
                opened.signature.append(block.get("signature") or "")
            case "redacted_thinking":
                opened.parts.append(block["data"])
            case "tool_use":
                opened.id, opened.name = str(block["id"]), str(block["name"])
                given = block.get("input")
                opened.given = given if isinstance(given, dict) else {}
                yield ReplyToolStarted(index=index, tool_use_id=opened.id, name=opened.name)

    def _delta(self, index: int, delta: Json) -> Iterator[ReplyEvent]:
        opened = self._open.get(index)
        if opened is None:
            return
        match delta.get("type"), opened.kind:
            case "text_delta", "text":
                yield from self._said(index, opened, delta["text"])
            case "thinking_delta", "thinking":
                yield from self._said(index, opened, delta["thinking"])
            case "signature_delta", "thinking":
                opened.signature.append(delta["signature"])
            case "input_json_delta", "tool_use":
                yield from self._said(index, opened, delta["partial_json"])

    def _said(
        self, index: int, opened: _Open, text: str, *, last: bool = False
    ) -> Iterator[ReplyEvent]:
        shown = opened.add(text, last=last)
        if not shown:
            return
        if opened.kind == "text":
            yield ReplyText(index=index, text=shown)
        elif opened.kind == "thinking":
            yield ReplyThinking(index=index, text=shown)
        elif opened.kind == "tool_use":
            yield ReplyToolInput(index=index, tool_use_id=opened.id, partial_json=shown)

    def _stop_block(self, index: int) -> Iterator[ReplyEvent]:
        opened = self._open.pop(index, None)
        if opened is None:
            return
        self._done.add(index)
        yield from self._said(index, opened, "", last=True)
        match opened.kind:
            case "text":
                yield ReplyBlock(index=index, block=TextBlock(text=opened.text))
            case "thinking":
                signature = "".join(opened.signature)
                thinking = ThinkingBlock(thinking=opened.text, signature=signature)
                yield ReplyBlock(index=index, block=thinking)
            case "redacted_thinking":
                redacted = RedactedThinkingBlock(data="".join(opened.parts))
                yield ReplyBlock(index=index, block=redacted)
            case "tool_use":
                yield _tool_block(index, opened)


def _tool_block(index: int, opened: _Open) -> ReplyBlock:
    raw = opened.text
    given: dict[str, JsonValue] | None = parse_input(raw) if raw.strip() else opened.given
    return ReplyBlock(
        index=index,
        block=ToolUseBlock(id=opened.id, name=opened.name, input=given or {}),
        broken_input=raw if given is None else None,
    )


def parse_input(raw: str) -> dict[str, JsonValue] | None:
    """The input of a tool, strictly: None if it is not one JSON object; nothing means ``{}``."""
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return _clean(value) if isinstance(value, dict) else None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _clean(value: Any) -> Any:
    """Take lone surrogates out: the next request must be encodable."""
    if isinstance(value, str):
        return without_lone_surrogates(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {without_lone_surrogates(key): _clean(item) for key, item in value.items()}
    return value
