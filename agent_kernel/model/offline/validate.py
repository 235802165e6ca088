"""Refuse what the real API refuses, so that a wrong request cannot pass a test.

The rules are those of the public Messages API; the texts are close to its own, because recovery in
the loop reads them.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Iterator
from typing import Any

from agent_kernel.model.offline.signature import is_forged

Json = dict[str, Any]

_TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
_TOOL_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
MAX_MARKS = 4
MAX_IMAGES = 100
MAX_IMAGE_BYTES = 5 * 1024 * 1024
MAX_IMAGE_SIDE = 8000
MAX_SIDE_OF_MANY = 2000
MANY_IMAGES = 20
MAX_REQUEST_CHARS = 32 * 1024 * 1024

_BLOCKS = {
    "user": {"text", "image", "tool_result", "document"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use"},
}
_REQUIRED = {
    "text": ("text",),
    "image": ("source",),
    "document": ("source",),
    "tool_result": ("tool_use_id",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input"),
}


class InvalidRequest(Exception):
    """The request is refused with ``status``; the text is the API's ``error.message``."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def validate_request(body: object) -> None:
    """Raise :class:`InvalidRequest` for the first thing that is wrong."""
    if not isinstance(body, dict):
        raise InvalidRequest("The request body is not valid JSON")
    try:
        _check(body)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidRequest(f"A value is not of the type that belongs there: {error}") from error


def _check(body: Json) -> None:
    for name in ("model", "messages", "max_tokens"):
        if name not in body:
            raise InvalidRequest(f"{name}: Field required")
    if not isinstance(body["max_tokens"], int) or body["max_tokens"] < 1:
        raise InvalidRequest("max_tokens: Input should be greater than or equal to 1")
    messages = body["messages"]
    if not isinstance(messages, list) or not messages:
        raise InvalidRequest("messages: at least one message is required")
    _check_surrogates(body)
    _check_thinking(body)
    _check_tools(body.get("tools") or [])
    _check_system(body.get("system"))
    for number, message in enumerate(messages):
        _check_message(number, message, last=number == len(messages) - 1)
    if messages[0]["role"] != "user":
        raise InvalidRequest('messages: first message must use the "user" role')
    _check_pairs(messages)
    _check_marks(body)
    _check_images(messages)


def _check_surrogates(body: Json) -> None:
    for text in _strings(body):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidRequest(
                "The request body is not valid JSON: no low surrogate in string"
            ) from error


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)


def _check_thinking(body: Json) -> None:
    thinking = body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    budget = thinking.get("budget_tokens", 0)
    if budget < 1024:
        raise InvalidRequest(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        )
    if budget >= body["max_tokens"]:
        raise InvalidRequest("`max_tokens` must be greater than `thinking.budget_tokens`")


def _check_tools(tools: list[Json]) -> None:
    names: set[str] = set()
    for number, tool in enumerate(tools):
        name = tool.get("name", "")
        if not _TOOL_NAME.match(name):
            raise InvalidRequest(
                f"tools.{number}.custom.name: String should match pattern '{_TOOL_NAME.pattern}'"
            )
        if name in names:
            raise InvalidRequest("tools: Tool names must be unique.")
        names.add(name)
        schema = tool.get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise InvalidRequest(
                f"tools.{number}.custom.input_schema.type: Input should be 'object'"
            )


def _check_system(system: Any) -> None:
    for number, block in enumerate(system if isinstance(system, list) else ()):
        if block.get("type") != "text" or not str(block.get("text", "")).strip():
            raise InvalidRequest(f"system.{number}: text content blocks must be non-empty")


def _check_message(number: int, message: Any, *, last: bool) -> None:
    place = f"messages.{number}"
    role = message.get("role") if isinstance(message, dict) else None
    if role not in _BLOCKS:
        raise InvalidRequest(f"{place}.role: Input should be 'user' or 'assistant'")
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise InvalidRequest(f"{place}.content: Input should be a valid list")
    if not content and not (last and role == "assistant"):
        raise InvalidRequest(
            f"{place}: all messages must have non-empty content except for the optional final "
            "assistant message"
        )
    for index, block in enumerate(content):
        _check_block(f"{place}.content.{index}", role, block)
    if role == "assistant" and last:
        _check_final_assistant(content)


def _check_block(place: str, role: str, block: Json) -> None:
    kind = block.get("type", "")
    if kind not in _BLOCKS[role]:
        raise InvalidRequest(f"{place}: Input tag '{kind}' is not allowed in {role} messages")
    for name in _REQUIRED[kind]:
        if name not in block:
            raise InvalidRequest(f"{place}.{kind}.{name}: Field required")
    if kind == "text":
        _check_text(place, block)
    elif kind == "thinking":
        if not block["signature"] or is_forged(block["thinking"], block["signature"]):
            raise InvalidRequest(f"{place}: Invalid `signature` in `thinking` block")
    elif kind == "tool_use":
        if not isinstance(block["input"], dict):
            raise InvalidRequest(f"{place}.tool_use.input: Input should be a valid dictionary")
        if not _TOOL_NAME.match(block["name"]):
            raise InvalidRequest(
                f"{place}.tool_use.name: String should match pattern '{_TOOL_NAME.pattern}'"
            )
        if not _TOOL_ID.match(block["id"]):
            raise InvalidRequest(
                f"{place}.tool_use.id: String should match pattern '{_TOOL_ID.pattern}'"
            )
    elif kind == "tool_result":
        inner = block.get("content") or []
        for index, part in enumerate(inner if isinstance(inner, list) else ()):
            if part.get("type") == "text":
                _check_text(f"{place}.tool_result.content.{index}", part)


