"""Transcript lines: written so that nothing breaks them, read so that nothing is lost."""

from __future__ import annotations

import gc
import json
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from agent_kernel.messages import Message
from agent_kernel.store.side import MARK, NO_SIDE, Side
from agent_kernel.wire import RunSnapshot

VERSION = 1
_HEAD = '{"v":'
_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
# A signature covers these exact bytes, so scrubbing them would make the message unusable.
_VERBATIM = frozenset({"signature", "data", "thinking"})
# What a finished run no longer needs: the call's input stands whole in ``tool_started``.
_TRANSIENT = frozenset({"tool_input_delta", "agent_progress"})
_DECODER = json.JSONDecoder()


class _Line(BaseModel):
    """A message line, read in one go where nothing is odd about it."""

    message: Message


class RunLine(BaseModel):
    """A finished run; ``until`` is the uuid of the last message it added."""

    until: str = ""
    run: RunSnapshot


@dataclass
class Parsed:
    """The messages of a file in order; ``skipped`` counts lines that could not be read."""

    messages: list[Message] = field(default_factory=list)
    skipped: int = 0


def encode_header(session_id: str, cwd: str, started: str) -> bytes:
    """The first line of a transcript."""
    return _dump({"v": VERSION, "session": session_id, "cwd": cwd, "started": started})


def encode_message(message: Message, scrub: Callable[[str], str], side: Side = NO_SIDE) -> bytes:
    """One message as one line, secrets taken out, long texts and pictures put beside it."""
    value = _stored(message.model_dump(mode="python", exclude_defaults=False), scrub, side)
    return _dump({"v": VERSION, "message": value})


def encode_run(
    run: RunSnapshot, until: str, scrub: Callable[[str], str], side: Side = NO_SIDE
) -> bytes:
    """A finished run as one line; what only its course needed is left out."""
    whole = run.model_dump(mode="json")
    whole["events"] = [event for event in whole["events"] if event["type"] not in _TRANSIENT]
    for event in whole["events"]:
        if "nonce" in event:
            event["nonce"] = ""
    value = _stored(whole, scrub, side)
    return _dump({"v": VERSION, "until": until, "run": value})


def _dump(value: dict[str, Any]) -> bytes:
    # ASCII only: no U+2028 that a reader might take for a line end, no lone surrogate (CASES 88).
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def _stored(value: Any, scrub: Callable[[str], str], side: Side, *, verbatim: bool = False) -> Any:
    if isinstance(value, str):
        return side.put(value if verbatim else scrub(value))
    if isinstance(value, dict):
        return {
            key: _stored(item, scrub, side, verbatim=key in _VERBATIM)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_stored(item, scrub, side) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None  # NaN and infinities are no JSON
    return value


def parse(lines: Iterable[bytes], side: Side = NO_SIDE) -> Parsed:
    """Read a transcript. Splits on newline bytes only; bad lines are skipped and counted.

    A message that was written twice counts once.
    """
    with no_collection():
        return _parse(lines, side)


@contextmanager
def no_collection() -> Iterator[None]:
    """Reading makes only objects that stay; looking for garbage among them takes the longest."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _parse(lines: Iterable[bytes], side: Side) -> Parsed:
    parsed = Parsed()
    seen: dict[str, Message] = {}
    for line in lines:
        messages, is_whole = read_line(line, side)
        if not is_whole and line.endswith(b"\n"):
            parsed.skipped += 1
        # A torn last line is what a crash leaves; nothing was promised about it.
        for message in messages:
            if not message.uuid or seen.get(message.uuid) != message:
                seen[message.uuid] = message
                parsed.messages.append(message)
    return parsed


def read_line(line: bytes, side: Side = NO_SIDE) -> tuple[list[Message], bool]:
    """The messages of one line, and whether nothing of it was lost."""
    if MARK not in line:
        try:
            return [_Line.model_validate_json(line).message], True
        except ValidationError:
            pass  # a header, a kind of a later version, or a line that something happened to
    found: list[Message] = []
    objects, is_whole = _objects(line)
    for value in objects:
        if "message" in value:
            try:
                found.append(_MESSAGE.validate_python(_fetched(value["message"], side)))
            except ValidationError:
                is_whole = is_whole and _is_of_later_version(value["message"])
    return found, is_whole


def read_runs(lines: Iterable[bytes], side: Side = NO_SIDE) -> list[RunLine]:
    """The runs of a file in order; what cannot be read is left out."""
    found = []
    for line in lines:
        for value in _objects(line)[0]:
            try:
                found.append(RunLine.model_validate(_fetched(value, side)))
            except ValidationError:
                continue
    return found


def _objects(line: bytes) -> tuple[list[dict[str, Any]], bool]:
    """All objects of a line, also those glued together or onto a torn stub (CASES 86).

    A disk that lost its cache leaves runs of NUL bytes; JSON itself never holds one.
    """
    text = line.replace(b"\0", b"").decode("utf-8", "replace").strip()
    found: list[dict[str, Any]] = []
    is_whole = True
    for value in _decoded(text):
        if isinstance(value, dict):
            found.append(value)
        else:
            is_whole = False
    return found, is_whole


def _decoded(text: str) -> Iterator[Any]:
    """The JSON values in a text; None stands for a piece that is none."""
    start = 0
    while 0 <= start < len(text):
        try:
            value, start = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            yield None
            start = text.find(_HEAD, start + 1)
            continue
        yield value
        while start < len(text) and text[start].isspace():
            start += 1


def _fetched(value: Any, side: Side) -> Any:
    if isinstance(value, dict):
        reference = side.get(value)
        if reference is not None:
            return reference
        return {key: _fetched(item, side) for key, item in value.items()}
    if isinstance(value, list):
        return [_fetched(item, side) for item in value]
    return value


def _is_of_later_version(value: Any) -> bool:
    """Whether a message is of a type that this version does not know."""
    kinds = {"user", "assistant", "system", "attachment", "progress", "tombstone"}
    return isinstance(value, dict) and value.get("type") not in {*kinds, "compact_boundary"}
