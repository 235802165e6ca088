"""Characters that hide something from the reader's eye, made visible (CASES 125).

What a person is asked to allow must look like what will run: bidi controls reorder text,
zero-width and filler characters hide it, control characters rewrite a terminal's line.
"""

from __future__ import annotations

import re
import unicodedata

# Letters and marks by category, yet drawn as nothing.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_HIDING = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"})
# Joiners make emoji and several scripts; in prose they are meant.
_JOINERS = frozenset("\u200c\u200d\u200e\u200f\u00ad\ufeff")
_UNUSUAL = re.compile(r"[^\n\t -~]")
# Inside a line; before a line, where deep indentation is meant; between lines.
_LONG_GAP = re.compile(
    r"(?<=\S)[ \t]{17,}(?=\S)|^[ \t]{81,}(?=\S)|(?<=\n)(?:[ \t]*\n){9,}", re.MULTILINE
)


def label(character: str) -> str:
    """The box drawn in place of a character: ``⟨U+202E⟩``."""
    return f"⟨U+{ord(character):04X}⟩"


def _hides(character: str) -> bool:
    code = ord(character)
    if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or character in _BLANK:
        return True
    category = unicodedata.category(character)
    return category in _HIDING or (category == "Zs" and character != " ")


def visible(text: str) -> str:
    """The exact text with every hiding character as a labelled box; new lines and tabs stay.

    A long gap is written as its length, since it can push text out of sight.
    """
    text = text.replace("\r\n", "\n")
    shown = _UNUSUAL.sub(lambda found: label(found[0]) if _hides(found[0]) else found[0], text)
    return _LONG_GAP.sub(lambda gap: _gap(gap.group()), shown)


def _gap(blank: str) -> str:
    if lines := blank.count("\n"):
        return f"⟨{lines} empty lines⟩\n"
    return f" ⟨{len(blank)} {'blanks' if chr(9) in blank else 'spaces'}⟩ "


def calm(text: str) -> str:
    """Prose for display: controls and bidi overrides as boxes, joiners and spaces as written."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNUSUAL.sub(lambda found: _calmed(found[0]), text)


def _calmed(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in {"Cc", "Cf", "Cs"}:
        return character
    return label(character)


def one_line(text: str, limit: int = 200) -> str:
    """One visible line of at most ``limit`` characters; white space folded."""
    line = visible(" ".join(text[: limit * 20].split()))
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
