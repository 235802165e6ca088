"""What is told: one union of events. Only events reach a view (DESIGN 4).

The loop yields events with ``run_id``, ``seq`` and ``at`` unset; the session stamps them when it
records them. A run's recorded events, deltas joined, *are* its state: a late view gets them as a
snapshot and every rendering is a function of them. A joined delta carries the ``seq`` of its last
part. Readers skip unknown types.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from agent_kernel.messages import Frozen, ResultContent, Usage
from agent_kernel.vocabulary import (
    CellChange,
    CellOutput,
    Decision,
    PermissionMode,
    Preview,
    RuleSuggestion,
    RunEnd,
    SkillInfo,
    TodoItem,
    ToolStatus,
)


class BaseEvent(Frozen):
    """``at`` is seconds since the epoch; ``agent_id`` is "main" or a sub-agent's id."""

    run_id: str = ""
    seq: int = 0
    agent_id: str = "main"
    at: float = 0.0


class RunStarted(BaseEvent):
    type: Literal["run_started"] = "run_started"
    prompt: str
    model: str
    mode: PermissionMode
    origin: Literal["cell", "panel", "python", "cli", "agent"] = "cell"
    cell_id: str | None = None
    notebook_path: str | None = None
    offline: bool = False


class MessageStarted(BaseEvent):
    type: Literal["message_started"] = "message_started"
    message_id: str
    model: str = ""
    turn: int = 1


class TextDelta(BaseEvent):
    type: Literal["text_delta"] = "text_delta"
    message_id: str
    index: int
    text: str


class ThinkingDelta(BaseEvent):
    """``seconds`` is set on the last delta of a block: how long the model thought."""

    type: Literal["thinking_delta"] = "thinking_delta"
    message_id: str
    index: int
    text: str
    seconds: float | None = None


class ToolUseStarted(BaseEvent):
    """The model began to write a call; its input is still streaming."""

    type: Literal["tool_use_started"] = "tool_use_started"
    message_id: str
    index: int
    tool_use_id: str
    tool: str


class ToolInputDelta(BaseEvent):
    type: Literal["tool_input_delta"] = "tool_input_delta"
    tool_use_id: str
    partial_json: str


class ToolStarted(BaseEvent):
    """The call is judged or running. Reads as a line: "Edit cell" + "below [3]"."""

    type: Literal["tool_started"] = "tool_started"
    tool_use_id: str
    tool: str
    verb: str
    subject: str = ""
    input: dict[str, JsonValue] = Field(default_factory=dict)
    read_only: bool = False


class ToolProgress(BaseEvent):
    """Something to show while the tool runs: a line of text or outputs of code."""

    type: Literal["tool_progress"] = "tool_progress"
    tool_use_id: str
    text: str = ""
    outputs: tuple[CellOutput, ...] = ()


class ToolFinished(BaseEvent):
    """``fact`` is the one fact of the line ("+6 lines"); ``preview`` shows what it did."""

    type: Literal["tool_finished"] = "tool_finished"
    tool_use_id: str
    status: ToolStatus
    fact: str = ""
    content: tuple[ResultContent, ...] = ()
    preview: Preview | None = None
    duration_ms: int = 0


class PermissionRequested(BaseEvent):
    """Waits for a person. ``reason`` says why it asks, ``where`` where it acts."""

    type: Literal["permission_requested"] = "permission_requested"
    request_id: str
    nonce: str
    tool_use_id: str
    tool: str
    title: str
    where: str = ""
    reason: str = ""
    input: dict[str, JsonValue] = Field(default_factory=dict)
    preview: Preview
    read_only: bool = False
    suggestions: tuple[RuleSuggestion, ...] = ()


class PermissionResolved(BaseEvent):
    """``by``: "you" (a person), or "stop" when the run was stopped while it waited."""

    type: Literal["permission_resolved"] = "permission_resolved"
    request_id: str
    tool_use_id: str
    decision: Decision
    by: Literal["you", "policy", "stop"] = "you"
    rule: str | None = None
    reason: str = ""


class QuestionAsked(BaseEvent):
    type: Literal["question_asked"] = "question_asked"
    request_id: str
    nonce: str
    tool_use_id: str
    question: str
    choices: tuple[str, ...] = ()
    multiple: bool = False


