"""Where code stands in Markdown: fences and spans, which expansion leaves alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_TICKS = re.compile(r"`+")


@dataclass(frozen=True)
class CodePart:
    """``text[start:end]`` is code, marks included. ``info`` is what follows an opening fence."""

    kind: Literal["fence", "span"]
    start: int
    end: int
    info: str = ""


def code_parts(text: str) -> list[CodePart]:
    """All code of the text, in order and without overlap."""
    parts: list[CodePart] = []
    position = 0
    plain_from = 0
    while position < len(text):
        line_end = text.find("\n", position)
        line_end = len(text) if line_end < 0 else line_end + 1
        match = _FENCE.match(text, position, line_end)
        # The info string of a fence of back-ticks holds no back-tick, or it is a code span.
        if match and not (match.group(1)[0] == "`" and "`" in match.group(2)):
            parts += _spans(text, plain_from, position)
            end = _close(text, line_end, match.group(1))
            parts.append(CodePart("fence", position, end, match.group(2).strip()))
            position = plain_from = end
        else:
            position = line_end
    return [*parts, *_spans(text, plain_from, len(text))]


def _close(text: str, position: int, opener: str) -> int:
    """Where the fence ends; one that is never closed reaches to the end of the text."""
    closing = re.compile(rf" {{0,3}}{re.escape(opener[0])}{{{len(opener)},}}[ \t]*$")
    while position < len(text):
        line_end = text.find("\n", position)
        line_end = len(text) if line_end < 0 else line_end + 1
        if closing.match(text[position:line_end].rstrip("\n")):
            return line_end
        position = line_end
    return len(text)


def _spans(text: str, start: int, stop: int) -> list[CodePart]:
    parts: list[CodePart] = []
    position = start
    while match := _TICKS.search(text, position, stop):
        opener = match.group(0)
        close = re.compile(rf"(?<!`){opener}(?!`)").search(text, match.end(), stop)
        # A span does not reach over a blank line: that ends the paragraph.
        if close is None or re.search(r"\n[ \t]*\n", text[match.end() : close.start()]):
            position = match.end()
            continue
        parts.append(CodePart("span", match.start(), close.end()))
        position = close.end()
    return parts
