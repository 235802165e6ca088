"""The five modes: what each allows by itself, and what people and the model are told."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_kernel.tool_types import RuleTarget
from agent_kernel.vocabulary import PermissionMode


@dataclass(frozen=True)
class ModeText:
    """``title`` for a picker, ``summary`` one sentence for a person."""

    title: str
    summary: str


MODES: dict[PermissionMode, ModeText] = {
    "default": ModeText("Ask", "Asks before anything is changed or run."),
    "acceptEdits": ModeText(
        "Accept edits", "Edits files here and cells of this notebook; asks before code is run."
    ),
    "plan": ModeText("Plan", "Only looks; changes nothing until you approve a plan."),
    "dontAsk": ModeText("Do not ask", "Denies what no rule allows."),
    "bypassPermissions": ModeText(
        "Allow everything", "Asks nothing. Only deny and ask rules still hold."
    ),
}


def is_edit_here(targets: Sequence[RuleTarget], cwd: Path) -> bool:
    """Whether the call only changes files below the working folder, links included."""
    paths = [target for target in targets if target.kind == "path"]
    if not paths or any(target.kind == "command" for target in targets):
        return False
    return all(target.access == "edit" and inside(target.value, cwd) for target in paths)


def inside(path: str, folder: Path) -> bool:
    """By real path, so neither ``..`` nor a link leads out."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