class QuestionAnswered(BaseEvent):
    type: Literal["question_answered"] = "question_answered"
    request_id: str
    tool_use_id: str
    answers: tuple[str, ...] = ()


class PlanProposed(BaseEvent):
    type: Literal["plan_proposed"] = "plan_proposed"
    request_id: str
    nonce: str
    tool_use_id: str
    plan: str


class PlanResolved(BaseEvent):
    type: Literal["plan_resolved"] = "plan_resolved"
    request_id: str
    tool_use_id: str
    approved: bool
    plan: str = ""
    reason: str = ""


class TodoUpdated(BaseEvent):
    type: Literal["todo_updated"] = "todo_updated"
    todos: tuple[TodoItem, ...]


class SkillsListed(BaseEvent):
    type: Literal["skills_listed"] = "skills_listed"
    skills: tuple[SkillInfo, ...]


class SkillStarted(BaseEvent):
    type: Literal["skill_started"] = "skill_started"
    name: str
    args: str = ""
    by: Literal["you", "model"] = "you"
    tool_use_id: str | None = None


class AgentStarted(BaseEvent):
    type: Literal["agent_started"] = "agent_started"
    child_id: str
    tool_use_id: str | None = None
    agent_type: str = ""
    description: str = ""


class AgentProgress(BaseEvent):
    type: Literal["agent_progress"] = "agent_progress"
    child_id: str
    text: str = ""
    turns: int = 0


class AgentFinished(BaseEvent):
    type: Literal["agent_finished"] = "agent_finished"
    child_id: str
    end: RunEnd
    text: str = ""
    usage: Usage = Usage()


class UsageReported(BaseEvent):
    """Usage of one model call; ``cost_usd`` is None when the model's price is unknown."""

    type: Literal["usage"] = "usage"
    message_id: str
    model: str
    usage: Usage
    cost_usd: float | None = None


class Notice(BaseEvent):
    """Something the person should know. ``code`` is stable; ``until``: count down to it."""

    type: Literal["notice"] = "notice"
    level: Literal["info", "warning", "error"] = "info"
    text: str
    code: str = ""
    until: float | None = None


class Compacted(BaseEvent):
    type: Literal["compacted"] = "compacted"
    trigger: Literal["manual", "auto", "reactive"]
    tokens_before: int
    tokens_after: int
    summary: str = ""


class Tombstone(BaseEvent):
    """Withdraws what was shown of a message; ``reason`` is shown in its place."""

    type: Literal["tombstone"] = "tombstone"
    message_id: str
    reason: str


class NotebookChanged(BaseEvent):
    type: Literal["notebook_changed"] = "notebook_changed"
    path: str
    channel: Literal["page", "file"]
    changes: tuple[CellChange, ...]


class PromptTaken(BaseEvent):
    """A message the person sent during the run has reached the model (SPEC L2.10)."""

    type: Literal["prompt_taken"] = "prompt_taken"
    text: str


class RunFinished(BaseEvent):
    """Last event of a run. ``text`` is the final answer; ``detail`` what went wrong.

    ``value``: the answer as JSON, where a type was asked for.
    ``usage`` and ``cost_usd`` are this run's with its sub-agents; ``session_…`` all runs' so far.
    """

    type: Literal["run_finished"] = "run_finished"
    end: RunEnd
    turns: int = 0
    text: str = ""
    value: JsonValue = None
    detail: str = ""
    usage: Usage = Usage()
    cost_usd: float | None = None
    session_usage: Usage = Usage()
    session_cost_usd: float | None = None
    duration_ms: int = 0


Event = Annotated[
    RunStarted
    | MessageStarted
    | TextDelta
    | ThinkingDelta
    | ToolUseStarted
    | ToolInputDelta
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | PermissionRequested
    | PermissionResolved
    | QuestionAsked
    | QuestionAnswered
    | PlanProposed
    | PlanResolved
    | TodoUpdated
    | SkillsListed
    | SkillStarted
    | AgentStarted
    | AgentProgress
    | AgentFinished
    | UsageReported
    | Notice
    | Compacted
    | Tombstone
    | NotebookChanged
    | PromptTaken
    | RunFinished,
    Field(discriminator="type"),
]
