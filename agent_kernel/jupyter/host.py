"""``KernelHost``: the session of one kernel and everything that connects it to pages and cells."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import threading
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from agent_kernel.errors import WireError
from agent_kernel.events import Notice, PermissionRequested, RunFinished
from agent_kernel.jupyter.agent_thread import AgentThread
from agent_kernel.jupyter.asked import AskedCells
from agent_kernel.jupyter.comm import CommChannel
from agent_kernel.jupyter.counts import ends_highest
from agent_kernel.jupyter.endpoint import Endpoint
from agent_kernel.jupyter.feed import EventFeed
from agent_kernel.jupyter.frontend import thread_of
from agent_kernel.jupyter.handover import Handover
from agent_kernel.jupyter.jobs import JobQueue, interrupt_thread
from agent_kernel.jupyter.main_thread import MainThread
from agent_kernel.jupyter.namespace import KernelNamespace
from agent_kernel.jupyter.pages import PING_LIMIT, Page, Pages
from agent_kernel.jupyter.parent import kernel_of, owning_output
from agent_kernel.jupyter.runs import Order, Runs, Ticket
from agent_kernel.notebook.file import FileNotebook
from agent_kernel.notebook.live import RUN_LIMIT, LiveNotebook, notebook_file
from agent_kernel.permissions.desk import Desk
from agent_kernel.protocols import ApprovalAnswer, EventSink
from agent_kernel.session import AgentSession
from agent_kernel.vocabulary import PermissionMode
from agent_kernel.wire import (
    KernelExecuteParams,
    NotebookOutputsParams,
    RunSnapshot,
)

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
        self.desk = Desk(somebody=self._is_somebody_there, fallback=self._ask_by_input)
        self.main = MainThread(self.jobs, self._execute_on_page, say=self._say)
        self.namespace = KernelNamespace(shell, self.jobs, self.main)
        self.notebook = LiveNotebook(self.pages, _KernelSide(self), from_file=FileNotebook)
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
            prepare=self._prepare,
        )
        self._page_came = threading.Event()
        self._widget_heard = float("-inf")
        self._loaded = time.monotonic()
        self._warmed = False
        self._side: list[AgentSession] = []
        self._background: set[asyncio.Task[Any]] = set()
        kernel = kernel_of(shell)
        if kernel is not None and getattr(kernel, "_supports_kernel_subshells", False):
            Handover(kernel, self.jobs, self.asked.on_subshell).install()
        thread.call_soon(self.warm)

    # -- the main thread

    def run_cell(
        self,
        prompt: str,
        *,
        cell_id: str | None,
        view: EventSink,
        mode: PermissionMode | None = None,
        model: str | None = None,
        max_turns: int | None = None,
        new: bool = False,
        command: tuple[str, str] | None = None,
    ) -> RunFinished:
        """Run a turn in the cell that is running, and block it until the turn has ended.

        An interrupt stops the turn within a second. Raises what ``AgentSession.run`` raises for an
        order that cannot begin.
        """
        # Started by a run, that run waits for this cell: it must not be waited for in turn.
        beside = self.jobs.runs_here or self.asked.on_main(cell_id)
        if not beside:
            self.asked.withdraw_main(
                "The person has started an agent cell; the cell you asked for runs after it."
            )
        page = self.pages.open[-1] if self.pages.open else None
        order = Order(
            prompt,
            cell_id=cell_id,
            notebook_path=page.path if page else None,
            mode=mode,
            model=model,
            max_turns=max_turns,
            new=new,
            command=command,
        )
        ticket = Ticket(order, view)
        were_there = self.pages.open
        with owning_output(self.shell), ends_highest(self.shell):
            finished = self.runs.run_blocking(ticket, beside=beside)
        if cell_id is not None and ticket.run_id is not None and were_there:
            count = self.shell.execution_count - 1
            self.thread.submit(self._mend(ticket, cell_id, count, were_there))
        return finished

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
        self.heard_widget()
        known = Endpoint(self, None).methods().get(method)
        if known is None:
            return

        async def answer() -> None:
            with contextlib.suppress(WireError, ValueError):
                await known.handler(known.params.model_validate(params) if known.params else None)

        self.thread.submit(answer())

    def heard_widget(self) -> None:
        """A message of a widget has come; off the main thread, it proves that clicks arrive."""
        if threading.current_thread() is not threading.main_thread():
            self._widget_heard = time.monotonic()

    def run_snapshot(self, run_id: str) -> RunSnapshot | None:
        """A run's events, whichever session it belongs to."""
        for session in (self.session, *self._side):
            found = session.run_snapshot(run_id)
            if found is not None:
                return found
        return None

    def capabilities(self) -> Capabilities:
        kernel = kernel_of(self.shell)
        try:
            from ipykernel import __version__ as version
        except ImportError:
            version = ""
        return Capabilities(
            pages=len(self.pages.open),
            subshells=bool(getattr(kernel, "_supports_kernel_subshells", False)),
            clicks=any(page.off_main for page in self.pages.open)
            or self._widget_heard > float("-inf"),
            input=self._can_input(),
            ipykernel=version if kernel is not None else "",
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
        await self.session.close()
        for page in self.pages.open:
            page.channel.close()
            page.closed()

    def _prepare(self, session: AgentSession) -> None:
        """Notebook tools exist where there is a notebook; under nbclient there is none."""
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

    def _is_somebody_there(self) -> bool:
        # A page that is gone may come back: the question waits for it in the panel.
        return self.pages.ever or (self.jobs.is_open and (self._can_input() or self._has_widget()))

    async def _ask_by_input(self, request: PermissionRequested) -> ApprovalAnswer | None:
        """At a prompt in the blocked cell, when no click can arrive; within 2 seconds."""
        if not self.jobs.is_open:
            return None  # the main shell is free, so a page's messages arrive
        if await self._clicks_arrive():
            return None
        if not self._can_input():
            return ApprovalAnswer(
                decision="deny", by="policy", reason="No front end can answer a question now."
            )
        from agent_kernel.view.ask_text import ask

        return await self.main.run(lambda: ask(request))

    async def _clicks_arrive(self) -> bool:
        ticket = self.runs.current
        since = ticket.ordered if ticket is not None else time.monotonic()
        deadline = time.monotonic() + PING_LIMIT
        if await self.pages.reachable():
            return True
        while self._has_widget():
            if self._widget_heard >= since:
                return True
            if time.monotonic() >= deadline:
                break
            await asyncio.sleep(0.05)
        return False

    def _has_widget(self) -> bool:
        return kernel_of(self.shell) is not None and not self.pages.open

    def _can_input(self) -> bool:
        kernel = kernel_of(self.shell)
        return True if kernel is None else bool(getattr(kernel, "_allow_stdin", False))

    async def _mend(self, ticket: Ticket, cell_id: str, count: int, before: Sequence[Page]) -> None:
        """Put the turn into its cell if the page was loaded anew: its output came to nobody."""
        snapshot = self.run_snapshot(ticket.run_id or "")
        if snapshot is None:
            return
        from agent_kernel.view.mime import final_bundle

        for page in self.pages.open:
            if page in before or not page.has_notebook:
                continue
            output = {
                "output_type": "display_data",
                "data": final_bundle(snapshot, scrub=self.session.parts.scrub),
                "metadata": {},
            }
            params = NotebookOutputsParams(
                cell_id=cell_id, outputs=(output,), execution_count=count
            )
            with contextlib.suppress(WireError):
                await page.request("notebook.outputs", params, timeout=15)

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


class _KernelSide:
    """What the live notebook asks about the kernel."""

    def __init__(self, host: KernelHost) -> None:
        self._host = host

    @property
    def running_cell_id(self) -> str | None:
        ticket = self._host.runs.current
        return ticket.order.cell_id if ticket is not None else None

    @property
    def session_id(self) -> str:
        return self._host.session.session_id

    @property
    def is_main_blocked(self) -> bool:
        return self._host.main.is_blocked

    def notebook_file(self) -> Path | None:
        return self._host.notebook_file()

    def asked(self, cell_id: str, *, main: bool) -> Any:
        return self._host.asked.asked(cell_id, main=main)

    async def wait_until_free(self) -> None:
        await self._host.main.run(lambda: None)

    def interrupt_cell(self) -> None:
        host = self._host
        if not host.jobs.interrupt_current() and host.asked.waits_for_main:
            interrupt_thread(threading.main_thread().ident or 0)


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

    host = get_host(get_ipython())  # type: ignore[no-untyped-call]
    host.jobs.run_waiting()
