"""Text that a request can carry: no lone surrogates, cut on code points."""

from __future__ import annotations

import re

from pydantic import JsonValue

REMINDER_OPEN = "<system-reminder>"
REMINDER_CLOSE = "</system-reminder>"
# Also with what a reader overlooks: blanks, invisible characters, other hyphens.
_UNSEEN = r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]{0,8}"
_TAG = re.compile(
    rf"[<\uff1c\ufe64](?={_UNSEEN}[/\uff0f]?{_UNSEEN}"
    rf"{_UNSEEN.join('system')}{_UNSEEN}[-_\u2010-\u2015]?{_UNSEEN}{_UNSEEN.join('reminder')})",
    re.IGNORECASE,
)


def clean_text(text: str) -> str:
    """Join surrogate pairs and replace lone halves, which UTF-8 cannot encode (CASES 71)."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_json(value: JsonValue) -> JsonValue:
    """The same for every string inside a JSON value, keys too."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_json(item) for item in value]
    if isinstance(value, dict):
        return clean_object(value)
    return value


def clean_object(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """:func:`clean_json` for an object, keeping its type."""
    return {clean_text(key): clean_json(item) for key, item in value.items()}


def reminder(text: str) -> str:
    """Wrap text the person did not write, so that the model can tell it apart. Once only.

    Tags inside it are disarmed: notes and descriptions come from others.
    """
    inner = text.removeprefix(REMINDER_OPEN).removesuffix(REMINDER_CLOSE).strip()
    return f"{REMINDER_OPEN}\n{without_reminders(inner)}\n{REMINDER_CLOSE}"


def without_reminders(text: str) -> str:
    """The text with the tags of a reminder disarmed: what a tool read must not speak for us."""
    return _TAG.sub("&lt;", text)


class SurrogateJoiner:
    """Joins a surrogate pair that a stream split over two deltas; one per block."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        text = self._held + text
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._held, text = text[-1], text[:-1]
        return clean_text(text)

    def flush(self) -> str:
        """What is still held, as a replacement character."""
        held, self._held = self._held, ""
        return clean_text(held)