def _check_text(place: str, block: Json) -> None:
    if not block["text"]:
        raise InvalidRequest(f"{place}: text content blocks must be non-empty")
    if not block["text"].strip():
        raise InvalidRequest(f"{place}: text content blocks must contain non-whitespace text")


def _check_final_assistant(content: list[Json]) -> None:
    if not content:
        return
    if content[-1].get("type") in ("thinking", "redacted_thinking"):
        raise InvalidRequest(
            "messages: The final block in an assistant message cannot be `thinking`."
        )
    text = content[-1].get("text")
    if isinstance(text, str) and text != text.rstrip():
        raise InvalidRequest(
            "messages: final assistant content cannot end with trailing whitespace"
        )


def _check_pairs(messages: list[Json]) -> None:
    """Each tool_use is answered in the very next message, once, and ids are never used twice."""
    seen: set[str] = set()
    open_ids: list[str] = []
    for number, message in enumerate(_joined(messages)):
        content = message["content"]
        results = [b["tool_use_id"] for b in content if b.get("type") == "tool_result"]
        orphans = [name for name in results if name not in open_ids]
        if orphans:
            raise InvalidRequest(
                f"messages.{number}: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{orphans[0]}. Each `tool_result` block must have a corresponding `tool_use` "
                "block in the previous message."
            )
        missing = [name for name in open_ids if name not in results]
        if missing:
            raise InvalidRequest(
                f"messages.{number - 1}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
                "corresponding `tool_result` block in the next message."
            )
        if len(set(results)) < len(results):
            raise InvalidRequest(
                f"messages.{number}: each tool_use must have a single result. Found multiple "
                "`tool_result` blocks with the same id."
            )
        _check_results_first(number, [b.get("type") for b in content])
        open_ids = [b["id"] for b in content if b.get("type") == "tool_use"]
        again = [name for place, name in enumerate(open_ids) if name in (*open_ids[:place], *seen)]
        if again:
            raise InvalidRequest(f"messages.{number}: `tool_use` ids must be unique")
        seen.update(open_ids)
    if open_ids:
        raise InvalidRequest(
            f"messages.{len(messages) - 1}: `tool_use` ids were found without `tool_result` blocks "
            f"immediately after: {', '.join(open_ids)}. Each `tool_use` block must have a "
            "corresponding `tool_result` block in the next message."
        )


def _check_results_first(number: int, kinds: list[str | None]) -> None:
    first_other = next((i for i, kind in enumerate(kinds) if kind != "tool_result"), len(kinds))
    if "tool_result" in kinds[first_other:]:
        raise InvalidRequest(
            f"messages.{number}: `tool_result` blocks must come before other content"
        )


def _joined(messages: list[Json]) -> list[Json]:
    """Neighbours of one role count as one message, as the API counts them."""
    joined: list[Json] = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1]["content"] += blocks
        else:
            joined.append({"role": message["role"], "content": blocks})
    return joined


def _check_marks(body: Json) -> None:
    places: list[Json] = [*(body.get("tools") or ())]
    if isinstance(body.get("system"), list):
        places += body["system"]
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            inner = block.get("content")
            places += [block, *(inner if isinstance(inner, list) else ())]
    marks = sum(1 for block in places if block.get("cache_control"))
    if marks > MAX_MARKS:
        raise InvalidRequest(
            f"A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {marks}."
        )
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block.get("cache_control") and "thinking" in block.get("type", ""):
                raise InvalidRequest("cache_control cannot be set on thinking blocks")


def _dicts(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _dicts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _dicts(item)


def _check_images(messages: list[Json]) -> None:
    images = [block for block in _dicts(messages) if block.get("type") == "image"]
    if len(images) > MAX_IMAGES:
        raise InvalidRequest(f"messages: too many images: {len(images)} > {MAX_IMAGES}")
    limit = MAX_SIDE_OF_MANY if len(images) > MANY_IMAGES else MAX_IMAGE_SIDE
    size = 0
    for number, image in enumerate(images):
        source = image.get("source") or {}
        media_type, data = source.get("media_type"), source.get("data", "")
        if media_type not in _IMAGE_TYPES:
            raise InvalidRequest(f"image.source.base64.media_type: not one of {_IMAGE_TYPES}")
        try:
            raw = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError) as error:
            raise InvalidRequest("image.source.base64.data: invalid base64 data") from error
        if len(raw) > MAX_IMAGE_BYTES:
            raise InvalidRequest(
                f"image.source.base64: image exceeds 5 MB maximum: {len(raw)} bytes"
            )
        size += len(raw)
        if _sniff(raw) != media_type:
            raise InvalidRequest(
                "image.source.base64.data: Image does not match the provided media type "
                f"{media_type}"
            )
        width, height = _png_size(raw)
        if max(width, height) > limit:
            raise InvalidRequest(
                f"image.source.base64.data: image {number}: At least one of the image dimensions "
                f"exceeds max allowed size: {limit} pixels"
            )
    if size > MAX_REQUEST_CHARS:
        raise InvalidRequest("Request exceeds the maximum size", status=413)


def _sniff(raw: bytes) -> str:
    if raw.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if raw.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if raw.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp"
    return ""


def _png_size(raw: bytes) -> tuple[int, int]:
    """Width and height of a PNG; zeros for other kinds, which are not measured."""
    if _sniff(raw) != "image/png" or len(raw) < 24:
        return 0, 0
    width, height = struct.unpack(">II", raw[16:24])
    return int(width), int(height)
