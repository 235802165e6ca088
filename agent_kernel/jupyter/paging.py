"""Comm messages of bounded size (DESIGN 6): one object, a batch, or pages of a long one.

A comm's data has to be an object, so several JSON-RPC objects travel as ``{"batch": [...]}``. What
is longer than the limit travels as the pages of its JSON text. Both sides send and accept all.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence

from pydantic import JsonValue, ValidationError

from agent_kernel.wire import MAX_MESSAGE_BYTES, MessagePage

JsonObject = dict[str, JsonValue]

_ENVELOPE = 4_096  # bytes left for what Jupyter wraps around the data
_MAX_OPEN = 16  # half-received messages kept; an older one is given up


def pack(
    objects: Sequence[JsonObject], *, limit: int = MAX_MESSAGE_BYTES
) -> Iterator[tuple[JsonObject, int]]:
    """Comm data for the objects in order, each with its size in bytes."""
    room = limit - _ENVELOPE
    batch: list[JsonObject] = []
    size = 0
    for item in objects:
        text = json.dumps(item, ensure_ascii=True, separators=(",", ":"))
        if batch and size + len(text) > room:
            yield _wrap(batch), size
            batch, size = [], 0
        if len(text) > room:
            yield from _pages(text, room)
        else:
            batch.append(item)
            size += len(text) + 1
    if batch:
        yield _wrap(batch), size


class Unpacker:
    """Turns comm data back into objects; keeps the pages that wait for the rest."""

    def __init__(self) -> None:
        self._open: dict[str, dict[int, str]] = {}

    def unpack(self, data: object) -> list[object]:
        """The complete objects; [] for a page before the last. ValueError for what is no data."""
        if not isinstance(data, dict):
            raise ValueError("a message has to be a JSON object")  # noqa: TRY004
        if isinstance(data.get("batch"), list):
            return list(data["batch"])
        if "page" in data and "method" not in data:
            return self._page(data)
        return [data]

    def _page(self, data: dict[str, object]) -> list[object]:
        try:
            part = MessagePage.model_validate(data)
        except ValidationError as error:
            raise ValueError("a malformed page") from error
        if not 0 <= part.page < part.pages:
            raise ValueError("a page out of range")
        parts = self._open.setdefault(part.message, {})
        parts[part.page] = part.text
        if len(parts) < part.pages:
            while len(self._open) > _MAX_OPEN:
                self._open.pop(next(iter(self._open)))
            return []
        del self._open[part.message]
        return self.unpack(json.loads("".join(parts[i] for i in range(part.pages))))


def _wrap(batch: list[JsonObject]) -> JsonObject:
    if len(batch) == 1:
        return batch[0]
    items: list[JsonValue] = list(batch)
    return {"batch": items}


def _pages(text: str, room: int) -> Iterable[tuple[JsonObject, int]]:
    # Quotes and backslashes of the text are escaped once more, which at worst doubles it.
    step = max(1, (room - 256) // 2)
    parts = [text[start : start + step] for start in range(0, len(text), step)]
    message = uuid.uuid4().hex
    for number, part in enumerate(parts):
        page = MessagePage(page=number, pages=len(parts), message=message, text=part)
        yield page.model_dump(mode="json"), len(part) * 2
