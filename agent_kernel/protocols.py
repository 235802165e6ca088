"""The seams: only Protocol calls reach the world (DESIGN 3).

Each seam has a real implementation, a scripted one in ``agent_kernel.testing`` and a conformance
suite that both pass. Unless said otherwise, methods are called on the agent thread's loop.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

from pydantic import BaseModel, JsonValue

from agent_kernel.events import Event, PermissionRequested
from agent_kernel.messages import AttachmentMessage, Frozen, Message
from agent_kernel.model_types import Capabilities, ModelRequest, ReplyEvent
from agent_kernel.tool_types import ContextModifier, GateDecision, Tool, ToolContext, ToolResult
from agent_kernel.vocabulary import (
    CellOutput,
    Decision,
    RuleDestination,
    SkillInfo,
)
from agent_kernel.wire import (
    CellContent,
    EditedCell,
    EditOp,
    ModelStatus,
    NotebookRunResult,
    RunSnapshot,
)
from agent_kernel.wire_sessions import SessionSummary


class ModelClient(Protocol):
    """One model endpoint."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ReplyEvent]:
        """Stream one reply. A failure is a final ``ReplyFailed``; only cancellation raises."""
        ...

    async def capabilities(self, model: str) -> Capabilities: ...

    async def status(self) -> ModelStatus: ...

    async def close(self) -> None: ...


class PermissionGate(Protocol):
    """Judges every tool call at every depth (SPEC A3)."""

    def forget_session(self) -> None:
        """Another conversation begins: what was allowed for the session only is asked again."""
        ...

    def may_read(self, path: Path) -> bool:
        """Whether the file may be read without a call that is judged, as notes of a project are."""
        ...

    def hides(self, tool: Tool) -> bool:
        """Whether the tool is denied as a whole, so that the model need not know it (SPEC T2)."""
        ...

    async def decide(
        self,
        tool: Tool,
        input: BaseModel,
        context: ToolContext,
        *,
        hook: Literal["none", "allow", "ask", "deny"] = "none",
    ) -> GateDecision:
        """``hook`` is what a PreToolUse hook said; its allow never beats a deny or ask rule."""
        ...

    async def proves(self, rule: str, tool: Tool, input: BaseModel, context: ToolContext) -> bool:
        """Whether an allow rule would have let this call pass; asked before it is kept.

        Raises ``SettingsError`` if the rule cannot be parsed.
        """
        ...

    def remember(self, rule: str, destination: RuleDestination) -> None:
        """Keep an allow rule; raises ``SettingsError`` if it cannot be parsed or saved."""
        ...

    def apply(self, modifier: ContextModifier | None) -> None:
        """Pre-approvals that last until the next user message; None clears them."""
        ...

    def child(self) -> PermissionGate:
        """The same rules for a sub-agent, with pre-approvals of its own from now on."""
        ...


class ApprovalAnswer(Frozen):
    """``reason`` goes to the model with a deny; ``updated_input`` is validated and judged again."""

    decision: Decision
    by: Literal["you", "policy", "stop"] = "you"
    rule: str | None = None
    destination: RuleDestination | None = None
    reason: str = ""
    updated_input: dict[str, JsonValue] | None = None


class Approver(Protocol):
    """Asks a person. The request has already been told as an event; ask only waits."""

    def can_ask(self) -> bool:
        """Whether anybody could answer now; if not, the call is denied at once."""
        ...

    async def ask(self, request: PermissionRequested) -> ApprovalAnswer:
        """Wait for the first valid answer; cancellation withdraws the question."""
        ...


class ApprovalDesk(Approver, Protocol):
    """Where cell, panel and ``input()`` answer the same question; thread-safe."""

    def pending(self) -> tuple[PermissionRequested, ...]: ...

    def answer(self, request_id: str, nonce: str, answer: ApprovalAnswer) -> bool:
        """True if it counted: right nonce, still open. An answer counts once."""
        ...


class HookOutcome(Frozen):
    """``block``: a reason that stops the action. ``opinion`` only from PreToolUse."""

    block: str | None = None
    opinion: Literal["none", "allow", "ask", "deny"] = "none"
    updated_input: dict[str, JsonValue] | None = None
    additional_context: tuple[str, ...] = ()
    stop: str | None = None
    messages: tuple[str, ...] = ()


class Hooks(Protocol):
    async def run(self, event: str, payload: dict[str, JsonValue]) -> HookOutcome: ...


class NotebookState(Frozen):
    """``channel``: the open page or the file. ``hash`` of a cell is what an edit must carry."""

    path: str
    channel: Literal["page", "file"]
    cells: tuple[CellContent, ...]
    active_cell_id: str | None = None
    running_cell_id: str | None = None
    dirty: bool = False
    total_cells: int = 0


class Notebook(Protocol):
    """The notebook of this session, by cell id. Raises ``NotebookError`` and its kinds."""

    async def read(
        self, cell_ids: Sequence[str] | None = None, *, outputs: bool = False
    ) -> NotebookState: ...

    async def edit(self, edits: Sequence[EditOp], *, run_id: str) -> tuple[EditedCell, ...]:
        """All or nothing; read back before it returns."""
        ...

    async def run(
        self,
        cell_id: str,
        *,
        run_id: str,
        timeout: float | None = None,
        expect_hash: str | None = None,
    ) -> NotebookRunResult:
        """Run one cell as if the person had; outputs land in that cell and come back.

        Raises ``CellChanged`` if its source is not that of ``expect_hash`` when it would begin.
        """
        ...

    async def undo(self, run_id: str) -> tuple[EditedCell, ...]: ...


