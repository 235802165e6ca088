"""How a permission rule is written: ``Tool`` or ``Tool(text)``, one line, brackets closed."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from agent_kernel.errors import SettingsError

MAX_RULE_CHARS = 1_000

_TOOL = re.compile(r"[A-Za-z*][A-Za-z0-9_*.-]{0,127}")
_OLD_NAMES = {"FileRead": "Read", "FileWrite": "Write", "FileEdit": "Edit", "Task": "Agent"}
_BARE_ONLY = {
    "Python": "`Python` has no form with brackets yet. Write `Python`.",
    "RunCell": "`RunCell` has no form with brackets yet. Write `RunCell`.",
    "Variables": "`Variables` has no form with brackets. Write `Variables`.",
}


@dataclass(frozen=True)
class RuleText:
    """``spec`` None: the tool as a whole. ``Tool(*)`` and ``Tool()`` with only ``*`` are that."""

    tool: str
    spec: str | None = None

    def __str__(self) -> str:
        return self.tool if self.spec is None else f"{self.tool}({self.spec})"


def parse_rule_text(text: str) -> RuleText:
    """Raises ``SettingsError`` that says how to write the rule."""
    shown = text if len(text) <= 80 else text[:77] + "…"
    if len(text) > MAX_RULE_CHARS:
        raise SettingsError(f"`{shown}`: a rule is at most {MAX_RULE_CHARS:,} characters.")
    if any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in text):
        raise SettingsError(
            f"{shown!r}: a rule is one line without control or invisible characters."
        )
    stripped = text.strip()
    name, bracket, rest = stripped.partition("(")
    if not _TOOL.fullmatch(name):
        raise SettingsError(
            f"`{shown}`: a rule begins with a tool's name. Write it like `Edit` or `Edit(src/**)`."
        )
    name = _OLD_NAMES.get(name, name)
    if not bracket:
        if ")" in stripped:
            raise SettingsError(f"`{shown}`: a bracket is closed but not opened.")
        return RuleText(name)
    if not rest.endswith(")"):
        raise SettingsError(f"`{shown}`: the bracket is not closed. Write it like `{name}(…)`.")
    spec = rest[:-1].strip() if name not in {"Read", "Edit", "Write"} else rest[:-1].lstrip()
    if not spec.strip():
        raise SettingsError(f"`{shown}`: the brackets are empty. For any call write `{name}`.")
    if spec == "*":
        return RuleText(name)
    if name in _BARE_ONLY:
        raise SettingsError(f"`{shown}`: {_BARE_ONLY[name]}")
    if name in {"Read", "Edit", "Write"} and spec.startswith("!"):
        raise SettingsError(
            f"`{shown}`: a pattern cannot be negated. A deny rule has no exceptions; "
            "write allow rules for what is meant."
        )
    return RuleText(name, spec)
