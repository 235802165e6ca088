"""The wire: JSON-RPC 2.0 objects on one comm per page and kernel (DESIGN 6).

Every method of either side has a params model and a result model here; the TypeScript of the front
end is generated from them. Requests carry ids and time limits; an unknown method answers -32601.
"""

from __future__ import annotations

import hashlib
from typing import Literal

from pydantic import Field, JsonValue

from agent_kernel.events import Event, PermissionRequested
from agent_kernel.messages import Frozen
from agent_kernel.vocabulary import (
    CellOutput,
    Decision,
    PermissionMode,
    RuleDestination,
    RunEnd,
    SkillInfo,
)
from agent_kernel.wire_sessions import SessionSummary

PROTOCOL = 1
SESSION_TARGET = "agent_kernel.session"
BELL_TARGET = "agent_kernel.frontend"
MAX_MESSAGE_BYTES = 1_000_000
TURN_MIME = "application/vnd.agent-kernel.turn+json"
SKILLS_MIME = "application/vnd.agent-kernel.skills+json"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
# Ours, in the range JSON-RPC leaves to applications.
CELL_NOT_FOUND = -32001
CELL_CHANGED = -32002
CELL_AMBIGUOUS = -32003
NO_NOTEBOOK = -32004
KERNEL_BUSY = -32005
CELL_LOCKED = -32006


def source_hash(source: str) -> str:
    """First 12 hex digits of the SHA-256 of the source as UTF-8; lone surrogates count as ``?``."""
    return hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()[:12]


class RpcErrorObject(Frozen):
    code: int
    message: str
    data: JsonValue = None


class RpcRequest(Frozen):
    jsonrpc: Literal["2.0"] = "2.0"
    id: str
    method: str
    params: dict[str, JsonValue] = Field(default_factory=dict)


class RpcNotification(Frozen):
    jsonrpc: Literal["2.0"] = "2.0"
    method: str
    params: dict[str, JsonValue] = Field(default_factory=dict)


class RpcResponse(Frozen):
    """Exactly one of ``result`` and ``error`` is meaningful; ``error`` None means success."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: str
    result: JsonValue = None
    error: RpcErrorObject | None = None


class MessagePage(Frozen):
    """One part of a message over 1 MB; the parts' ``text`` joined in order is its JSON."""

    jsonrpc: Literal["2.0"] = "2.0"
    page: int
    pages: int
    message: str
    text: str


class RunSnapshot(Frozen):
    """A run as its joined events; ``seq`` is the last one recorded. Stored in cell outputs too."""

    version: Literal[1] = 1
    run_id: str
    session_id: str = ""
    cell_id: str | None = None
    events: tuple[Event, ...] = ()
    seq: int = 0
    end: RunEnd | None = None


class ModelStatus(Frozen):
    """``offline``: no model is configured and the scripted server answers."""

    model: str
    offline: bool
    endpoint: str = ""
    key_source: str = ""


class Snapshot(Frozen):
    """All a page shows: the session's runs in order and what is going on now."""

    session_id: str
    runs: tuple[RunSnapshot, ...] = ()
    running: str | None = None
    pending: tuple[PermissionRequested, ...] = ()
    mode: PermissionMode = "default"
    model: ModelStatus
    saved: bool = True


# Front end -> kernel


class HelloParams(Frozen):
    """``session_id``: the session that the notebook's metadata names."""

    client: str
    version: str = ""
    protocol: int = PROTOCOL
    notebook_path: str | None = None
    session_id: str | None = None
    capabilities: tuple[Literal["notebook", "approvals", "run"], ...] = ()


class HelloResult(Frozen):
    """``offered``: the notebook's own conversation, while this kernel has not begun another."""

    version: str
    session_id: str
    mode: PermissionMode
    model: ModelStatus
    snapshot: Snapshot
    pending: tuple[PermissionRequested, ...] = ()
    skills: tuple[SkillInfo, ...] = ()
    offered: SessionSummary | None = None


class ByeParams(Frozen):
    """The page closes; ``dirty`` tells whether unsaved changes were left."""

    dirty: bool = False


class PromptParams(Frozen):
    text: str
    cell_id: str | None = None
    mode: PermissionMode | None = None
    model: str | None = None
    new: bool = False


class PromptResult(Frozen):
    """``queued``: a run is on, the text will be seen at its next step."""

    run_id: str
    queued: bool = False