class CodeRun(Frozen):
    """Outcome of code in the user's namespace; ``outputs`` in order, an error last."""

    status: Literal["ok", "error", "interrupted"]
    outputs: tuple[CellOutput, ...] = ()
    duration_ms: int = 0


class VariableInfo(Frozen):
    """``summary`` is bounded text: columns, head, nulls; ``size`` in bytes where it is cheap."""

    name: str
    type: str
    shape: str = ""
    size: int | None = None
    summary: str = ""


class Namespace(Protocol):
    """The user's kernel: code runs on its main thread."""

    async def run_code(
        self, code: str, *, on_output: Callable[[CellOutput], None] | None = None
    ) -> CodeRun: ...

    async def variables(self, names: Sequence[str] | None = None) -> tuple[VariableInfo, ...]:
        """Summaries without running unbounded code; unknown names are left out."""
        ...

    async def interrupt(self) -> None: ...


class PageChannel(Protocol):
    """The comm to one page, seen from the kernel (DESIGN: ``Page``)."""

    async def request(
        self, method: str, params: BaseModel | None, *, timeout: float
    ) -> dict[str, JsonValue]:
        """Raises ``WireError`` for an error answer and ``WireTimeout`` for none."""
        ...


class Command(Protocol):
    """Everything invoked by name (SPEC K1); a skill is a prompt command."""

    @property
    def info(self) -> SkillInfo: ...
    @property
    def when_to_use(self) -> str: ...
    @property
    def model_invocable(self) -> bool: ...
    @property
    def allowed_tools(self) -> tuple[str, ...]: ...
    @property
    def model(self) -> str | None: ...
    @property
    def only_safe_properties(self) -> bool:
        """Whether calling it can do no more than bring text (SPEC K9)."""
        ...

    async def get_prompt(self, args: str, context: ToolContext | None) -> str:
        """The expanded text. Raises ``SkillError``."""
        ...


class CommandSource(Protocol):
    async def list(self) -> tuple[Command, ...]: ...

    async def find(self, name: str) -> Command | None: ...


class ToolCaller(Protocol):
    """The whole pipeline for one call, so that nothing bypasses the gate."""

    async def call(self, name: str, input: dict[str, JsonValue]) -> ToolResult: ...


class AttachmentSource(Protocol):
    """Adds what the model has not seen yet; asked once per round."""

    async def collect(self, context: ToolContext) -> Sequence[AttachmentMessage]: ...

    def reset(self) -> None:
        """After a compact, clear or resume: everything counts as unseen."""
        ...


class ReadState(Protocol):
    """What this agent has read: ``file:<real path>`` or ``cell:<path>#<id>`` -> hash."""

    def remember(self, key: str, digest: str) -> None: ...
    def digest(self, key: str) -> str | None: ...
    def forget(self, key: str) -> None: ...

    def recent(self) -> Sequence[str]:
        """The keys, the one read last first."""
        ...


class Memory(Protocol):
    async def recall(self, query: str) -> Sequence[str]: ...
    async def remember(self, kind: str, text: str) -> None: ...


class Blobs(Protocol):
    """Large results beside the transcript."""

    async def put(self, name: str, data: bytes) -> Path: ...


class Checkpoints(Protocol):
    async def before_write(self, path: Path, run_id: str) -> None: ...
    async def restore(self, run_id: str) -> Sequence[Path]: ...


class Tasks(Protocol):
    """Background work: shells and agents."""

    async def output(self, task_id: str) -> str: ...
    async def stop(self, task_id: str) -> bool: ...


class Trust(Protocol):
    def is_trusted(self, folder: Path) -> bool: ...
    def trust(self, folder: Path) -> None: ...


class EventSink(Protocol):
    """Told every recorded event of a run. Never raises, never blocks; any thread."""

    def emit(self, event: Event) -> None: ...


class OpenedSession(Frozen):
    """A session claimed for writing. ``notice``: what the person should know about it.

    ``session_id`` is a fork's if another process holds the one asked for; ``skipped`` counts lines
    that could not be read.
    """

    session_id: str
    messages: tuple[Message, ...] = ()
    skipped: int = 0
    notice: str = ""


class SessionStore(Protocol):
    """Append-only transcripts. Raises ``StoreError``."""

    def open(self, session_id: str) -> OpenedSession:
        """Claim a session, new or old, for this process; forks if another one holds it."""
        ...

    def close(self, session_id: str) -> None:
        """Give up the claim."""
        ...

    def check(self) -> None:
        """Raises ``StoreError`` if nothing could be saved now; leaves nothing behind."""
        ...

    def append(self, session_id: str, message: Message) -> None: ...
    def load(self, session_id: str) -> list[Message]: ...
    def list(self) -> tuple[SessionSummary, ...]: ...
    def fork(self, session_id: str) -> str:
        """A copy under a new id, which it returns."""
        ...

    def keep_run(self, session_id: str, run: RunSnapshot, *, until: str) -> None:
        """Keep a finished run as views show it; ``until``: uuid of the last message it added."""
        ...

    def runs(self, session_id: str, messages: Sequence[Message]) -> tuple[RunSnapshot, ...]:
        """The newest runs in order, also those that nobody kept: told from the messages."""
        ...


class Sandbox(Protocol):
    def wrap(self, argv: Sequence[str]) -> Sequence[str]: ...


class Clock(Protocol):
    """Time as a seam, so that event logs are byte-stable in tests."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


class Ids(Protocol):
    def new(self, prefix: str) -> str:
        """A fresh id such as ``run_4f…``; unguessable in the real one."""
        ...
