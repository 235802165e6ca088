"""``KernelHost``: the session of one kernel and everything that connects it to pages and cells."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import threading
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from agent_kernel.errors import WireError
from agent_kernel.events import Notice, RunFinished
from agent_kernel.jupyter.agent_thread import AgentThread
from agent_kernel.jupyter.asked import AskedCells
from agent_kernel.jupyter.asking import Asking
from agent_kernel.jupyter.comm import CommChannel
from agent_kernel.jupyter.counts import ends_highest
from agent_kernel.jupyter.endpoint import Endpoint
from agent_kernel.jupyter.feed import EventFeed
from agent_kernel.jupyter.frontend import thread_of
from agent_kernel.jupyter.handover import Handover
from agent_kernel.jupyter.jobs import JobQueue
from agent_kernel.jupyter.kernel_side import HostSide
from agent_kernel.jupyter.main_thread import MainThread
from agent_kernel.jupyter.namespace import KernelNamespace
from agent_kernel.jupyter.pages import Page, Pages
from agent_kernel.jupyter.parent import kernel_of, owning_output
from agent_kernel.jupyter.runs import Order, Runs, Ticket
from agent_kernel.jupyter.sessions import NotebookSessions
from agent_kernel.notebook.file import FileNotebook
from agent_kernel.notebook.live import RUN_LIMIT, LiveNotebook, notebook_file
from agent_kernel.permissions.desk import Desk
from agent_kernel.protocols import EventSink
from agent_kernel.session import AgentSession
from agent_kernel.wire import KernelExecuteParams, RunSnapshot

T = TypeVar("T")
Way = Literal["page", "widget", "text"]

HELLO_WAIT = 0.5  # seconds a first cell waits for the page's hello
_HOST = "_agent_kernel_host"
_making = threading.RLock()


@dataclass(frozen=True)
class Capabilities:
    """What this kernel and its front ends can do. ``clicks``: proven by a message that came in
    while, or as if, a cell blocked the main thread."""

    pages: int
    subshells: bool
    clicks: bool
    input: bool
    ipykernel: str


class KernelHost:
    """One per kernel. Methods say which thread they belong to."""

    def __init__(self, shell: Any, thread: AgentThread) -> None:
        self.shell = shell
        self.thread = thread
        self.jobs = JobQueue(on_interrupt=lambda: thread.submit(self.stop()))
        self.pages = Pages()
        self.asked = AskedCells()
        self.feed = EventFeed(thread, self.pages.tell)
        self.main = MainThread(self.jobs, self._execute_on_page, say=self._say)
        self.asking = Asking(
            shell, self.pages, self.jobs, self.main, since=self._since, say=self._say
        )
        self.desk = Desk(somebody=self.asking.is_somebody_there, fallback=self.asking.fallback)
        self.namespace = KernelNamespace(shell, self.jobs, self.main)
        self.notebook = LiveNotebook(self.pages, HostSide(self), from_file=FileNotebook)
        self.session = AgentSession(
            cwd=Path.cwd(),
            notebook=self.notebook,
            namespace=self.namespace,
            approver=self.desk,
            sinks=(self.feed,),
        )
        self.runs = Runs(
            thread,
            self.jobs,
            main_session=lambda: self.session,
            side_session=self._side_session,
            resume=lambda wanted: self.sessions.resume(wanted),  # noqa: PLW0108 - made below
            prepare=self._prepare,
        )
        self.sessions = NotebookSessions(
            lambda: self.session,
            notebook_file=self.notebook_file,
            session_name=lambda: os.environ.get("JPY_SESSION_NAME"),
            on_change=self.pages.tell_session,
        )
        self._page_came = threading.Event()
        self._loaded = time.monotonic()
        self._warmed = False
        self._side: list[AgentSession] = []
        self._background: set[asyncio.Task[Any]] = set()
        self._handover: Handover | None = None
        kernel = kernel_of(shell)
        if kernel is not None:
            self._handover = Handover(kernel, self.jobs, self.asked)
            self._handover.install()
        thread.call_soon(self.warm)

    # -- the main thread

    def run_cell(self, order: Order, *, view: EventSink) -> RunFinished:
        """Run a turn in the cell that is running, and block it until the turn has ended.

        An interrupt stops the turn within a second. Raises what ``AgentSession.run`` raises for an
        order that cannot begin.
        """
        cell_id = order.cell_id
        # Started by a run, that run waits for this cell: it must not be waited for in turn.
        beside = self.jobs.runs_here or self.asked.on_main(cell_id)
        if not beside:
            self.asked.withdraw_main(
                "The person has started an agent cell; the cell you asked for runs after it."
            )
        page = self.pages.open[-1] if self.pages.open else None
        order = replace(order, notebook_path=page.path if page else None)
        ticket = Ticket(order, view)
        were_there = self.pages.open
        with owning_output(self.shell), ends_highest(self.shell):
            finished = self.runs.run_blocking(ticket, beside=beside)
        if cell_id is not None and ticket.run_id is not None and were_there:
            self.thread.submit(self._mend(ticket.run_id, cell_id, were_there))
        return finished

    async def compact(self, focus: str) -> RunFinished:
        """Summarise the conversation; on the agent loop, and never from inside a run."""
        return await self.runs.follow(Ticket(Order("", compact=focus), None))

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the agent thread and wait, doing jobs. Interrupts cancel it."""
        future = self.thread.submit(coroutine, context=contextvars.copy_context())
        try:
            self.runs.serve_until_done(future)
        except KeyboardInterrupt:
            future.cancel()
            raise
        return future.result()

    def way(self) -> Way:
        """How a cell shows things: by our page, by a widget, or as text."""
        kernel = kernel_of(self.shell)
        if kernel is None:
            return "text"
        if self._wait_for_page():
            return "page"
        try:
            from agent_kernel.view.widget import is_built
        except ImportError:
            return "text"
        return "widget" if is_built() else "text"

    def _wait_for_page(self) -> bool:
        if any(page.is_open for page in self.pages.open):
            return True
        # After loading, a page needs a moment for its hello; later it is there or it is not.
        left = self._loaded + HELLO_WAIT - time.monotonic()
        if self.pages.expected:
            left = max(left, HELLO_WAIT)
        return self._page_came.wait(max(left, 0.0))

    def save_key(self, key: str) -> str:
        """Save an API key and use it from the next request on. Raises ``SettingsError``."""
        return self.call(self.swap_key(key))

    # -- any thread

    def page_request(self, method: str, params: dict[str, Any]) -> None:
        """A widget asks; nothing comes back but events."""
        self.asking.heard_widget()
        known = Endpoint(self, None).methods().get(method)
        if known is None:
            return

        async def answer() -> None:
            with contextlib.suppress(WireError, ValueError):
                await known.handler(known.params.model_validate(params) if known.params else None)

        self.thread.submit(answer())

    def heard_widget(self) -> None:
        """A message of a widget has come; called on the thread it came by."""
        self.asking.heard_widget()

    def run_snapshot(self, run_id: str) -> RunSnapshot | None:
        """A run's events, whichever session it belongs to."""
        for session in (self.session, *self._side):
            found = session.run_snapshot(run_id)
            if found is not None:
                return found
        return None

    def capabilities(self) -> Capabilities:
        kernel = kernel_of(self.shell)
        from importlib.metadata import version

        return Capabilities(
            pages=len(self.pages.open),
            subshells=bool(getattr(kernel, "_supports_kernel_subshells", False)),
            clicks=self.asking.clicks,
            input=self.asking.input,
            ipykernel=version("ipykernel") if kernel is not None else "",
        )

    def facts(self) -> Sequence[tuple[str, str]]:
        """The same in words, for ``%agent status``."""
        found = self.capabilities()
        clicks = "clicks reach a running cell" if found.clicks else "not proven"
        if not found.clicks and found.input:
            clicks = "typed at a prompt in the cell (clicks do not reach a running cell)"
        return (
            ("Notebook", self._notebook_words()),
            ("Pages", str(found.pages)),
            ("Approvals", clicks),
            ("ipykernel", found.ipykernel or "none (plain IPython)"),
            ("Subshells", "yes" if found.subshells else "no"),
        )

    def _notebook_words(self) -> str:
        page = self.pages.open[-1] if self.pages.open else None
        if page is not None:
            return f"the open page ({page.path or 'without a name'})"
        file = self.notebook_file()
        return f"the file {file} (no page is open)" if file else "none: no notebook tools here"

    # -- the agent loop

    def connect(self, channel: CommChannel) -> Page:
        """A page has opened its comm."""
        page = Page(channel, lambda page: Endpoint(self, page).methods())
        self.pages.add(page)
        return page

    def greeted(self, page: Page) -> None:
        """A page said hello."""
        self.pages.greeted(page)
        self._page_came.set()
        self.warm()
        self._spawn(page.answers())  # the proof: see Capabilities.clicks

    async def stop(self, run_id: str | None = None) -> bool:
        """Stop a run; its questions are withdrawn and its main-thread code interrupted."""
        stopped = await self.runs.stop(run_id)
        if stopped:
            self.desk.deny_all(run_id)
        return stopped

    async def swap_key(self, key: str) -> str:
        """Raises ``SettingsError``."""
        from agent_kernel.settings.credentials import save_key
        from agent_kernel.settings.settings import load_settings

        parts = self.session.parts
        parts.learn_secret(key)
        path = save_key(parts.settings.home, key, base_url=parts.settings.base_url)
        parts.settings = load_settings(parts.cwd)
        await parts.close()
        status = await self.session.model_status()
        where = f" for {status.endpoint}" if status.endpoint else ""
        return f"The key{where} is saved in {path}."

    def warm(self) -> None:
        """Import the model's client in the background: it takes seconds."""
        if self._warmed:
            return
        self._warmed = True
        from agent_kernel.model.client import warm

        self._spawn(asyncio.to_thread(warm))

    async def close(self) -> None:
        if self._handover is not None:
            self._handover.uninstall()
        await self.session.close()
        for page in self.pages.open:
            page.channel.close()
            page.closed()

    def _prepare(self, session: AgentSession) -> None:
        """Notebook tools exist where there is a notebook; under nbclient there is none."""
        if session is self.session:
            self.sessions.note()
        there = bool(self.pages.open) or self.notebook_file() is not None
        session.parts.notebook = self.notebook if there else None

    async def _side_session(self) -> AgentSession:
        """A conversation beside the main one: same gate, same desk, same kernel."""
        parts = self.session.parts
        session = AgentSession(
            cwd=parts.cwd,
            settings=parts.settings,
            model_client=parts.model_client(),
            notebook=self.notebook,
            namespace=self.namespace,
            approver=self.desk,
            store=parts.store,
            commands=parts.commands,
            gate=parts.gate,
            sinks=(self.feed,),
            mode=self.session.mode,
            model=self.session.model,
        )
        self._side = [*self._side[-7:], session]
        return session

    async def _execute_on_page(self, code: str) -> None:
        page = await self.pages.choose(None)
        if page is None:
            raise WireError("no page is there to reach the idle kernel", code=-32000)
        await page.request("kernel.execute", KernelExecuteParams(code=code), timeout=RUN_LIMIT)

    async def _mend(self, run_id: str, cell_id: str, before: Sequence[Page]) -> None:
        """For pages that were loaded anew; on the loop, after the cell's end."""
        fresh = [page for page in self.pages.open if page not in before]
        snapshot = self.run_snapshot(run_id)
        if fresh and snapshot is not None:
            from agent_kernel.jupyter.mending import mend

            count = self.shell.execution_count - 1
            scrub = self.session.parts.scrub
            await mend(fresh, snapshot, cell_id, count=count, scrub=scrub)

    def _since(self) -> float:
        ticket = self.runs.current
        return time.monotonic() if ticket is None else ticket.ordered

    def _say(self, text: str) -> None:
        """Tell the person something about the run that is on. On the agent loop."""
        ticket = self.runs.current
        if ticket is not None and ticket.session is not None:
            ticket.session.tell(Notice(text=text, code="waiting"))

    def _spawn(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def notebook_file(self) -> Path | None:
        page = self.pages.open[-1] if self.pages.open else None
        return notebook_file(os.environ.get("JPY_SESSION_NAME"), page.path if page else None)


def get_host(shell: Any) -> KernelHost:
    """The host of a shell; made at the first call. Any thread."""
    with _making:
        host = getattr(shell, _HOST, None)
        if not isinstance(host, KernelHost):
            host = KernelHost(shell, thread_of(shell))
            setattr(shell, _HOST, host)
        return host


def close_host(shell: Any) -> None:
    """Stop what runs and forget the host. Main thread."""
    with _making:
        host = getattr(shell, _HOST, None)
        if isinstance(host, KernelHost):
            delattr(shell, _HOST)
            with contextlib.suppress(Exception):
                host.thread.submit(host.close()).result(2)


def serve_waiting() -> None:
    """What a page's ``kernel.execute`` runs: the jobs that wait for the idle main thread."""
    from IPython import get_ipython

    host = get_host(get_ipython())
    host.jobs.run_waiting()
