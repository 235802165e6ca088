"""``AgentSession``: one conversation and the parts that serve it (SPEC L1)."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent_kernel.active_run import ActiveRun
from agent_kernel.book import Book
from agent_kernel.compacting import ContextReport, compaction, report_of
from agent_kernel.context.text import clean_text
from agent_kernel.events import Event, RunFinished, RunStarted, SkillStarted
from agent_kernel.loop.budget import Budget
from agent_kernel.loop.query import query
from agent_kernel.messages import TextBlock
from agent_kernel.prompt.build import PromptChoice
from agent_kernel.protocols import (
    Approver,
    Clock,
    CommandSource,
    EventSink,
    Ids,
    ModelClient,
    Namespace,
    Notebook,
    PermissionGate,
    SessionStore,
)
from agent_kernel.run_setup import Begun, begin_run, choose_model, equip, find_command
from agent_kernel.structured import Shape
from agent_kernel.tool_types import ContextModifier, Tool
from agent_kernel.vocabulary import PermissionMode, strictest
from agent_kernel.wire import ModelStatus, RunSnapshot, Snapshot
from agent_kernel.wire_sessions import SessionSummary
from agent_kernel.wiring import Given, Parts, build_parts

if TYPE_CHECKING:
    from agent_kernel.settings.settings import Settings

Origin = Literal["cell", "panel", "python", "cli", "agent"]


class AgentSession:
    """What magics, panel, command line and Python users call; each part may be replaced.

    ``async for event in session.run("…")``, or ``session.run_sync("…")`` in plain Python. One run
    at a time. Methods belong to one event loop unless they say that any thread may call them.
    Nothing is read or connected before the first use.
    """

    def __init__(
        self,
        *,
        cwd: Path | str | None = None,
        settings: Settings | None = None,
        model_client: ModelClient | None = None,
        notebook: Notebook | None = None,
        namespace: Namespace | None = None,
        approver: Approver | None = None,
        store: SessionStore | None = None,
        commands: CommandSource | None = None,
        sinks: Sequence[EventSink] = (),
        clock: Clock | None = None,
        ids: Ids | None = None,
        session_id: str | None = None,
        mode: PermissionMode | None = None,
        model: str | None = None,
        gate: PermissionGate | None = None,
        tools: Sequence[Tool] | None = None,
        prompt: PromptChoice | None = None,
    ) -> None:
        self._given = Given(
            cwd=Path(cwd or Path.cwd()).absolute(),
            settings=settings,
            model_client=model_client,
            notebook=notebook,
            namespace=namespace,
            approver=approver,
            store=store,
            commands=commands,
            clock=clock,
            ids=ids,
            gate=gate,
            tools=tuple(tools) if tools is not None else None,
            prompt=prompt,
        )
        self._lock = threading.RLock()
        self._parts: Parts | None = None
        self._book = Book(lambda: self.parts, self._lock, session_id)
        self._mode = mode
        self._model = model
        self._sinks: tuple[EventSink, ...] = tuple(sinks)
        self._active: ActiveRun | None = None
        self._status: ModelStatus | None = None

    # -- what it is made of

    @property
    def parts(self) -> Parts:
        """The wired parts; made at the first use. Any thread."""
        with self._lock:
            if self._parts is None:
                self._parts = build_parts(self._given)
                for notice in self._parts.notices:
                    self._book.ledger.warn("settings", notice)
            return self._parts

    @property
    def session_id(self) -> str:
        """Any thread."""
        return self._book.ledger.session_id

    @property
    def gate(self) -> PermissionGate:
        return self.parts.gate

    @property
    def commands(self) -> CommandSource:
        return self.parts.commands

    @property
    def settings(self) -> Settings:
        return self.parts.settings

    @property
    def mode(self) -> PermissionMode:
        """What the next run starts with, and the present one has."""
        return self._mode or self.parts.settings.mode

    @property
    def model(self) -> str:
        """The id of the model that the next run uses."""
        return self._model or self.parts.settings.model

    @property
    def running(self) -> str | None:
        """The id of the run that is on. Any thread."""
        active = self._active
        return None if active is None or active.is_over else active.run_id

    def set_mode(self, mode: PermissionMode) -> None:
        """For later runs and, at once, for the present one. Any thread.

        Raises ``SettingsError`` if policy forbids the mode.
        """
        self.parts.check_mode(mode)
        self._mode = mode
        if self._active is not None:
            self._active.control.mode = mode

    def set_model(self, model: str) -> None:
        """From the next run on. Any thread."""
        from agent_kernel.settings.settings import resolve_model

        self._model = resolve_model(model)
        self._status = None

    async def model_status(self) -> ModelStatus:
        """Which model answers, from where, with whose key."""
        status = await self.parts.model_client().status()
        self._status = status.model_copy(update={"model": self.model})
        return self._status

    def add_sink(self, sink: EventSink) -> None:
        """Tell a view every event from now on. Any thread."""
        with self._lock:
            self._sinks = (*self._sinks, sink)

    def remove_sink(self, sink: EventSink) -> None:
        with self._lock:
            self._sinks = tuple(other for other in self._sinks if other is not sink)

    # -- runs

    async def run(
        self,
        prompt: str,
        *,
        origin: Origin = "python",
        cell_id: str | None = None,
        notebook_path: str | None = None,
        mode: PermissionMode | None = None,
        model: str | None = None,
        max_turns: int | None = None,
        command: tuple[str, str] | None = None,
        budget: Budget | None = None,
        schema: object = None,
    ) -> AsyncGenerator[Event, None]:
        """One run: stamped events from ``run_started`` to ``run_finished``.

        ``command`` (name, arguments) runs a skill as the prompt. ``max_turns`` counts model calls;
        ``budget`` says what the run may spend (None: what the settings say). ``schema`` is a type
        that the answer has to fit, such as a pydantic model: ``run_finished`` holds the ``value``.
        Leaving the iteration early stops the run. Raises ``RuntimeError`` while another run is
        on, ``ValueError`` for an empty prompt, and ``SkillError`` for a skill that cannot be run.
        """
        if self.running is not None:
            raise RuntimeError("A run is on in this session; steer it or stop it.")
        if command is None and not prompt.strip():
            raise ValueError("The prompt is empty.")
        if mode is not None:
            self.parts.check_mode(mode)
        shape = Shape(schema) if schema is not None else None
        begun = self._begin(cell_id, mode)
        active, context, conversation = begun.active, begun.context, begun.conversation
        try:
            skill = await find_command(self.commands, command, context) if command else None
        except BaseException:
            self._active = None
            raise
        self._book.add(active.log)
        told = prompt or (f"/{command[0]} {command[1]}".strip() if command else "")
        chosen = choose_model(model, skill[0] if skill else None, self.model)

        async def events() -> AsyncIterator[Event]:
            status = await self.model_status()
            yield RunStarted(
                prompt=clean_text(told),
                model=chosen,
                mode=begun.control.mode,
                origin=origin,
                cell_id=cell_id,
                notebook_path=notebook_path,
                offline=status.offline,
            )
            text = told
            self.gate.apply(None)  # a skill's grants last until the person speaks again
            if skill is not None and command is not None:
                yield SkillStarted(name=command[0], args=command[1])
                self.gate.apply(ContextModifier(allow=skill[0].allowed_tools))
                text = f"<command-name>/{command[0]}</command-name>\n{skill[1]}"
            conversation.add_user((TextBlock(text=clean_text(text)),))
            if shape is not None:
                shape.ask(conversation)
            config, ports = await equip(
                self.parts,
                self._book,
                begun,
                model=chosen,
                offline=status.offline,
                max_turns=max_turns,
                budget=budget,
            )
            if shape is not None:
                ports = shape.watched(ports)
            async for event in query(config, ports, conversation, begun.control):
                if isinstance(event, RunFinished):
                    self._book.warn_of_skills()
                    event = self._book.totalled(event)  # noqa: PLW2901
                    event = shape.finished(event) if shape else event  # noqa: PLW2901
                for notice in begun.ledger.take_notices():
                    yield notice
                yield event

        active.start(events)
        # Closed at once when the caller leaves, so that the run does not outlive its reader.
        async with aclosing(active.read()) as events_told:
            async for event in events_told:
                yield event

    async def compact(
        self, focus: str = "", *, origin: Origin = "python", cell_id: str | None = None
    ) -> AsyncGenerator[Event, None]:
        """Summarise the conversation now: a run without a prompt (SPEC C2).

        ``focus``: what the summary should keep above all. Raises ``RuntimeError`` during a run.
        """
        if self.running is not None:
            raise RuntimeError("A run is on in this session; stop it first.")
        begun = self._begin(cell_id, None)
        self._book.add(begun.active.log)

        started = RunStarted(
            prompt=f"/compact {clean_text(focus)}".strip(),
            model=self.model,
            mode=self.mode,
            origin=origin,
            cell_id=cell_id,
            offline=self.parts.likely_status(self.model).offline,
        )
        begun.active.start(lambda: compaction(self.parts, self._book, begun, started, focus))
        async with aclosing(begun.active.read()) as events_told:
            async for event in events_told:
                yield event

    async def context_report(self) -> ContextReport:
        """What fills the model's window now."""
        begun = self._begin(None, None, active=False)
        return await report_of(self.parts, self._book, begun, self.model, self.running is not None)

    def _begin(
        self, cell_id: str | None, mode: PermissionMode | None, *, active: bool = True
    ) -> Begun:
        begun = begin_run(
            self.parts,
            self._book,
            mode or self.mode,
            cell_id,
            sinks=lambda: self._sinks,
            set_mode=self.set_mode,
        )
        if active:
            self._active = begun.active
        return begun

    def tell(self, event: Event) -> None:
        """Add an event to the run that is on, such as a notice of the place it runs in."""
        active = self._active
        if active is not None:
            active.tell(event)

    def steer(self, text: str) -> bool:
        """Queue text for the run that is on. Any thread. False if none takes it."""
        active = self._active
        return active is not None and not active.is_over and active.control.steer(text)

    async def stop(self, run_id: str | None = None) -> bool:
        """End the run that is on, or only that one; False if it is not on."""
        active = self._active
        if active is None or active.is_over or run_id not in (None, active.run_id):
            return False
        return await active.end()

    def run_sync(self, prompt: str, **options: object) -> RunFinished:
        """:meth:`run` for code that is not asynchronous; Ctrl-C stops the run and raises."""
        from agent_kernel.sync import run_to_end

        return run_to_end(self, prompt, options)

    def new(self) -> str:
        """Begin another conversation; returns its id. Raises ``RuntimeError`` during a run."""
        return self._turn(self._book.new)

    def resume(self, session_id: str | None = None) -> str:
        """Go on with a stored conversation of this folder; its id, or a copy's if it is in use.

        An id may be cut short; None: the newest other than this one. The mode becomes that of its
        last run if that is stricter. Raises ``StoreError`` if there is none, ``RuntimeError``
        during a run.
        """
        resumed = self._turn(lambda: self._book.resume(session_id))
        last = self._book.last_started()
        if last is not None:
            self._mode = strictest(self.mode, last.mode)
            self._model = self._model or last.model or None
        return resumed

    def fork(self) -> str:
        """Go on with a copy of this conversation; its id. Raises as :meth:`resume`."""
        return self._turn(self._book.fork)

    def sessions(self) -> tuple[SessionSummary, ...]:
        """The stored conversations of this folder, the newest first."""
        return self.parts.store.list()

    def find_session(self, session_id: str | None = None) -> SessionSummary:
        """What :meth:`resume` would take. Raises ``StoreError``."""
        return self._book.find(session_id)

    def _turn(self, to: Callable[[], str]) -> str:
        """To another conversation: nothing of the old one holds there."""
        if self.running is not None:
            raise RuntimeError("A run is on in this session; stop it first.")
        session_id = to()
        self._active = None
        self.gate.forget_session()
        for source in self.parts.attachments:
            source.reset()
        self.parts.reads.clear()
        return session_id

    def snapshot(self) -> Snapshot:
        """All a page shows. Any thread."""
        active = self._active
        on = active is not None and not active.is_over
        return Snapshot(
            session_id=self.session_id,
            runs=self._book.runs(),
            running=active.run_id if active is not None and on else None,
            pending=active.log.pending() if active is not None and on else (),
            mode=active.control.mode if active is not None and on else self.mode,
            model=self._status or self.parts.likely_status(self.model),
            saved=self._book.ledger.saved,
        )

    def run_snapshot(self, run_id: str) -> RunSnapshot | None:
        """One run as its joined events. Any thread."""
        return self._book.run(run_id)

    async def close(self) -> None:
        """Stop what runs, close connections and give up the claim on the transcript."""
        await self.stop()
        if self._parts is not None:
            await self._parts.close()
        self._book.close()
