"""A real kernel with a page that needs no browser, for tests."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from agent_kernel.events import Event, PermissionRequested, RunFinished
from agent_kernel.headless.page import HeadlessPage
from agent_kernel.protocols import ApprovalAnswer

E = TypeVar("E", bound=Event)

LIMIT = 30.0  # seconds; nothing here takes more than a few


class Notebook:
    """A kernel, a page, and what a person would do in it."""

    def __init__(self, manager: AsyncKernelManager, **options: Any) -> None:
        self.manager = manager
        self.client = manager.client()
        self.prompts: list[str] = []
        self.typed: list[str] = []
        self.decide: Callable[[PermissionRequested], ApprovalAnswer | None] = lambda _request: None
        self._options = options
        self.page = self.new_page()

    def new_page(self, notebook: NotebookNode | None = None, **options: Any) -> HeadlessPage:
        return HeadlessPage(
            self.client,
            notebook or new_notebook(),
            policy=self._decide,
            on_input=self._type,
            **{**self._options, **options},
        )

    def _decide(self, request: PermissionRequested) -> ApprovalAnswer | None:
        return self.decide(request)  # a test may change its mind

    async def _type(self, prompt: str, _secret: bool) -> str:
        self.prompts.append(prompt)
        return self.typed.pop(0) if self.typed else ""

    @property
    def cells(self) -> list[NotebookNode]:
        cells: list[NotebookNode] = self.page.document.notebook.cells
        return cells

    def add(self, source: str) -> str:
        """Append a cell; its id."""
        cell = new_code_cell(source)
        self.cells.append(cell)
        return str(cell["id"])

    def cell(self, cell_id: str) -> NotebookNode:
        return self.page.document.cell(cell_id)

    async def run(self, cell_id: str) -> dict[str, Any]:
        return await asyncio.wait_for(self.page.run_cell(cell_id), LIMIT)

    async def code(self, source: str) -> str:
        """Run a cell and give back what it printed. Fails if it failed."""
        cell_id = self.add(source)
        reply = await self.run(cell_id)
        assert reply["status"] == "ok", reply
        return self.text(cell_id)

    async def value(self, expression: str) -> str:
        return (await self.code(f"print({expression})")).strip()

    def start(self, cell_id: str) -> asyncio.Task[dict[str, Any]]:
        return asyncio.create_task(self.run(cell_id))

    def agent(self, prompt: str) -> str:
        return self.add(f"%%agent\n{prompt}")

    def text(self, cell_id: str) -> str:
        """What a cell printed."""
        return "".join(
            output["text"]
            for output in self.cell(cell_id)["outputs"]
            if output["output_type"] == "stream"
        )

    def kinds(self, cell_id: str) -> list[str]:
        """Its outputs in a word each: stdout, stderr, error's name, or the first mime type."""
        words = []
        for output in self.cell(cell_id)["outputs"]:
            if output["output_type"] == "stream":
                words.append(output["name"])
            elif output["output_type"] == "error":
                words.append(output["ename"])
            else:
                mimes = [mime for mime in output["data"] if mime != "text/plain"]
                words.append((mimes or ["text/plain"])[0])
        return words

    async def event(
        self, kind: type[E], fits: Callable[[E], bool] = lambda _event: True, *, since: int = 0
    ) -> E:
        """The first event of a kind, waiting for it."""
        async with asyncio.timeout(LIMIT):
            while True:
                for event in self.page.events[since:]:
                    if isinstance(event, kind) and fits(event):
                        return event
                await asyncio.sleep(0.01)

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(LIMIT):
            while not holds():  # noqa: ASYNC110 - messages change it, and they set no event
                await asyncio.sleep(0.01)

    def mark(self) -> int:
        """Where events are now, for ``since``."""
        return len(self.page.events)

    async def finished(self, since: int) -> RunFinished:
        return await self.event(RunFinished, since=since)


def allow(_request: PermissionRequested) -> ApprovalAnswer:
    return ApprovalAnswer(decision="allow_once")


@asynccontextmanager
async def kernel(
    folder: Path,
    *,
    python: str,
    env: Mapping[str, str],
    agent: bool = True,
    connect: bool = True,
    **options: Any,
) -> AsyncIterator[Notebook]:
    """A kernel of that Python in the folder: the agent's, or an ordinary one."""
    module = "agent_kernel.jupyter" if agent else "ipykernel_launcher"
    manager = AsyncKernelManager(connection_file=str(folder / "connection.json"))
    command = [python, "-m", module, "-f", "{connection_file}", "--log-level=50"]
    manager._kernel_spec = KernelSpec(argv=command, language="python")
    kept = {name: value for name, value in os.environ.items() if name in _KEPT}
    home = folder / "home"
    home.mkdir(exist_ok=True)
    own = {"HOME": str(home), "AGENT_KERNEL_HOME": str(home / "state"), "IPYTHONDIR": str(home)}
    await manager.start_kernel(cwd=str(folder), env={**kept, **own, **env})
    notebook = Notebook(manager, **options)
    try:
        notebook.client.start_channels()
        await notebook.client.wait_for_ready(timeout=LIMIT)
        if connect:
            await notebook.page.connect()
        else:
            notebook.page.link.start()
        yield notebook
    finally:
        await notebook.page.close()
        notebook.client.stop_channels()
        await manager.shutdown_kernel(now=True)


_KEPT = {"PATH", "PYTHONPATH", "MPLCONFIGDIR", "LANG", "TMPDIR", "SYSTEMROOT"}
