"""RunCell inside a running cell: a real ``execute_request``, run by the blocked main thread.

The page sends the request on a subshell, because the main shell is blocked by the ``%%agent`` cell.
Here it is taken off the subshell's thread and handed to the main one in the request's own context,
so print, display, figures, ``input()``, errors and the result land in the target cell by
themselves. A request that this run did not ask for is not touched.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import getpass
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from agent_kernel.jupyter.asked import AskedCells
from agent_kernel.jupyter.jobs import JobInterrupted, JobQueue
from agent_kernel.jupyter.parent import owning_output, parent_of, without_subshell
from agent_kernel.notebook.masked import run_masked

_MARK = "_agent_kernel_handover"


def _cell_id(parent: dict[str, Any]) -> object:
    return (parent.get("metadata") or {}).get("cellId")


class Handover:
    """The patch of one kernel; ``asked`` knows the cells that a run waits for."""

    def __init__(self, kernel: Any, jobs: JobQueue, asked: AskedCells) -> None:
        self._kernel = kernel
        self._jobs = jobs
        self._asked = asked
        self._do_execute = kernel.do_execute
        self._execute_request = kernel.shell_handlers["execute_request"]

    def install(self) -> None:
        """Once per kernel."""
        if getattr(self._kernel, _MARK, None) is not None:
            return
        setattr(self._kernel, _MARK, self)
        self._kernel.do_execute = self.do_execute
        self._kernel.shell_handlers["execute_request"] = self.execute_request

    def uninstall(self) -> None:
        """Leave the kernel as it was."""
        if getattr(self._kernel, _MARK, None) is self:
            delattr(self._kernel, _MARK)
            self._kernel.__dict__.pop("do_execute", None)
            self._kernel.shell_handlers["execute_request"] = self._execute_request

    async def execute_request(self, stream: Any, ident: Any, parent: dict[str, Any]) -> Any:
        if self._is_nested(parent) and not parent.get("content", {}).get("silent"):
            self._bump()
        return await self._execute_request(stream, ident, parent)

    async def do_execute(self, code: str, silent: bool, *args: Any, **kwargs: Any) -> Any:
        parent = parent_of(self._kernel.shell)
        if not self._is_nested(parent):
            if not self._asked.started(_cell_id(parent)):
                return self._failed("KeyboardInterrupt", "The run was stopped before this began.")
            return await self._do_execute(code, silent, *args, **kwargs)
        clean = without_subshell(parent)

        def job() -> Any:
            return self._run(lambda: self._do_execute(code, silent, *args, **kwargs), clean)

        # The job's context has the target cell as its parent in every place ipykernel keeps one.
        waiting = self._jobs.put(job, context=contextvars.copy_context())
        try:
            return await asyncio.wrap_future(waiting)
        except JobInterrupted:
            return self._failed("KeyboardInterrupt", "")
        except asyncio.CancelledError:
            return self._failed("RuntimeError", "The cell that was running has ended.")

    def _is_nested(self, parent: dict[str, Any]) -> bool:
        if not self._jobs.is_open or not parent.get("header", {}).get("subshell_id"):
            return False
        cell_id = _cell_id(parent)
        return isinstance(cell_id, str) and self._asked.on_subshell(cell_id)

    def _bump(self) -> None:
        """A number of its own for the nested run; older IPythons still hold the blocked one."""
        shell = self._kernel.shell
        shell.execution_count = max(
            shell.execution_count, len(shell.history_manager.input_hist_raw)
        )

    def _run(self, start: Callable[[], Coroutine[Any, Any, Any]], parent: dict[str, Any]) -> Any:
        """On the main thread, in the request's context."""
        kernel = self._kernel
        ident = kernel._get_shell_context_var(kernel._shell_parent_ident)  # noqa: SLF001
        kernel.set_parent(ident, parent, "shell")
        with owning_output(kernel.shell), self._input_kept(), self._plain_interrupts():
            reply, interrupted = run_masked(start())
        if interrupted or reply.get("ename") == "KeyboardInterrupt":
            self._jobs.note_interrupt()
        return reply

    @contextlib.contextmanager
    def _input_kept(self) -> Iterator[None]:
        """``do_execute`` is not made to be nested: what it saves would be lost."""
        import builtins

        kernel = self._kernel
        names = ("_sys_raw_input", "_save_getpass", "_allow_stdin")
        saved = {name: getattr(kernel, name) for name in names if hasattr(kernel, name)}
        functions = builtins.input, getpass.getpass
        try:
            yield
        finally:
            builtins.input, getpass.getpass = functions
            for name, value in saved.items():
                setattr(kernel, name, value)

    @contextlib.contextmanager
    def _plain_interrupts(self) -> Iterator[None]:
        """ipykernel's own way to cancel an awaiting cell needs the loop that is blocked."""
        kernel = self._kernel
        if not hasattr(kernel, "_dummy_context_manager"):
            yield
            return
        kernel._cancel_on_sigint = kernel._dummy_context_manager  # noqa: SLF001
        try:
            yield
        finally:
            del kernel._cancel_on_sigint  # noqa: SLF001

    def _failed(self, name: str, text: str) -> dict[str, Any]:
        count = self._kernel.shell.execution_count - 1
        return {
            "status": "error",
            "ename": name,
            "evalue": text,
            "traceback": [],
            "execution_count": count,
            "user_expressions": {},
            "payload": [],
        }
