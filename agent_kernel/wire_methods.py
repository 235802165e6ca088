"""The methods of the wire: what each side answers, with the models of its params and results."""

from __future__ import annotations

from agent_kernel.messages import Frozen
from agent_kernel.wire import (
    AnswerParams,
    AnswerResult,
    ByeParams,
    CellIdParams,
    CommandParams,
    CommandResult,
    CompleteParams,
    CompleteResult,
    HelloParams,
    HelloResult,
    KernelExecuteParams,
    KernelExecuteResult,
    NotebookEditParams,
    NotebookEditResult,
    NotebookOutputsParams,
    NotebookReadParams,
    NotebookReadResult,
    NotebookRunParams,
    NotebookRunResult,
    OkResult,
    PromptParams,
    PromptResult,
    RunIdParams,
    SetParams,
    SetResult,
    SkillsResult,
    Snapshot,
    SnapshotParams,
    StopParams,
    StopResult,
)
from agent_kernel.wire_sessions import NewResult, ResumeParams, ResumeResult, SessionsResult

FRONT_END_METHODS: dict[str, tuple[type[Frozen] | None, type[Frozen]]] = {
    "hello": (HelloParams, HelloResult),
    "bye": (ByeParams, OkResult),
    "prompt": (PromptParams, PromptResult),
    "answer": (AnswerParams, AnswerResult),
    "stop": (StopParams, StopResult),
    "set": (SetParams, SetResult),
    "command": (CommandParams, CommandResult),
    "skills": (None, SkillsResult),
    "complete": (CompleteParams, CompleteResult),
    "sessions": (None, SessionsResult),
    "resume": (ResumeParams, ResumeResult),
    "new": (None, NewResult),
    "snapshot": (SnapshotParams, Snapshot),
    "ping": (None, OkResult),
}
"""Methods the kernel answers: name -> (params or None, result)."""

KERNEL_METHODS: dict[str, tuple[type[Frozen] | None, type[Frozen]]] = {
    "notebook.read": (NotebookReadParams, NotebookReadResult),
    "notebook.edit": (NotebookEditParams, NotebookEditResult),
    "notebook.outputs": (NotebookOutputsParams, OkResult),
    "notebook.run": (NotebookRunParams, NotebookRunResult),
    "notebook.reveal": (CellIdParams, OkResult),
    "notebook.save": (None, OkResult),
    "notebook.undo": (RunIdParams, NotebookEditResult),
    "kernel.execute": (KernelExecuteParams, KernelExecuteResult),
    "ping": (None, OkResult),
}
"""Methods the page answers: name -> (params or None, result)."""
