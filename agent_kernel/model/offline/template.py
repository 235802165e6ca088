"""Values in scripts: ``{{result:-1:(\\d+) rows | number}}`` and its kin (see ``script``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agent_kernel.model.offline.conversation import ToolOutcome

NOT_FOUND = "(not found)"
_VALUE = re.compile(r"\{\{\s*(result|prompt|match|seen)\b(.*?)\s*\}\}", re.DOTALL)
_FILTER = re.compile(r"\s+\|\s+(number|lines|round)(?:\s+(\d+))?$")


@dataclass(frozen=True)
class Values:
    """What a step may quote."""

    prompt: str
    match: re.Match[str]
    outcomes: Sequence[ToolOutcome]
    everything: Sequence[str]

    def fill(self, value: JsonValue) -> JsonValue:
        """The value with its templates replaced, in lists and mappings too."""
        if isinstance(value, str):
            return self._fill_text(value)
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if isinstance(value, dict):
            return {key: self.fill(item) for key, item in value.items()}
        return value

    def text(self, value: str) -> str:
        """Like :meth:`fill`, always as text."""
        return _VALUE.sub(lambda found: str(self._value(found)), value)

    def _fill_text(self, value: str) -> JsonValue:
        whole = _VALUE.fullmatch(value)
        return self._value(whole) if whole else self.text(value)

    def _value(self, found: re.Match[str]) -> str | int | float:
        source, rest = found.group(1), found.group(2)
        filter_ = _FILTER.search(rest)
        if filter_:
            rest = rest[: filter_.start()]
        text = self._look_up(source, rest.removeprefix(":"))
        if text is None:
            return NOT_FOUND
        return _filtered(text, filter_) if filter_ else text

    def _look_up(self, source: str, rest: str) -> str | None:
        if source == "match":
            try:
                return self.match.group(int(rest or 0))
            except (IndexError, ValueError):
                return None
        if source == "prompt":
            return _first(rest, [self.prompt])
        if source == "seen":
            return _first(rest, self.everything)
        which, _, regex = rest.partition(":")
        outcome = self._outcome(which or "-1")
        return None if outcome is None else _first(regex, [outcome.text])

    def _outcome(self, which: str) -> ToolOutcome | None:
        try:
            return self.outcomes[int(which)]
        except IndexError:
            return None
        except ValueError:
            named = [outcome for outcome in self.outcomes if outcome.tool == which]
            return named[-1] if named else None


def _first(regex: str, texts: Sequence[str]) -> str | None:
    try:
        re.compile(regex)
    except re.error:
        return None
    for text in texts:
        found = re.search(regex, text, re.MULTILINE) if regex else re.match(r"[\s\S]*", text)
        if found:
            return found.group(1) if found.re.groups else found.group(0)
    return None


def _filtered(text: str, filter_: re.Match[str]) -> str | int | float:
    name, count = filter_.group(1), int(filter_.group(2) or 0)
    if name == "lines":
        return "\n".join(text.split("\n")[:count])
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return NOT_FOUND
    if name == "round":
        return f"{number:.{count}f}"
    return int(number) if number.is_integer() else number
