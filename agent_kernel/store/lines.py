"""Transcript lines: written so that nothing breaks them, read so that nothing is lost."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from pydantic import TypeAdapter, ValidationError

from agent_kernel.messages import Message

VERSION = 1
_HEAD = b'{"v":'
_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
# A signature covers these exact bytes, so scrubbing them would make the message unusable.
_VERBATIM = frozenset({"signature", "data", "thinking"})


@dataclass
class Parsed:
    """The messages of a file in order; ``skipped`` counts lines that could not be read."""

    messages: list[Message] = field(default_factory=list)
    skipped: int = 0


def encode_header(session_id: str, cwd: str, started: str) -> bytes:
    """The first line of a transcript."""
    return _dump({"v": VERSION, "session": session_id, "cwd": cwd, "started": started})


def encode_message(message: Message, scrub: Callable[[str], str]) -> bytes:
    """One message as one line, secrets taken out."""
    value = _scrubbed(message.model_dump(mode="python", exclude_defaults=False), scrub)
    return _dump({"v": VERSION, "message": value})


def _dump(value: dict[str, Any]) -> bytes:
    # ASCII only: no U+2028 that a reader might take for a line end, no lone surrogate (CASES 88).
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def _scrubbed(value: Any, scrub: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {
            key: item if key in _VERBATIM and isinstance(item, str) else _scrubbed(item, scrub)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_scrubbed(item, scrub) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None  # NaN and infinities are no JSON
    return value


def parse(file: BinaryIO) -> Parsed:
    """Read a transcript. Splits on newline bytes only; bad lines are skipped and counted."""
    parsed = Parsed()
    for line in file:
        if not line.strip():
            continue
        whole = line.endswith(b"\n")
        found = list(_objects(line))
        for value in found:
            message = _message(value)
            if message is not None:
                parsed.messages.append(message)
        if (not found or _is_glued(line)) and whole:
            parsed.skipped += 1
        # A torn last line is what a crash leaves; nothing was promised about it.
    return parsed


def _is_glued(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return True
    return False


def _objects(line: bytes) -> Iterator[dict[str, Any]]:
    """The object of a line, or one that was glued onto a torn stub (CASES 86)."""
    start = 0
    while start >= 0:
        try:
            value = json.loads(line[start:])
        except (ValueError, RecursionError):
            start = line.find(_HEAD, start + 1)
            continue
        if isinstance(value, dict):
            yield value
        return


def _message(value: dict[str, Any]) -> Message | None:
    """None for a header, a kind of line that a later version added, or a bad message."""
    if "message" not in value:
        return None
    try:
        return _MESSAGE.validate_python(value["message"])
    except ValidationError:
        return None
