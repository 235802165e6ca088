"""Runs of one kernel: from cells, which block the main thread, and from the panel, which do not.

One run at a time has the conversation. A cell that comes while the panel's run is on waits for it
and does that run's jobs meanwhile. A cell that a run itself has started gets a run of its own
beside it, for the outer one waits for that cell.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from agent_kernel.errors import ToolError
from agent_kernel.events import Event, RunFinished
from agent_kernel.jupyter.agent_thread import AgentThread
from agent_kernel.jupyter.jobs import JobQueue
from agent_kernel.protocols import EventSink
from agent_kernel.vocabulary import PermissionMode, RunEnd, strictest

if TYPE_CHECKING:
    from agent_kernel.session import AgentSession, Origin

T = TypeVar("T")

STOP_LIMIT = 1.0  # seconds from the interrupt to the end of the cell


@dataclass(frozen=True)
class Order:
    """What is asked for. ``resume``: the session to go on with; empty: the notebook's own.

    ``compact``: no prompt, but a summary of the conversation that keeps what this says.
    """

    prompt: str
    origin: Origin = "cell"
    cell_id: str | None = None
    notebook_path: str | None = None
    mode: PermissionMode | None = None
    model: str | None = None
    max_turns: int | None = None
    new: bool = False
    resume: str | None = None
    command: tuple[str, str] | None = None
    schema: object = None
    compact: str | None = None


@dataclass(eq=False)
class Ticket:
    """A run on its way; ``run_id`` is known once it has begun. Times are monotonic seconds."""

    order: Order
    view: EventSink | None
    ordered: float = field(default_factory=time.monotonic)
    run_id: str | None = None
    began: asyncio.Event = field(default_factory=asyncio.Event)
    session: AgentSession | None = None


class Runs:
    """Starts, queues and stops. ``prepare`` is called on the loop before each run."""

    def __init__(
        self,
        thread: AgentThread,
        jobs: JobQueue,
        *,
        main_session: Callable[[], AgentSession],
        side_session: Callable[[], Coroutine[Any, Any, AgentSession]],
        resume: Callable[[str | None], object] | None = None,
        prepare: Callable[[AgentSession], None],
    ) -> None:
        self._thread = thread
        self._jobs = jobs
        self._main_session = main_session
        self._side_session = side_session
        self._resume = resume or (lambda wanted: main_session().resume(wanted))
        self._prepare = prepare
        self._turn: asyncio.Lock | None = None
        self._turn_generation = 0
        self._active: list[Ticket] = []
        self._tasks: set[asyncio.Task[RunFinished]] = set()

    @property
    def current(self) -> Ticket | None:
        """The innermost run that is on. Any thread."""
        active = self._active
        return active[-1] if active else None

    @property
    def side_sessions(self) -> list[AgentSession]:
        """Sessions of runs that cells of a run have started."""
        main = self._main_session()
        return [
            ticket.session
            for ticket in list(self._active)
            if ticket.session is not None and ticket.session is not main
        ]

    def set_mode(self, mode: PermissionMode) -> None:
        """For the runs that are on inside others too. Raises ``SettingsError``. Any thread."""
        self._main_session().set_mode(mode)
        for session in self.side_sessions:
            session.set_mode(mode)

    # -- on the main thread

    def run_blocking(self, ticket: Ticket, *, beside: bool) -> RunFinished:
        """Run to the end, doing main-thread jobs meanwhile. An interrupt stops it, quietly.

        Raises what :meth:`AgentSession.run` raises for an order that cannot begin.
        """
        context = contextvars.copy_context()
        future = self._thread.submit(self.follow(ticket, beside=beside), context=context)
        try:
            self.serve_until_done(future)
        except KeyboardInterrupt:
            return self._stopped(future, ticket)
        return future.result()

    def serve_until_done(self, future: concurrent.futures.Future[T]) -> None:
        """Do jobs until the future is done. ``KeyboardInterrupt`` passes through."""
        future.add_done_callback(lambda _: self._jobs.wake())
        self._jobs.serve(future.done)

    def _stopped(
        self, future: concurrent.futures.Future[RunFinished], ticket: Ticket
    ) -> RunFinished:
        if ticket.run_id is None:
            future.cancel()  # it waits for another run, which goes on
        else:
            self._thread.submit(self.stop(ticket.run_id))
        deadline = time.monotonic() + STOP_LIMIT
        while not future.done() and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(KeyboardInterrupt):  # once is enough
                self._jobs.serve(future.done, limit=left)
        if not future.done():
            future.cancel()
        elif not future.cancelled() and future.exception() is None:
            return future.result()
        return RunFinished(
            run_id=ticket.run_id or "", end=RunEnd.ABORTED_TOOLS, detail="Interrupted."
        )

    # -- on the agent loop

    async def follow(self, ticket: Ticket, *, beside: bool = False) -> RunFinished:
        """The whole run; its last event."""
        if beside:
            parent = self.current
            session = await self._side_session()
            if parent is not None and parent.session is not None:
                # What a run starts is never looser than the run, whatever its cell asks for.
                wanted = ticket.order.mode or session.mode
                mode = strictest(wanted, parent.session.snapshot().mode)
                ticket.order = replace(ticket.order, mode=mode)
            try:
                return await self._play(session, ticket)
            finally:
                session.gate.apply(None)  # what its skills granted is not for the outer run
                await session.close()
        async with self._own_turn():
            session = self._main_session()
            if ticket.order.new:
                session.new()
            elif ticket.order.resume is not None:
                self._resume(ticket.order.resume or None)
            return await self._play(session, ticket)

    async def start(self, ticket: Ticket) -> str:
        """Begin a run without waiting for its end; its id. Raises as :meth:`AgentSession.run`."""
        task = asyncio.get_running_loop().create_task(self.follow(ticket))
        self._tasks.add(task)
        task.add_done_callback(self._done)
        began = asyncio.ensure_future(ticket.began.wait())
        await asyncio.wait({task, began}, return_when=asyncio.FIRST_COMPLETED)
        began.cancel()
        if ticket.run_id is None:
            task.result()
            raise ToolError("The run ended before it began.")
        return ticket.run_id

    async def stop(self, run_id: str | None = None) -> bool:
        """Stop a run, or whatever is on, the innermost first."""
        wanted = [
            ticket
            for ticket in reversed(self._active)
            if ticket.session is not None and run_id in (None, ticket.run_id)
        ]
        if not wanted:
            return False
        loop = asyncio.get_running_loop()
        ends = {
            loop.create_task(ticket.session.stop(ticket.run_id))
            for ticket in wanted
            if ticket.session is not None
        }
        # Who asked is answered in time, even if a run takes longer to end.
        done, _ = await asyncio.wait(ends, timeout=STOP_LIMIT)
        return len(done) < len(ends) or any(task.result() for task in done)

    async def _play(self, session: AgentSession, ticket: Ticket) -> RunFinished:
        order = ticket.order
        ticket.session = session
        self._prepare(session)
        finished: Event | None = None
        self._active.append(ticket)
        try:
            stream = _stream(session, order)
            async with contextlib.aclosing(stream) as events:
                async for event in events:
                    if ticket.run_id is None:
                        ticket.run_id = event.run_id
                        ticket.began.set()
                    if ticket.view is not None:
                        ticket.view.emit(event)
                    finished = event
        finally:
            self._active.remove(ticket)
        if not isinstance(finished, RunFinished):
            raise RuntimeError("a run has to end with run_finished")  # noqa: TRY004
        return finished

    def _own_turn(self) -> asyncio.Lock:
        """The lock belongs to the loop; a thread that was built anew has another one."""
        if self._turn is None or self._turn_generation != self._thread.generation:
            self._turn, self._turn_generation = asyncio.Lock(), self._thread.generation
        return self._turn

    def _done(self, task: asyncio.Task[RunFinished]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # told as the run's last event already


def _stream(session: AgentSession, order: Order) -> AsyncGenerator[Event, None]:
    if order.compact is not None:
        return session.compact(order.compact, origin=order.origin, cell_id=order.cell_id)
    return session.run(
        order.prompt,
        origin=order.origin,
        cell_id=order.cell_id,
        notebook_path=order.notebook_path,
        mode=order.mode,
        model=order.model,
        max_turns=order.max_turns,
        command=order.command,
        schema=order.schema,
    )
