"""What a page may ask: the methods of the wire, on the agent loop."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent_kernel import __version__, wire, wire_methods, wire_sessions
from agent_kernel.errors import AgentKernelError, SettingsError, SkillError, StoreError, WireError
from agent_kernel.jupyter import commands
from agent_kernel.jupyter.completion import complete
from agent_kernel.jupyter.rpc import Handler, Method
from agent_kernel.jupyter.runs import Order, Ticket
from agent_kernel.protocols import ApprovalAnswer

if TYPE_CHECKING:
    from agent_kernel.jupyter.host import KernelHost
    from agent_kernel.jupyter.pages import Page


class Endpoint:
    """Answers one page, or a widget (``page`` None)."""

    def __init__(self, host: KernelHost, page: Page | None) -> None:
        self._host = host
        self._page = page

    def methods(self) -> Mapping[str, Method]:
        handlers: dict[str, Handler] = {
            "hello": self.hello,
            "bye": self.bye,
            "prompt": self.prompt,
            "answer": self.answer,
            "stop": self.stop,
            "set": self.set,
            "command": self.command,
            "skills": self.skills,
            "complete": self.complete,
            "sessions": self.sessions,
            "resume": self.resume,
            "new": self.new,
            "snapshot": self.snapshot,
            "ping": self.ping,
        }
        return {
            name: Method(wire_methods.FRONT_END_METHODS[name][0], handler)
            for name, handler in handlers.items()
        }

    async def hello(self, params: wire.HelloParams) -> wire.HelloResult:
        host = self._host
        page = self._page
        host.feed.flush()
        if page is not None:
            page.client = params.client
            page.path = params.notebook_path
            host.sessions.heard(params.session_id, params.notebook_path)
            page.capabilities = params.capabilities
            page.said_bye = False
            page.greeted = time.monotonic()
            host.greeted(page)
        snapshot = host.session.snapshot()
        return wire.HelloResult(
            version=__version__,
            session_id=snapshot.session_id,
            mode=snapshot.mode,
            model=snapshot.model,
            snapshot=snapshot,
            # Stamped with their run, unlike those of the desk: a view finds its own by that.
            pending=snapshot.pending,
            skills=await commands.list_skills(host),
            offered=host.sessions.offered(),
        )

    async def bye(self, params: wire.ByeParams) -> wire.OkResult:
        if self._page is not None:
            self._page.said_bye = True
            self._page.dirty = params.dirty
        return wire.OkResult()

    async def prompt(self, params: wire.PromptParams) -> wire.PromptResult:
        host = self._host
        running = host.session.running
        if running is not None and not params.new and host.session.steer(params.text):
            return wire.PromptResult(run_id=running, queued=True)
        if running is not None and params.new:
            raise _refused("A run is on. Stop it before you begin another conversation.")
        order = Order(
            params.text,
            origin="panel",
            cell_id=params.cell_id,
            notebook_path=self._path,
            mode=params.mode,
            model=params.model,
            new=params.new,
        )
        return wire.PromptResult(run_id=await self._start(order))

    async def answer(self, params: wire.AnswerParams) -> wire.AnswerResult:
        answer = ApprovalAnswer(
            decision=params.decision,
            rule=params.rule,
            destination=params.destination,
            reason=params.reason,
            updated_input=params.updated_input,
            by=params.by,
        )
        counted = self._host.desk.answer(params.request_id, params.nonce, answer)
        return wire.AnswerResult(status="accepted" if counted else "expired")

    async def stop(self, params: wire.StopParams) -> wire.StopResult:
        return wire.StopResult(stopped=await self._host.stop(params.run_id))

    async def set(self, params: wire.SetParams) -> wire.SetResult:
        host = self._host
        session = host.session
        try:
            if params.mode is not None:
                host.runs.set_mode(params.mode)
            if params.api_key is not None:
                await host.swap_key(params.api_key)
        except SettingsError as error:
            raise _refused(str(error)) from error
        if params.model is not None:
            session.set_model(params.model)
        return wire.SetResult(
            mode=session.mode, model=await session.model_status(), effort=params.effort
        )

    async def command(self, params: wire.CommandParams) -> wire.CommandResult:
        host = self._host
        if params.name == "compact" and host.session.running is None:
            # A run like any other, which may take longer than a page waits for an answer.
            order = Order("", origin="panel", notebook_path=self._path, compact=params.args)
            return wire.CommandResult(run_id=await self._start(order))
        try:
            text = await commands.run(host, params.name, params.args)
            if params.name == "mode" and params.args.strip():
                host.runs.set_mode(host.session.mode)
        except SettingsError as error:
            raise _refused(str(error)) from error
        if text is not None:
            return wire.CommandResult(text=text)
        if host.session.running is not None:
            raise _refused("A run is on. Skills can be run when it has ended.")
        order = Order(
            "",
            origin="panel",
            cell_id=params.cell_id,
            notebook_path=self._path,
            command=(params.name, params.args),
        )
        return wire.CommandResult(run_id=await self._start(order))

    async def skills(self, _params: None) -> wire.SkillsResult:
        return wire.SkillsResult(skills=await commands.list_skills(self._host))

    async def complete(self, params: wire.CompleteParams) -> wire.CompleteResult:
        return await complete(self._host, params)

    async def sessions(self, _params: None) -> wire_sessions.SessionsResult:
        session = self._host.session
        own = self._host.sessions.own()
        return wire_sessions.SessionsResult(
            sessions=session.sessions(),
            current=session.session_id,
            own=None if own is None else own.session_id,
        )

    async def resume(self, params: wire_sessions.ResumeParams) -> wire_sessions.ResumeResult:
        try:
            text = self._host.sessions.resume(params.session_id)
        except (RuntimeError, StoreError) as error:
            raise _refused(str(error)) from error
        return wire_sessions.ResumeResult(session_id=self._host.session.session_id, text=text)

    async def new(self, _params: None) -> wire_sessions.NewResult:
        try:
            session_id = self._host.session.new()
        except RuntimeError as error:
            raise _refused(str(error)) from error
        self._host.sessions.note()
        return wire_sessions.NewResult(session_id=session_id)

    async def snapshot(self, params: wire.SnapshotParams) -> wire.Snapshot:
        host = self._host
        host.feed.flush()  # what is recorded before the snapshot is also sent before it
        whole = host.session.snapshot()
        if params.run_id is None:
            return whole
        run = host.run_snapshot(params.run_id)
        return whole.model_copy(update={"runs": () if run is None else (run,)})

    async def ping(self, _params: None) -> wire.OkResult:
        return wire.OkResult()

    @property
    def _path(self) -> str | None:
        return None if self._page is None else self._page.path

    async def _start(self, order: Order) -> str:
        try:
            return await self._host.runs.start(Ticket(order, None))
        except (ValueError, RuntimeError, SkillError, SettingsError) as error:
            raise _refused(str(error)) from error
        except AgentKernelError as error:
            raise WireError(str(error), code=wire.INTERNAL_ERROR) from error


def _refused(text: str) -> WireError:
    return WireError(text, code=wire.INVALID_PARAMS)
