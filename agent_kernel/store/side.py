"""Long texts and pictures in files beside a transcript, so that its lines stay short (CASES 91)."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any, Protocol

from agent_kernel.settings.home import write_private

LONGEST = 32_768
"""Characters of a string that still stands in its line."""

HEAD_CHARS = 200
MARK = b'"$side"'
_KEY = "$side"
_NAME = re.compile(r"[0-9a-f]{64}")


class Side(Protocol):
    """Where long strings of a file go."""

    def put(self, text: str) -> Any:
        """The text, or what stands for it in the line."""
        ...

    def get(self, value: dict[str, Any]) -> Any:
        """What a reference stands for; None for an object that is no reference."""
        ...


class _NoSide:
    """Everything stands in the line; references give the beginning they carry."""

    def put(self, text: str) -> Any:
        return text

    def get(self, value: dict[str, Any]) -> str | None:
        return _head(value)


class SideFiles:
    """One file per content, named by its hash, mode 0600. ``missing`` counts those not found."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.missing = 0

    def put(self, text: str) -> Any:
        """Raises ``OSError``."""
        if len(text) <= LONGEST:
            return text
        data = text.encode("utf-8", "surrogatepass")
        name = hashlib.sha256(data).hexdigest()
        path = self._folder / name
        if not path.exists():
            write_private(path, data)
        return {_KEY: name, "head": text[:HEAD_CHARS]}

    def get(self, value: dict[str, Any]) -> str | None:
        name = value.get(_KEY)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            return None
        try:
            return (self._folder / name).read_bytes().decode("utf-8", "surrogatepass")
        except (OSError, UnicodeDecodeError):
            self.missing += 1
            return f"{_head(value)} [the rest of this is no longer there]"


class Sparing:
    """References of ``side`` up to so many characters; after that beginnings, and no pictures."""

    def __init__(self, side: Side, limit: int) -> None:
        self._side = side
        self._left = limit

    def put(self, text: str) -> Any:
        return self._side.put(text)

    def get(self, value: dict[str, Any]) -> Any:
        """As the other's, as long as there is room."""
        if self._left <= 0:
            if value.get("type") == "image" and isinstance(value.get("data"), dict):
                return {"type": "text", "text": "[picture not shown again]"}
            head = _head(value)
            return None if head is None else f"{head} […]"
        text = self._side.get(value)
        self._left -= len(text) if isinstance(text, str) else 0
        return text


def _head(value: dict[str, Any]) -> str | None:
    head = value.get("head")
    return head if _KEY in value and isinstance(head, str) else None


NO_SIDE: Side = _NoSide()
