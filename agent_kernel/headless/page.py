"""A page without a browser: it speaks the wire for a notebook in memory.

It opens the session comm on a subshell of its own, answers the kernel's requests, hears the events
and answers questions by a policy. Inserted and run cells end up in ``document.notebook``.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from jupyter_client.asynchronous.client import AsyncKernelClient
from nbformat import NotebookNode, from_dict
from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from agent_kernel import wire, wire_methods
from agent_kernel.errors import WireError
from agent_kernel.events import Event, PermissionRequested
from agent_kernel.headless.document import Document
from agent_kernel.headless.link import KernelLink, OnInput
from agent_kernel.headless.outputs import DisplayIds, OutputArea, as_cell_output
from agent_kernel.jupyter.paging import JsonObject, pack
from agent_kernel.jupyter.rpc import Method, Peer
from agent_kernel.protocols import ApprovalAnswer

Policy = Callable[[PermissionRequested], Awaitable[ApprovalAnswer | None] | ApprovalAnswer | None]
OnEvent = Callable[[Event], None]

HELLO_LIMIT = 10.0  # seconds; the kernel may have to import the client library first


class HeadlessPage:
    """One page of one kernel. All methods belong to one asyncio loop.

    ``policy`` answers permission requests (None: leave them to somebody else). ``subshells`` False
    plays a front end that cannot reach a blocked kernel.
    """

    def __init__(
        self,
        client: AsyncKernelClient,
        notebook: NotebookNode,
        *,
        path: str = "notebook.ipynb",
        policy: Policy | None = None,
        on_event: OnEvent | None = None,
        on_input: OnInput | None = None,
        name: str = "agent-kernel",
        subshells: bool = True,
    ) -> None:
        self.document = Document(notebook, path)
        self.session_id = ""
        self.events: list[Event] = []
        self.sessions_heard: list[str] = []
        self.hello_result: wire.HelloResult | None = None
        self._name = name
        self._policy = policy
        self._on_event = on_event
        self._displays = DisplayIds()
        self._subshells = subshells
        self.comm_subshell: str | None = None
        self._run_subshell: str | None = None
        self.comm_id: str | None = None
        self._answering: set[asyncio.Task[None]] = set()
        self._asked: set[str] = set()
        self.bell = asyncio.Event()
        self.link = KernelLink(client, on_input=on_input, on_comm_open=self._on_comm_open)
        self._peer = Peer(
            send=self._send,
            methods=self._methods(),
            on_notification=self._on_notification,
            prefix="p",
        )

    async def connect(self) -> wire.HelloResult:
        """Start, open the session comm and say hello. The kernel has to have the extension."""
        self.link.start()
        return await self.open()

    async def open(self) -> wire.HelloResult:
        """Open the session comm and say hello; again after a reload or a restart."""
        if self._subshells and self.comm_subshell is None:
            self.comm_subshell = await self.link.create_subshell()
        self.comm_id = self.link.open_comm(
            wire.SESSION_TARGET, self, subshell_id=self.comm_subshell
        )
        params = wire.HelloParams(
            client=self._name,
            notebook_path=self.document.path,
            session_id=self.document.session_id,
            capabilities=("notebook", "approvals", "run"),
        )
        result = await self.request("hello", params, timeout=HELLO_LIMIT)
        self.hello_result = wire.HelloResult.model_validate(result)
        self.session_id = self.hello_result.session_id
        for question in self.hello_result.pending:
            self._consider(question)
        return self.hello_result

    async def close(self) -> None:
        """Say bye, close the comm, delete the subshells, stop reading."""
        for task in self._answering:
            task.cancel()
        if self.comm_id is not None:
            bye = wire.ByeParams(dirty=self.document.dirty)
            with contextlib.suppress(WireError):
                await self.request("bye", bye, timeout=2)
            self.link.close_comm(self.comm_id, subshell_id=self.comm_subshell)
        for subshell_id in (self.comm_subshell, self._run_subshell):
            if subshell_id is not None:
                await self.link.delete_subshell(subshell_id)
        self._peer.close()
        await self.link.close()

    async def request(
        self, method: str, params: BaseModel | None = None, *, timeout: float = 30
    ) -> dict[str, JsonValue]:
        """Ask the kernel. Raises ``WireError`` and ``WireTimeout``."""
        return await self._peer.request(method, params, timeout=timeout)

    async def run_cell(self, cell_id: str, *, subshell_id: str | None = None) -> dict[str, Any]:
        """Run a cell as Shift+Enter does; the reply's content."""
        cell = self.document.cell(cell_id)
        cell["outputs"] = []
        cell["execution_count"] = None
        area = OutputArea(cell["outputs"], self._displays)

        def take(message: dict[str, Any]) -> None:
            area.take(message)
            cell["execution_count"] = area.execution_count

        reply = await self.link.execute(
            cell["source"],
            on_message=take,
            metadata={"cellId": cell_id},
            subshell_id=subshell_id,
        )
        if reply.get("execution_count") is not None:
            cell["execution_count"] = reply["execution_count"]
        self.document.dirty = True
        return reply

    # --- What the kernel asks ------------------------------------------------

    def _methods(self) -> dict[str, Method]:
        handlers: dict[str, Callable[[Any], Awaitable[BaseModel]]] = {
            "notebook.read": self._read,
            "notebook.edit": self._edit,
            "notebook.outputs": self._outputs,
            "notebook.run": self._run,
            "notebook.reveal": self._ok,
            "notebook.save": self._save,
            "notebook.undo": self._undo,
            "kernel.execute": self._execute,
            "ping": self._ok,
        }
        return {
            name: Method(wire_methods.KERNEL_METHODS[name][0], handler)
            for name, handler in handlers.items()
        }

    async def _ok(self, _params: object) -> wire.OkResult:
        return wire.OkResult()

    async def _read(self, params: wire.NotebookReadParams) -> wire.NotebookReadResult:
        return self.document.read(params.cell_ids, outputs=params.outputs)

    async def _edit(self, params: wire.NotebookEditParams) -> wire.NotebookEditResult:
        cells = self.document.edit(params.edits, run_id=params.run_id, session_id=params.session_id)
        return wire.NotebookEditResult(cells=cells, total_cells=len(self.document.notebook.cells))

    async def _undo(self, params: wire.RunIdParams) -> wire.NotebookEditResult:
        cells = self.document.undo(params.run_id)
        return wire.NotebookEditResult(cells=cells, total_cells=len(self.document.notebook.cells))

    async def _outputs(self, params: wire.NotebookOutputsParams) -> wire.OkResult:
        cell = self.document.cell(params.cell_id)
        fresh = from_dict({"outputs": list(params.outputs)})["outputs"]
        cell["outputs"] = [*cell["outputs"], *fresh] if params.append else fresh
        if params.execution_count is not None:
            cell["execution_count"] = params.execution_count
        return wire.OkResult()

    async def _save(self, _params: object) -> wire.OkResult:
        self.document.dirty = False
        return wire.OkResult()

    async def _run(self, params: wire.NotebookRunParams) -> wire.NotebookRunResult:
        self.document.index(params.cell_id)
        source = self.document.cell(params.cell_id)["source"]
        if params.expect_hash not in {None, wire.source_hash(source)}:
            raise WireError(
                "The cell changed before it began.",
                code=wire.CELL_CHANGED,
                data={"cell_id": params.cell_id, "source": source},
            )
        subshell_id = None
        if params.subshell:
            # Not the comm's subshell: that one has to stay free for messages.
            if self._run_subshell is None:
                self._run_subshell = await self.link.create_subshell()
            subshell_id = self._run_subshell
        reply = await self.run_cell(params.cell_id, subshell_id=subshell_id)
        cell = self.document.cell(params.cell_id)
        return wire.NotebookRunResult(
            status=reply["status"],
            execution_count=cell.get("execution_count"),
            outputs=tuple(as_cell_output(output) for output in cell["outputs"]),
        )

    async def _execute(self, params: wire.KernelExecuteParams) -> wire.KernelExecuteResult:
        area = OutputArea([], self._displays)
        reply = await self.link.execute(params.code, on_message=area.take, store_history=False)
        return wire.KernelExecuteResult(
            status=reply["status"],
            outputs=tuple(as_cell_output(output) for output in area.outputs),
        )

    # --- What the kernel tells -----------------------------------------------

    def _on_notification(self, method: str, params: JsonObject) -> None:
        if method == "session":
            self.session_id = str(params.get("session_id", ""))
            self.sessions_heard.append(self.session_id)
        if method != "event":
            return
        try:
            event = wire.EventParams.model_validate(params).event
        except ValidationError:
            return  # a type that a newer kernel knows
        self.events.append(event)
        if self._on_event is not None:
            self._on_event(event)
        if isinstance(event, PermissionRequested):
            self._consider(event)

    def _consider(self, question: PermissionRequested) -> None:
        if self._policy is None or question.request_id in self._asked:
            return
        self._asked.add(question.request_id)
        task = asyncio.get_running_loop().create_task(self._answer(question, self._policy))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, question: PermissionRequested, policy: Policy) -> None:
        answer = policy(question)
        if inspect.isawaitable(answer):
            answer = await answer
        if answer is None:
            return
        await self.answer(question, answer)

    async def answer(self, question: PermissionRequested, answer: ApprovalAnswer) -> str:
        """Answer a question as a button does: "accepted", or "expired" if it came too late."""
        params = wire.AnswerParams(
            request_id=question.request_id,
            nonce=question.nonce,
            decision=answer.decision,
            rule=answer.rule,
            destination=answer.destination,
            reason=answer.reason,
            updated_input=answer.updated_input,
            by="policy" if answer.by == "policy" else "you",
        )
        result = wire.AnswerResult.model_validate(await self.request("answer", params))
        return result.status

    # --- The comm ------------------------------------------------------------

    def on_comm_message(self, data: object) -> None:
        self._peer.receive(data)

    def on_comm_close(self) -> None:
        self.comm_id = None
        self._peer.close("The kernel closed the comm; the extension may not be loaded.")

    def _on_comm_open(self, target: str, _message: dict[str, Any]) -> None:
        if target == wire.BELL_TARGET:
            self.bell.set()

    def _send(self, objects: Sequence[JsonObject]) -> None:
        if self.comm_id is None:
            return
        for data, _size in pack(objects):
            self.link.send_comm(self.comm_id, data, subshell_id=self.comm_subshell)


EVENT: TypeAdapter[Event] = TypeAdapter(Event)
"""Reads one event from JSON."""
