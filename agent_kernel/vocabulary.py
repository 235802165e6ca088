"""The small values that events, the wire and the seams share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from agent_kernel.messages import Frozen

PermissionMode = Literal["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]

MODES_BY_STRICTNESS: tuple[PermissionMode, ...] = (
    "plan", "dontAsk", "default", "acceptEdits", "bypassPermissions",
)  # fmt: skip
"""What allows least comes first."""

Decision = Literal["allow_once", "allow_session", "allow_always", "deny", "deny_stop"]
RuleDestination = Literal["session", "local", "project", "user"]
ToolStatus = Literal["ok", "error", "denied", "cancelled"]


class RunEnd(StrEnum):
    """How a run ended (SPEC L3)."""

    COMPLETED = "completed"
    MAX_TURNS = "max_turns"
    BLOCKING_LIMIT = "blocking_limit"
    BUDGET_SPENT = "budget_spent"
    MODEL_ERROR = "model_error"
    ABORTED_STREAMING = "aborted_streaming"
    ABORTED_TOOLS = "aborted_tools"
    PROMPT_TOO_LONG = "prompt_too_long"
    HOOK_STOPPED = "hook_stopped"
    REFUSED = "refused"

    @property
    def raises(self) -> bool:
        """Whether a magic cell raises at this end, so that *run all* stops (SPEC N4)."""
        return self in {
            RunEnd.MODEL_ERROR,
            RunEnd.PROMPT_TOO_LONG,
            RunEnd.BLOCKING_LIMIT,
            RunEnd.ABORTED_STREAMING,
            RunEnd.ABORTED_TOOLS,
        }


class CellOutput(Frozen):
    """One output of a cell in nbformat's terms; fields its type lacks stay ``None``."""

    output_type: Literal["stream", "display_data", "execute_result", "error"]
    name: Literal["stdout", "stderr"] | None = None
    text: str | None = None
    data: dict[str, JsonValue] | None = None
    metadata: dict[str, JsonValue] | None = None
    execution_count: int | None = None
    ename: str | None = None
    evalue: str | None = None
    traceback: tuple[str, ...] | None = None


def strictest(*modes: PermissionMode) -> PermissionMode:
    """The mode that allows least."""
    return min(modes, key=MODES_BY_STRICTNESS.index)


class CommandPreview(Frozen):
    kind: Literal["command"] = "command"
    command: str
    cwd: str = ""


class DiffPreview(Frozen):
    """``old`` and ``new`` are the whole texts. ``old`` None: a new file."""

    kind: Literal["diff"] = "diff"
    path: str
    old: str | None
    new: str
    language: str = ""


class CodePreview(Frozen):
    kind: Literal["code"] = "code"
    code: str
    language: str = "python"


class CellPreview(Frozen):
    """An edit of one cell. ``where`` is in the person's words: "below [3]", "[5]"."""

    kind: Literal["cell"] = "cell"
    op: Literal["insert", "replace", "delete", "move", "run"]
    cell_id: str | None = None
    where: str = ""
    cell_type: Literal["code", "markdown", "raw"] = "code"
    old: str | None = None
    new: str | None = None


class TextPreview(Frozen):
    kind: Literal["text"] = "text"
    text: str


Preview = Annotated[
    CommandPreview | DiffPreview | CodePreview | CellPreview | TextPreview,
    Field(discriminator="kind"),
]


class RuleSuggestion(Frozen):
    """A rule that *Always allow* (or *for this session*) would save; shown, editable."""

    rule: str
    destination: RuleDestination = "session"


class TodoItem(Frozen):
    content: str
    status: Literal["pending", "in_progress", "completed"] = "pending"
    active_form: str = ""


class SkillInfo(Frozen):
    """One skill as a view lists it. ``shadowed_by`` is the source that hides it, if any."""

    name: str
    description: str = ""
    source: str = ""
    argument_hint: str = ""
    arguments: tuple[str, ...] = ()
    user_invocable: bool = True
    shadowed_by: str | None = None


class CellChange(Frozen):
    """``where`` is in the person's words; ``source_head`` the first line of the cell."""

    cell_id: str
    op: Literal["made", "edited", "deleted", "moved", "ran"]
    hash: str | None = None
    where: str = ""
    source_head: str = ""
