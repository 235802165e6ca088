"""Runs a notebook from top to bottom without a person: cells in order, questions by policy.

It ends whatever happens: a kernel that dies, a cell over its time limit and a question that no rule
answers each have an outcome.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbformat import NotebookNode

from agent_kernel.errors import SettingsError, WireError, WireTimeout
from agent_kernel.events import Event, RunFinished
from agent_kernel.headless.page import HeadlessPage
from agent_kernel.headless.policy import DeclaredPolicy
from agent_kernel.view.text import StreamingText
from agent_kernel.vocabulary import PermissionMode, RunEnd
from agent_kernel.wire import SetParams
from agent_kernel.wire_sessions import ResumeParams, ResumeResult, SessionsResult

KERNEL = "agent_kernel"
# Of no use to the reader of a run: the kernel's remarks on its own transport and the like.
_QUIET = "--log-level=ERROR"
_START_LIMIT = 60.0  # seconds
_HELLOS = 6


@dataclass(frozen=True)
class Plan:
    """One headless run. ``timeout`` is in seconds per cell; ``env`` is the kernel's environment.

    ``resume`` is the session to go on with: an id, ``own`` (the notebook's, else the newest) or
    ``newest``. ``on_event`` hears every event as it comes.
    """

    notebook: Path
    out: Path
    allow: tuple[str, ...] = ()
    mode: PermissionMode | None = None
    timeout: float = 1_800.0
    kernel: str = KERNEL
    env: Mapping[str, str] | None = None
    log: Path | None = None
    resume: str | None = None
    on_event: Callable[[Event], object] | None = None


@dataclass
class Outcome:
    """What came of it. ``problems`` are sentences; empty means that all went well."""

    session_id: str = ""
    turns: list[RunFinished] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems


class _ThisPython(KernelSpecManager):
    """Finds our kernel as *this* interpreter, whether or not a kernelspec is installed."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        if kernel_name != KERNEL:
            spec: KernelSpec = super().get_kernel_spec(kernel_name)
            return spec
        return KernelSpec(
            argv=[sys.executable, "-m", "agent_kernel.jupyter", "-f", "{connection_file}", _QUIET],
            display_name="Python 3 (Agent)",
            language="python",
            interrupt_mode="signal",
        )


def read_notebook(path: Path) -> NotebookNode:
    """Raises ``SettingsError`` if it cannot be read as a notebook."""
    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, nbformat.validator.NotebookValidationError) as error:
        raise SettingsError(f"{path} is no notebook: {error}") from error
    return notebook


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    """Write it whole or not at all. Raises ``SettingsError``."""
    from agent_kernel.settings.atomic import write_atomic

    text = nbformat.writes(notebook, version=4)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, (text.rstrip("\n") + "\n").encode("utf-8"))
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}.") from error


async def run_notebook(plan: Plan, write: Callable[[str], object]) -> Outcome:
    """Run every code cell in order; stop at the first that fails. The notebook is always written.

    ``write`` gets what happens as text. Raises ``SettingsError`` for what cannot begin.
    """
    notebook = read_notebook(plan.notebook)
    folder = plan.notebook.resolve().parent
    policy = DeclaredPolicy(plan.allow, folder)
    manager = AsyncKernelManager(kernel_name=plan.kernel, kernel_spec_manager=_ThisPython())
    env = dict(plan.env) if plan.env is not None else None
    options: dict[str, Any] = {"cwd": str(folder)} | ({"env": env} if env is not None else {})
    await manager.start_kernel(**options)
    client = manager.client()
    runner = _Runner(plan, notebook, policy, write, manager, client)
    try:
        client.start_channels()
        try:
            await client.wait_for_ready(timeout=_START_LIMIT)
        except RuntimeError as error:
            raise SettingsError(f"The kernel did not start: {error}") from error
        return await runner.run()
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)
        write_notebook(notebook, plan.out)