class AnswerParams(Frozen):
    """``by`` "policy": declared rules of a headless front end answered, no person."""

    request_id: str
    nonce: str
    decision: Decision
    rule: str | None = None
    destination: RuleDestination | None = None
    reason: str = ""
    updated_input: dict[str, JsonValue] | None = None
    by: Literal["you", "policy"] = "you"


class AnswerResult(Frozen):
    status: Literal["accepted", "expired"]


class StopParams(Frozen):
    run_id: str | None = None


class StopResult(Frozen):
    stopped: bool


class SetParams(Frozen):
    mode: PermissionMode | None = None
    model: str | None = None
    effort: str | None = None
    api_key: str | None = None


class SetResult(Frozen):
    mode: PermissionMode
    model: ModelStatus
    effort: str | None = None


class CommandParams(Frozen):
    name: str
    args: str = ""
    cell_id: str | None = None


class CommandResult(Frozen):
    run_id: str | None = None
    text: str | None = None


class SkillsResult(Frozen):
    skills: tuple[SkillInfo, ...] = ()


class CompleteParams(Frozen):
    text: str
    cursor: int


class CompleteResult(Frozen):
    """Replace ``text[start:end]`` by one of ``matches``."""

    start: int
    end: int
    matches: tuple[str, ...] = ()


class SnapshotParams(Frozen):
    run_id: str | None = None


class EventParams(Frozen):
    """The one notification: a recorded event of a run of this kernel.

    ``seq`` is the event's own. When deltas were joined on the way, ``first`` is the ``seq`` of the
    first of them, so that a reader can tell joining (``first`` follows what it has) from loss.
    """

    seq: int
    first: int = 0
    run_id: str
    event: Event


# Kernel -> front end


class CellContent(Frozen):
    """A cell as the page holds it. ``hash`` is :func:`source_hash` of ``source``."""

    id: str
    type: Literal["code", "markdown", "raw"]
    source: str
    hash: str
    execution_count: int | None = None
    outputs: tuple[CellOutput, ...] | None = None


class NotebookReadParams(Frozen):
    outputs: bool = False
    cell_ids: tuple[str, ...] | None = None


class NotebookReadResult(Frozen):
    path: str
    dirty: bool
    active_cell_id: str | None = None
    cells: tuple[CellContent, ...] = ()
    total_cells: int = 0


class EditOp(Frozen):
    """One edit. ``after``/``before`` are cell ids for insert and move; neither: at the end.

    ``new_id`` fixes the id of an inserted cell; ``made_by`` marks it as the agent's.
    """

    op: Literal["insert", "replace", "delete", "move"]
    cell_id: str | None = None
    after: str | None = None
    before: str | None = None
    source: str | None = None
    cell_type: Literal["code", "markdown", "raw"] | None = None
    expect_hash: str | None = None
    new_id: str | None = None


class NotebookEditParams(Frozen):
    """All or nothing, one undo step. ``session_id`` goes into the metadata (first run)."""

    run_id: str
    edits: tuple[EditOp, ...]
    session_id: str | None = None


class EditedCell(Frozen):
    """``index`` and ``hash`` are read back from the document; both None for a deleted cell."""

    id: str
    hash: str | None = None
    index: int | None = None


class NotebookEditResult(Frozen):
    """``kept`` (undo only): cells left alone, for somebody has changed them since."""

    cells: tuple[EditedCell, ...] = ()
    total_cells: int = 0
    kept: tuple[str, ...] = ()


class NotebookOutputsParams(Frozen):
    """``outputs`` are nbformat output objects."""

    cell_id: str
    outputs: tuple[dict[str, JsonValue], ...]
    execution_count: int | None = None
    append: bool = False


class NotebookRunParams(Frozen):
    """``subshell``: the main shell is blocked by a running cell, so run on a separate subshell.

    ``expect_hash``: of the source that was allowed. The page compares it when the cell begins, for
    the person may have typed while the kernel was busy.
    """

    cell_id: str
    subshell: bool = False
    run_id: str = ""
    expect_hash: str | None = None


class NotebookRunResult(Frozen):
    status: Literal["ok", "error", "aborted"]
    execution_count: int | None = None
    outputs: tuple[CellOutput, ...] = ()


class KernelExecuteParams(Frozen):
    """Code the page sends as an ``execute_request`` without history (panel runs)."""

    code: str


class KernelExecuteResult(Frozen):
    status: Literal["ok", "error", "aborted"]
    outputs: tuple[CellOutput, ...] = ()


class CellIdParams(Frozen):
    cell_id: str


class OkResult(Frozen):
    ok: bool = True


class RunIdParams(Frozen):
    run_id: str
