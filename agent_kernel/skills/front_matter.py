"""Front matter as people write it: strict YAML first, then key by key, never all or nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_CHARS = 64 * 1024
MAX_VALUES = 2_000
MAX_BRACKETS = 400

_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$")
_TRUE = {"true", "yes", "on", "1", "y"}
_FALSE = {"false", "no", "off", "0", "n"}
_EMPTY = {"", "~", "null"}


@dataclass(frozen=True)
class FrontMatter:
    """``body`` is the text after the fences; ``warning`` says what was not right, if anything.

    Values are text as written (``yes``, ``1.10``, ``2024``), lists of text, or mappings.
    """

    fields: Mapping[str, Any]
    body: str
    warning: str = ""

    def get(self, name: str) -> Any:
        """By the hyphened name; of two spellings the hyphened one wins (SPEC K4)."""
        value = self.fields.get(name)
        return self.fields.get(name.replace("-", "_")) if value is None else value

    def text(self, name: str) -> str:
        value = self.get(name)
        if isinstance(value, list):
            value = " ".join(part for part in value if isinstance(part, str))
        return value.strip() if isinstance(value, str) and value.strip() not in _EMPTY else ""

    def flag(self, name: str, default: bool) -> bool:
        value = self.text(name).casefold()
        return True if value in _TRUE else False if value in _FALSE else default

    def names(self, name: str) -> tuple[str, ...]:
        """A YAML list, or text parted by commas or spaces; brackets hold together."""
        value = self.get(name)
        if isinstance(value, list):
            parts = [part.strip() for part in value if isinstance(part, str)]
        elif isinstance(value, str):
            parts = _parted(value)
        else:
            return ()
        return tuple(part for part in parts if part and part not in _EMPTY)


def split(text: str) -> tuple[str | None, str, str]:
    """Front matter (None if there is none), body, warning.

    A fence is a line of exactly three hyphens, trailing blanks aside; ``...`` closes too. An
    opening without a close makes the whole text the body.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return None, text, ""
    for index, line in enumerate(lines[1:], start=1):
        if line.rstrip() in {"---", "..."}:
            return "\n".join(lines[1:index]), "\n".join(lines[index + 1 :]), ""
    return None, text, "the front matter is not closed by a line of three hyphens"


def read(text: str) -> FrontMatter:
    """Never raises: what cannot be read is left out and named in ``warning``."""
    head, body, warning = split(text)
    if head is None:
        return FrontMatter({}, body, warning)
    if len(head) > MAX_CHARS:
        return FrontMatter({}, body, "the front matter is over 64 KB and was not read")
    value = _yaml(head)
    if isinstance(value, dict):
        return FrontMatter({str(key): _plain(part) for key, part in value.items()}, body)
    if value is None and not _without_comments(head).strip():
        return FrontMatter({}, body)
    fields, bad = _line_wise(head)
    return FrontMatter(fields, body, "the front matter is not valid YAML; " + bad)


@dataclass
class _Chunk:
    key: str
    first: str
    lines: list[str] = field(default_factory=list)


def _line_wise(head: str) -> tuple[dict[str, Any], str]:
    """Each key by itself: YAML if that works, else the rest of its line as text."""
    chunks: list[_Chunk] = []
    for line in head.split("\n"):
        match = _KEY.match(line)
        if match:
            chunks.append(_Chunk(match.group(1), match.group(2) or ""))
        elif chunks:
            chunks[-1].lines.append(line)
    fields: dict[str, Any] = {}
    guessed: list[str] = []
    for chunk in chunks:
        whole = "\n".join([f"{chunk.key}: {chunk.first}", *chunk.lines])
        value = _yaml(whole)
        if isinstance(value, dict) and chunk.key in value:
            fields[chunk.key] = _plain(value[chunk.key])
            continue
        guessed.append(chunk.key)
        if chunk.key.replace("_", "-") in {"allowed-tools", "hooks", "shell"}:
            continue  # What grants or runs something is taken as written or not at all.
        rest = " ".join([chunk.first, *(line.strip() for line in chunk.lines)]).strip()
        fields[chunk.key] = _unquoted(rest)
    names = ", ".join(f"`{name}`" for name in guessed)
    return fields, f"{names} was taken as plain text" if names else "it was read key by key"


def _yaml(text: str) -> Any:
    """Scalars stay text: ``name: yes`` is the name "yes". None if it is no YAML."""
    import yaml

    # The parser's time grows with the square of this, and nobody nests so deep by hand.
    if text.count("[") + text.count("{") > MAX_BRACKETS:
        return None
    try:
        return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 (makes only text and lists)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def _plain(value: Any) -> Any:
    """Only text, lists and mappings, and not more of them than a person would write.

    Aliases let a few lines of YAML stand for millions of values, or for themselves.
    """
    left = MAX_VALUES

    def copy(part: Any) -> Any:
        nonlocal left
        left -= 1
        if left <= 0:
            return ""
        if isinstance(part, dict):
            return {str(key): copy(inner) for key, inner in part.items() if left > 0}
        if isinstance(part, list):
            return [copy(inner) for inner in part if left > 0]
        return part if isinstance(part, str) else ""

    try:
        return copy(value)
    except RecursionError:
        return ""


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


def _without_comments(head: str) -> str:
    return "\n".join(line for line in head.split("\n") if not line.lstrip().startswith("#"))


def _parted(text: str) -> list[str]:
    """``Bash(git diff *), Read Edit``: blanks and commas part, except inside brackets."""
    parts: list[str] = []
    current: list[str] = []
    depth = 0
    for char in text:
        depth += (char == "(") - (char == ")" and depth > 0)
        if depth == 0 and (char == "," or char.isspace()):
            parts.append("".join(current))
            current = []
        else:
            current.append(char)
    return [*parts, "".join(current)]
