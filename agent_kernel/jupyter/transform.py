"""Input transformers: what a person types after our magics arrives as typed (CASES 52, 53).

IPython reads a line that ends in ``?`` as a request for help, refuses a cell magic without a body,
and knows a cell magic only in the first line. These three get in before it does.
"""

from __future__ import annotations

import re
import tokenize
from typing import Any

from IPython.core.inputtransformer2 import TokenTransformBase

NAMES = ("agent", "skill")
_CELL = re.compile(r"%%(agent|skill)(?![\w.])[ \t]*(.*)")
_LINE = re.compile(r"%(agent|skill)[ \t]+(\S.*?)\s*$")


def drop_leading_comments(lines: list[str]) -> list[str]:
    """Comments and blank lines above ``%%agent`` are the person's own; the cell is still ours."""
    for number, line in enumerate(lines):
        if line.strip() and not line.lstrip().startswith("#"):
            return lines[number:] if _CELL.match(line) else lines
    return lines


def keep_empty_body(lines: list[str]) -> list[str]:
    """``%%agent`` with nothing below still reaches the magic, which says what to write."""
    if not lines or any(line.strip() for line in lines[1:]):
        return lines
    found = _CELL.match(lines[0].rstrip())
    if found is None:
        return lines
    return [f"get_ipython().run_cell_magic({found[1]!r}, {found[2]!r}, '\\n')\n"]


class QuestionLine(TokenTransformBase):
    """``%skill why is it slow?`` is a question to us, not a request for help on ``slow``."""

    priority = 1  # before HelpEnd's 5

    @classmethod
    def find(cls, tokens_by_line: list[list[tokenize.TokenInfo]]) -> QuestionLine | None:
        for line in tokens_by_line:
            token = next((t for t in line if t.type not in _INDENTS), None)
            if token is None or token.string != "%":
                continue
            text = token.line[token.start[1] :].split("\n", 1)[0]
            found = _LINE.match(text)
            if found is not None and found[2].endswith("?"):
                return cls(token.start)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        number, column = self.start_line, self.start_col
        found = _LINE.match(lines[number][column:])
        if found is None:
            raise SyntaxError(lines[number])
        call = f"get_ipython().run_line_magic({found[1]!r}, {found[2]!r})"
        return [*lines[:number], f"{lines[number][:column]}{call}\n", *lines[number + 1 :]]


_INDENTS = frozenset({tokenize.INDENT, tokenize.DEDENT})


def install(shell: Any) -> None:
    """Add ours, each once."""
    manager = shell.input_transformer_manager
    for place, ours in _places(manager):
        if ours not in place:
            place.insert(0, ours)


def uninstall(shell: Any) -> None:
    for place, ours in _places(shell.input_transformer_manager):
        if ours in place:
            place.remove(ours)


def _places(manager: Any) -> tuple[tuple[list[Any], Any], ...]:
    return (
        (manager.cleanup_transforms, drop_leading_comments),
        (manager.line_transforms, keep_empty_body),
        (manager.token_transformers, QuestionLine),
    )