class _Runner:
    def __init__(
        self,
        plan: Plan,
        notebook: NotebookNode,
        policy: DeclaredPolicy,
        write: Callable[[str], object],
        manager: AsyncKernelManager,
        client: AsyncKernelClient,
    ) -> None:
        self._plan = plan
        self._notebook = notebook
        self._write = write
        self._manager = manager
        self._outcome = Outcome()
        self._events: list[Event] = []
        self._stream: StreamingText | None = None
        self._connected = False
        self._page = HeadlessPage(
            client, notebook, path=plan.notebook.name, policy=policy, on_event=self._on_event
        )

    async def run(self) -> Outcome:
        try:
            await self._connect()
            ran: set[str] = set()
            while (cell := self._next(ran)) is not None:
                ran.add(cell["id"])
                if not await self._run_cell(cell):
                    break
        finally:
            if self._plan.log is not None:
                lines = (event_line(event) for event in self._events)
                self._plan.log.write_text("".join(lines), encoding="utf-8")
            if self._outcome.turns:
                self._outcome.session_id = self._page.session_id
                self._page.document.name_session(self._page.session_id)
            # A dead kernel answers no goodbye.
            limit = 5 if await self._manager.is_alive() else 0.1
            with contextlib.suppress(WireError, TimeoutError):
                await asyncio.wait_for(self._page.close(), limit)
        return self._outcome

    async def _connect(self) -> None:
        """Say hello; a kernel that loads the extension in a cell is greeted when its bell rings."""
        say_hello = self._page.connect
        for _ in range(_HELLOS):
            try:
                await say_hello()
            except WireTimeout:
                # A slow machine still imports; the next hello finds it further on.
                say_hello = self._page.open
            except WireError:
                return
            else:
                await self._greeted()
                return

    async def _greeted(self) -> None:
        self._connected = True
        if self._plan.mode is not None:
            await self._page.request("set", SetParams(mode=self._plan.mode))
        wanted = self._plan.resume
        if wanted is None:
            return
        try:
            if wanted == "newest":
                answer = await self._page.request("sessions")
                found = SessionsResult.model_validate(answer).sessions
                wanted = found[0].session_id if found else "own"
            params = ResumeParams(session_id=None if wanted == "own" else wanted)
            resumed = ResumeResult.model_validate(await self._page.request("resume", params))
        except WireTimeout:
            raise
        except WireError as error:
            raise SettingsError(str(error)) from error
        self._page.session_id = resumed.session_id
        self._write(f"{resumed.text}\n")

    def _next(self, ran: set[str]) -> NotebookNode | None:
        """The first code cell not run yet; what the agent inserted and ran counts as run."""
        for cell in self._notebook.cells:
            if cell["cell_type"] != "code" or cell["id"] in ran or not cell["source"].strip():
                continue
            if cell.get("execution_count") and _is_made(cell):
                continue
            found: NotebookNode = cell
            return found
        return None

    async def _run_cell(self, cell: NotebookNode) -> bool:
        number = self._notebook.cells.index(cell) + 1
        self._write(f"\n[{number}] {_heading(cell['source'])}\n")
        before = len(self._outcome.turns)
        running = asyncio.ensure_future(self._page.run_cell(cell["id"]))
        died = asyncio.ensure_future(self._until_dead())
        done, _ = await asyncio.wait(
            {running, died}, timeout=self._plan.timeout, return_when=asyncio.FIRST_COMPLETED
        )
        died.cancel()
        if running not in done:
            why = "the kernel died" if died in done else await self._interrupt(running)
            running.cancel()
            return self._failed(number, why)
        reply = running.result()
        if not self._connected and self._page.bell.is_set():
            with contextlib.suppress(WireError):
                await self._page.open()
                await self._greeted()
        for turn in self._outcome.turns[before:]:
            if turn.end is not RunEnd.COMPLETED:
                return self._failed(number, f"the turn ended: {turn.end.value}")
        if reply.get("status") != "ok":
            error = f"{reply.get('ename', 'error')}: {reply.get('evalue', '')}".strip(": ")
            if not self._outcome.turns[before:]:
                self._write(f"✕ {error}\n")
            return self._failed(number, error)
        if not self._outcome.turns[before:]:
            self._write(_shown(cell))
        return True

    def _failed(self, number: int, why: str) -> bool:
        self._outcome.problems.append(f"Cell {number}: {why}")
        return False

    async def _interrupt(self, running: asyncio.Future[Any]) -> str:
        await self._page.link.interrupt()
        await asyncio.wait({running}, timeout=5)
        return f"it took longer than {self._plan.timeout:g} s and was interrupted"

    async def _until_dead(self) -> None:
        # A process tells nobody that it ended.
        while await self._manager.is_alive():  # noqa: ASYNC110
            await asyncio.sleep(0.5)

    def _on_event(self, event: Event) -> None:
        self._events.append(event)
        if self._plan.on_event is not None:
            self._plan.on_event(event)
        if self._stream is None:
            self._stream = StreamingText(self._write)
        self._stream.emit(event)
        if isinstance(event, RunFinished) and event.agent_id == "main":
            self._outcome.turns.append(event)
            self._stream = None


def _is_made(cell: NotebookNode) -> bool:
    mark = cell["metadata"].get("agent_kernel")
    return isinstance(mark, dict) and "run" in mark


def _heading(source: str) -> str:
    """The first lines of a cell: enough to know it by."""
    lines = source.strip().splitlines()
    head = " ⏎ ".join(line.strip() for line in lines[:2])
    return head if len(head) <= 100 and len(lines) <= 2 else f"{head[:100]} …"


def _shown(cell: NotebookNode) -> str:
    """The plain text of a cell's outputs, in short."""
    parts: list[str] = []
    for output in cell.get("outputs", ()):
        if output["output_type"] == "stream":
            parts.append(str(output["text"]))
        elif "data" in output:
            parts.append(str(output["data"].get("text/plain", "[output]")) + "\n")
    lines = "".join(parts).splitlines()
    more = [f"… {len(lines) - 12} more lines"] if len(lines) > 12 else []
    return "".join(f"    {line}\n" for line in [*lines[:12], *more])


def tally(outcome: Outcome) -> str:
    """The closing line."""
    turns: Sequence[RunFinished] = outcome.turns
    done = sum(turn.end is RunEnd.COMPLETED for turn in turns)
    return f"{done} of {len(turns)} turns completed." + "".join(
        f"\nFailed: {problem}" for problem in outcome.problems
    )


def event_line(event: Event) -> str:
    """An event as a line of JSON, without what only a button may know."""
    value = event.model_dump(mode="json")
    if "nonce" in value:
        value["nonce"] = ""
    return _line(value)


def outcome_line(outcome: Outcome, notebook: Path | None = None) -> str:
    """The last line of JSON: how it ended."""
    return _line(
        {
            "type": "outcome",
            "ok": outcome.ok,
            "problems": outcome.problems,
            "turns": len(outcome.turns),
            "completed": sum(turn.end is RunEnd.COMPLETED for turn in outcome.turns),
            "session_id": outcome.session_id,
            "notebook": None if notebook is None else str(notebook),
        }
    )


def _line(value: dict[str, Any]) -> str:
    # ASCII: whatever splits lines at odd characters must not split these.
    return json.dumps(value, ensure_ascii=True) + "\n"
