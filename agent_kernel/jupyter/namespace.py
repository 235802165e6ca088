"""The user's kernel as tools see it: the ``Namespace`` seam."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from agent_kernel.jupyter.jobs import JobQueue
from agent_kernel.jupyter.main_thread import MainThread
from agent_kernel.jupyter.parent import owning_output
from agent_kernel.notebook.execute import run_code
from agent_kernel.notebook.variables import describe
from agent_kernel.protocols import CodeRun, VariableInfo
from agent_kernel.vocabulary import CellOutput


class KernelNamespace:
    """Code runs on the main thread: inside the blocked cell, or by a page while it is idle."""

    def __init__(self, shell: Any, jobs: JobQueue, main: MainThread) -> None:
        self._shell = shell
        self._jobs = jobs
        self._main = main

    async def run_code(
        self, code: str, *, on_output: Callable[[CellOutput], None] | None = None
    ) -> CodeRun:
        """Run it and show its outputs in the running cell. ``ToolError`` if the kernel is busy.

        Cancelling interrupts the code.
        """
        loop = asyncio.get_running_loop()

        def listen(output: CellOutput) -> None:
            if on_output is not None:
                loop.call_soon_threadsafe(on_output, output)

        def job() -> CodeRun:
            with owning_output(self._shell):
                run = run_code(self._shell, code, on_output=listen)
            if run.status == "interrupted":
                # IPython swallowed the interrupt; unless we sent it, it stops the whole run.
                self._jobs.note_interrupt()
            return run

        return await self._main.run(job)

    async def variables(self, names: Sequence[str] | None = None) -> tuple[VariableInfo, ...]:
        def look() -> tuple[VariableInfo, ...]:
            hidden = getattr(self._shell, "user_ns_hidden", None)
            return describe(self._shell.user_ns, names, hidden=hidden)

        if self._main.is_blocked:
            return await self._main.run(look)
        # Looking needs no turn of the main thread, which may be busy with the person's own cell.
        return await asyncio.to_thread(look)

    async def interrupt(self) -> None:
        self._jobs.interrupt_current()
