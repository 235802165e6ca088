"""Whose output it is: the parent header of the cell that a job or a run belongs to.

ipykernel keeps it in context variables, with a global beside each for threads that have no context.
"""

from __future__ import annotations

import contextlib
import contextvars
import copy
import sys
from collections.abc import Callable, Iterator
from typing import Any

from agent_kernel.jupyter.comm import output_belongs_to, restore_output


def kernel_of(shell: Any) -> Any | None:
    """The ipykernel of a shell; None in a plain IPython."""
    return getattr(shell, "kernel", None)


def parent_of(shell: Any) -> dict[str, Any]:
    """The message being handled in this context; {} without a kernel."""
    kernel = kernel_of(shell)
    if kernel is None:
        return {}
    try:
        parent = kernel.get_parent("shell")
    except Exception:  # noqa: BLE001 - none has been handled yet
        return {}
    return parent if isinstance(parent, dict) else {}


def running_cell_id(shell: Any) -> str | None:
    """The id of the cell whose code is running in this context, if the front end tells it."""
    metadata = parent_of(shell).get("metadata") or {}
    cell_id = metadata.get("cellId") or metadata.get("cell_id")
    return cell_id if isinstance(cell_id, str) else None


def without_subshell(parent: dict[str, Any]) -> dict[str, Any]:
    """The message as if it had come on the main shell: widgets made under it stay reachable."""
    clean = copy.copy(parent)
    clean["header"] = {k: v for k, v in parent.get("header", {}).items() if k != "subshell_id"}
    return clean


def claim_output(shell: Any) -> Callable[[], None]:
    """Make this context's cell the owner of all output; the result does it again later."""
    kernel = kernel_of(shell)
    parent = parent_of(shell)
    if kernel is None or not parent:
        return lambda: None
    ident = _ident_of(kernel)
    context = contextvars.copy_context()
    header = parent.get("header", {})

    def again() -> None:
        # Only the globals: the context of the thread that calls this stays its own.
        for owner in (sys.stdout, sys.stderr, shell.display_pub, shell.displayhook):
            if hasattr(owner, "_parent_header_global"):
                owner._parent_header_global = header  # noqa: SLF001
        if hasattr(kernel, "_shell_context"):
            kernel._shell_context = context  # noqa: SLF001

    with contextlib.suppress(Exception):
        kernel.set_parent(ident, parent, "shell")
    again()
    return again


@contextlib.contextmanager
def owning_output(shell: Any) -> Iterator[None]:
    """For the time of a job: output of any thread goes to the cell of this context."""
    try:
        with output_belongs_to(claim_output(shell)):
            yield
    finally:
        restore_output()  # back to the cell around this one


def _ident_of(kernel: Any) -> Any:
    try:
        return kernel._get_shell_context_var(kernel._shell_parent_ident)  # noqa: SLF001
    except AttributeError:  # ipykernel 6
        return kernel._parent_ident.get("shell", b"")  # noqa: SLF001
