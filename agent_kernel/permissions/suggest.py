"""Which rules a question offers to keep: the narrowest that would answer it next time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from agent_kernel.settings.rules import escape_pattern
from agent_kernel.tool_types import RuleTarget
from agent_kernel.vocabulary import RuleSuggestion

SESSION_ONLY = frozenset({"Python", "RunCell", "Bash"})
"""Tools whose bare rule stands for any code: offered for a session, never for always."""


def suggestions_for(
    tool: str, targets: Sequence[RuleTarget], cwd: Path
) -> tuple[RuleSuggestion, ...]:
    """The session's rule first, then the one *Always allow* would save, if there is one."""
    rule = _rule(tool, targets, cwd)
    if rule is None:
        return ()
    session = RuleSuggestion(rule=rule, destination="session")
    if rule in SESSION_ONLY:
        return (session,)
    return (session, RuleSuggestion(rule=rule, destination="local"))


def _rule(tool: str, targets: Sequence[RuleTarget], cwd: Path) -> str | None:
    if any(target.kind == "tag" and target.value == "own" for target in targets):
        return f"{tool}(own)"
    things = [target for target in targets if target.kind != "tag" and target.access != "run"]
    if not things:
        return tool
    if len(things) > 1:
        # One rule cannot stand for several things; asking again is better than too wide a rule.
        return None
    target = things[0]
    if "\n" in target.value or "\r" in target.value:
        return None
    if target.kind == "path":
        if os.path.realpath(target.value) != os.path.join(  # noqa: PTH118
            os.path.realpath(Path(target.value).parent), Path(target.value).name
        ):
            return None
        return f"{'Edit' if target.access == 'edit' else 'Read'}({_path(target.value, cwd)})"
    if target.kind == "domain":
        return f"{tool}(domain:{target.value})"
    return f"{tool}({target.value})"


def _path(path: str, cwd: Path) -> str:
    """As a person would write it: from the working folder if it lies there, else absolute."""
    for base in (str(cwd), os.path.realpath(cwd)):
        try:
            return "./" + escape_pattern(Path(path).relative_to(base).as_posix())
        except ValueError:
            continue
    return "/" + escape_pattern(Path(path).as_posix())
