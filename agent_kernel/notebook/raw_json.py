"""A notebook file as text with known places, so that an edit moves no other byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json import JSONDecoder
from typing import Any

from agent_kernel.errors import NotebookUnavailable

_DECODER = JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class Style:
    """How the file was written: unit of indent (None: one line), line end, gap after a colon."""

    indent: str | None
    newline: str
    colon: str

    def dump(self, value: Any, prefix: str) -> str:
        """JSON of ``value`` as it stands behind ``prefix``, without the prefix itself."""
        if self.indent is None:
            comma = "," if self.colon == ":" else ", "
            return json.dumps(value, ensure_ascii=False, separators=(comma, self.colon))
        text = json.dumps(
            value, ensure_ascii=False, indent=self.indent, separators=(",", self.colon)
        )
        return text.replace("\n", self.newline + prefix)


@dataclass(frozen=True)
class RawCell:
    """``text`` is the cell's own JSON; ``lead`` what stands between it and the cell before."""

    text: str
    value: dict[str, Any]
    lead: str


@dataclass(frozen=True)
class RawNotebook:
    """``head`` ends after the bracket that opens the cells, ``tail`` begins with its partner."""

    head: str
    cells: tuple[RawCell, ...]
    tail: str
    style: Style
    prefix: str
    fields: dict[str, Any]

    def text(self) -> str:
        if not self.cells:
            return self.head + self.tail.lstrip()
        return "".join([self.head, *self._leads_and_texts(), self._tail()])

    def _leads_and_texts(self) -> Iterator[str]:
        first = "" if self.style.indent is None else self.style.newline + self.prefix
        between = "," + (first or ("" if self.style.colon == ":" else " "))
        for index, cell in enumerate(self.cells):
            lead = cell.lead
            if index == 0 and (lead.lstrip().startswith(",") or not lead):
                lead = first
            elif index > 0 and not lead.lstrip().startswith(","):
                lead = between
            yield lead
            yield cell.text

    def _tail(self) -> str:
        if self.style.indent is None or not self.tail.startswith("]"):
            return self.tail
        # The list was empty and its brackets stood together: the closing one gets its own line.
        return self.style.newline + self.prefix[: -len(self.style.indent)] + self.tail

    def make(self, value: dict[str, Any]) -> RawCell:
        return RawCell(self.style.dump(value, self.prefix), value, "")

    def with_field(self, cell: RawCell, field: str, value: Any) -> RawCell:
        """The same cell with one field changed and every other byte kept."""
        changed = {**cell.value, field: value}
        for name, start, end in _members(cell.text, 0):
            if name == field:
                dumped = self.style.dump(value, self.prefix + (self.style.indent or ""))
                text = cell.text[:start] + dumped + cell.text[end:]
                return RawCell(text, changed, cell.lead)
        made = self.make(changed)
        return RawCell(made.text, changed, cell.lead)


def parse(text: str, name: str) -> RawNotebook:
    """Find the cells in the text. Raises ``NotebookUnavailable`` if it is no notebook."""
    try:
        return _parse(text, name)
    except (ValueError, IndexError, RecursionError) as error:
        raise NotebookUnavailable(
            f"{name} is not valid JSON ({error}); it is left alone."
        ) from None


def _parse(text: str, name: str) -> RawNotebook:
    fields: dict[str, Any] = {}
    place: tuple[int, int] | None = None
    start = _skip(text, 0)
    if text[start : start + 1] != "{":
        raise ValueError("no object at the top")
    end = start
    for field, begin, end in _members(text, start):
        if field == "cells":
            if place is not None:
                raise ValueError("two lists of cells")
            place = (begin, end)
        else:
            fields[field] = _DECODER.raw_decode(text, begin)[0]
    if place is None:
        raise NotebookUnavailable(
            f"{name} has no list of cells. If it is an old notebook (format 3), "
            "ask the person to open and save it in JupyterLab first."
        )
    rest = text[end:].strip()
    if rest != "}":
        raise ValueError("text after the end")
    begin, end = place
    cells, close = _cells(text, begin)
    style = _style(text)
    prefix = _prefix(cells, style)
    return RawNotebook(text[: begin + 1], cells, text[close:], style, prefix, fields)


def _cells(text: str, begin: int) -> tuple[tuple[RawCell, ...], int]:
    if text[begin] != "[":
        raise ValueError("the cells are no list")
    cells: list[RawCell] = []
    last = begin + 1
    position = _skip(text, last)
    while text[position] != "]":
        value, end = _DECODER.raw_decode(text, position)
        if not isinstance(value, dict):
            raise ValueError("a cell is no object")  # noqa: TRY004 (of the text, not of a type)
        cells.append(RawCell(text[position:end], value, text[last:position]))
        last = end
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
        elif text[position] != "]":
            raise ValueError("no comma between cells")
    return tuple(cells), last if cells else position


def _members(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Name, begin and end of each value of the object that begins at ``start``."""
    position = _skip(text, start + 1)
    while text[position] != "}":
        name, end = _DECODER.raw_decode(text, position)
        position = _skip(text, end)
        if not isinstance(name, str) or text[position] != ":":
            raise ValueError("no name and colon where a field should be")
        begin = _skip(text, position + 1)
        _, end = _DECODER.raw_decode(text, begin)
        yield name, begin, end
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
        elif text[position] != "}":
            raise ValueError("no comma between fields")


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _style(text: str) -> Style:
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = re.match(r"\s*\{\r?\n([ \t]+)", text)
    colon = ":" if re.match(r'\s*\{\s*"(?:[^"\\]|\\.)*":\S', text) else ": "
    return Style(indent.group(1) if indent else None, newline, colon)


def _prefix(cells: tuple[RawCell, ...], style: Style) -> str:
    """The white space before a cell on its line."""
    if style.indent is None:
        return ""
    if cells and "\n" in cells[0].lead:
        return cells[0].lead.rsplit("\n", 1)[1]
    return style.indent * 2
