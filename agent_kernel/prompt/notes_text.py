"""The Markdown of notes: what is code in it, which comments to drop, which files it imports."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_IMPORT = re.compile(r"(?<![\w`@./])@((?:~/|/|\.{1,2}/)?[\w.][\w./~+-]*)")
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
_PATHS = re.compile(r"^paths[ \t]*:", re.MULTILINE)


def without_comments(text: str) -> str:
    """The text without HTML comments that begin a line, except in code. Unclosed ones stay."""
    return "".join(part for _, part in _parts(text)).strip()


def imports(text: str) -> Iterator[str]:
    """The paths behind ``@``, outside of code spans and fences."""
    for is_code, part in _parts(text):
        if not is_code:
            for paragraph in re.split(r"\n[ \t]*\n", part):
                for match in _IMPORT.finditer(_SPAN.sub(" ", paragraph)):
                    if target := match.group(1).rstrip(".,;:"):
                        yield target


def rule_text(text: str) -> str | None:
    """A rule file's text without its front matter; None if it holds for some paths only."""
    front = _FRONT.match(text)
    if front is None:
        return text
    return None if _PATHS.search(front.group(1)) else text[front.end() :]


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """Fenced code (true) and the prose between, comments taken out."""
    prose: list[str] = []
    rest = text.replace("\r\n", "\n")
    while rest:
        line, newline, after = rest.partition("\n")
        fence = _FENCE.match(line)
        if fence and not (fence.group(1)[0] == "`" and "`" in fence.group(2)):
            yield False, "".join(prose)
            prose = []
            code, after = _fenced(after, fence.group(1))
            yield True, line + newline + code
        elif line.lstrip().startswith("<!--") and "-->" in rest:
            after = rest[rest.index("-->") + 3 :]
            # An otherwise empty line goes with its comment.
            after = after.lstrip(" \t").removeprefix("\n") if _ends_line(after) else after
        else:
            prose.append(line + newline)
        rest = after
    yield False, "".join(prose)


def _ends_line(text: str) -> bool:
    return not text.partition("\n")[0].strip()


def _fenced(text: str, opening: str) -> tuple[str, str]:
    """The code up to its closing fence, and what follows; all of it if nothing closes it."""
    closing = re.compile(
        rf"^ {{0,3}}{re.escape(opening[0])}{{{len(opening)},}}[ \t]*$", re.MULTILINE
    )
    found = closing.search(text)
    if found is None:
        return text, ""
    end = found.end() + 1
    return text[:end], text[end:]
