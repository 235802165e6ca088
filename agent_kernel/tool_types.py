"""What a tool is, gets and gives (SPEC T1), free of any tool, client or view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import BaseModel, JsonValue

from agent_kernel.events import Event
from agent_kernel.messages import Frozen, Message, ResultContent, TextBlock
from agent_kernel.vocabulary import PermissionMode, Preview, RuleSuggestion

if TYPE_CHECKING:
    from agent_kernel.agent_types import Spawner
    from agent_kernel.protocols import (
        CommandSource,
        Ids,
        Memory,
        Namespace,
        Notebook,
        ReadState,
        Tasks,
        ToolCaller,
        Trust,
    )


class ToolDisplay(Frozen):
    """The line of a call in the person's words: verb "Edit cell", subject "below [3]".

    An approval asks ``question`` (else the line with a question mark) and says ``place``, where it
    acts (else the working folder).
    """

    verb: str
    subject: str = ""
    question: str = ""
    place: str = ""


class ContextModifier(Frozen):
    """What a result changes until the next user message: pre-approved rules, model, effort."""

    allow: tuple[str, ...] = ()
    model: str | None = None
    effort: str | None = None


@dataclass(frozen=True)
class ToolResult:
    """``content`` goes to the model, ``fact`` and ``preview`` to the person.

    ``extra_messages`` follow the tool results in the conversation; ``events`` are told to views.
    """

    content: tuple[ResultContent, ...]
    is_error: bool = False
    fact: str = ""
    preview: Preview | None = None
    extra_messages: tuple[Message, ...] = ()
    modifier: ContextModifier | None = None

    @classmethod
    def text(cls, text: str, *, fact: str = "", preview: Preview | None = None) -> ToolResult:
        return cls((TextBlock(text=text),), fact=fact, preview=preview)

    @classmethod
    def error(cls, text: str, *, fact: str = "") -> ToolResult:
        return cls(
            (TextBlock(text=text),), is_error=True, fact=fact or text.split("\n", 1)[0][:200]
        )


class RuleTarget(Frozen):
    """What a permission rule's text in brackets is matched against, by kind.

    ``path``: an absolute path, matched as a gitignore pattern, ``access`` says whether Read or Edit
    rules govern it. "run" is the notebook of a cell that is run: rules that forbid to read it
    count, and none of them allows it. ``command``: a shell line. ``name``: a skill or agent name
    with ``args``.
    ``domain``: a host. ``tag``: a notebook-cell attribute such as ``own`` or ``cell:tag=draft``.
    """

    kind: Literal["path", "command", "name", "domain", "tag"]
    value: str
    access: Literal["read", "edit", "run"] | None = None
    args: str = ""


class Opinion(Frozen):
    """A tool's own view of a call; ``none`` decides nothing (SPEC A3)."""

    behavior: Literal["none", "allow", "ask", "deny"] = "none"
    reason: str = ""


class GateDecision(Frozen):
    """``reason`` is for model and person: the rule or mode that decided.

    ``hint`` says which rule or mode would allow the call, for when nobody can be asked.
    """

    behavior: Literal["allow", "deny", "ask"]
    reason: str = ""
    hint: str = ""
    rule: str | None = None
    suggestions: tuple[RuleSuggestion, ...] = ()


@dataclass(frozen=True)
class ToolContext:
    """What a tool gets. Everything that reaches the world is a Protocol.

    ``emit`` tells an event (never raises, never blocks). ``notebook`` and ``namespace`` are None
    where there is no notebook or kernel. ``variables_of_run`` holds values tools of one run share.
    """

    run_id: str
    session_id: str
    agent_id: str
    cwd: Path
    mode: PermissionMode
    emit: Callable[[Event], None]
    ids: Ids
    read_state: ReadState
    notebook: Notebook | None = None
    namespace: Namespace | None = None
    commands: CommandSource | None = None
    caller: ToolCaller | None = None
    spawner: Spawner | None = None
    tasks: Tasks | None = None
    trust: Trust | None = None
    memory: Memory | None = None
    set_mode: Callable[[PermissionMode], None] | None = None
    tool_use_id: str = ""
    run_notes: dict[str, Any] = field(default_factory=dict)


class Tool(Protocol):
    """One tool. Predicates are of the input; ``agent_kernel.tools.base`` has the safe defaults."""

    name: str
    aliases: tuple[str, ...]
    search_hint: str
    max_result_chars: int

    def input_schema(self) -> dict[str, JsonValue]:
        """JSON schema of the input, as the API gets it."""
        ...

    def parse_input(self, raw: Mapping[str, JsonValue]) -> BaseModel:
        """Validate; raises ``ToolError`` whose text says how to write the input right."""
        ...

    def prompt(self) -> str:
        """The description the model reads; constant within a conversation."""
        ...

    def is_enabled(self, context: ToolContext) -> bool: ...
    def is_read_only(self, input: Any) -> bool: ...
    def is_concurrency_safe(self, input: Any) -> bool: ...
    def is_destructive(self, input: Any) -> bool: ...
    def interrupt_behavior(self) -> Literal["cancel", "wait"]: ...

    async def validate_input(self, input: Any, context: ToolContext) -> str | None:
        """None if the call makes sense now, else the text of the error result."""
        ...

    async def check_permissions(self, input: Any, context: ToolContext) -> Opinion: ...

    async def rule_targets(self, input: Any, context: ToolContext) -> tuple[RuleTarget, ...]:
        """What rules with text in brackets are matched against. Empty: only bare rules match."""
        ...

    def display(self, input: Any, context: ToolContext) -> ToolDisplay: ...

    async def preview(self, input: Any, context: ToolContext) -> Preview:
        """The exact, whole thing that will happen, as an approval shows it."""
        ...

    async def call(self, input: Any, context: ToolContext) -> ToolResult:
        """Do it. Raises ``ToolError`` for a failure the model should read."""
        ...
