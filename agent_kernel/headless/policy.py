"""The declared policy: rules given before a run answer what a person would be asked (SPEC B10)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from agent_kernel.events import PermissionRequested
from agent_kernel.protocols import ApprovalAnswer
from agent_kernel.settings.rules import RuleSet, RuleSource, parse_rule
from agent_kernel.tool_types import RuleTarget
from agent_kernel.vocabulary import CellPreview, CommandPreview, DiffPreview

_COMPOUND = re.compile(r"[;&|<>`$()\n]")


class DeclaredPolicy:
    """Allows what a rule covers and denies everything else, at once; it never waits.

    Raises ``SettingsError`` for a rule that cannot be read.
    """

    def __init__(self, allow: Sequence[str], cwd: Path) -> None:
        source = RuleSource(name="command_line", root=cwd, cwd=cwd)
        self._cwd = cwd
        self._rules = RuleSet([parse_rule(text, "allow", source) for text in allow])

    def __call__(self, request: PermissionRequested) -> ApprovalAnswer:
        rule = self._rules.find_allow((request.tool,), self._targets(request))
        if rule is not None:
            return ApprovalAnswer(decision="allow_once", by="policy")
        return ApprovalAnswer(
            decision="deny",
            by="policy",
            reason=(
                "Nobody is here to ask, and no rule of this run allows it. "
                f"Run it again with --allow '{self._suggestion(request)}' to allow it."
            ),
        )

    def _targets(self, request: PermissionRequested) -> tuple[RuleTarget, ...]:
        match request.preview:
            case DiffPreview(path=path):
                whole = str((self._cwd / path).absolute())
                return (RuleTarget(kind="path", value=whole, access="edit"),)
            case CommandPreview(command=command) if not _COMPOUND.search(command):
                return (RuleTarget(kind="command", value=command),)
            case CellPreview(op="insert"):
                return (RuleTarget(kind="tag", value="own"),)
            case _:
                # Of what is not understood here only a rule for the whole tool can speak.
                return ()

    @staticmethod
    def _suggestion(request: PermissionRequested) -> str:
        return request.suggestions[0].rule if request.suggestions else request.tool
