"""Run code in the user's namespace, on the main thread, inside the cell that is running.

Outputs are shown in that cell as if its own code had made them, and collected in order. Nothing
goes into the history and the execution count stays.
"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any

from agent_kernel.notebook.capture import OnOutput, OutputTap
from agent_kernel.notebook.masked import run_masked
from agent_kernel.protocols import CodeRun
from agent_kernel.vocabulary import CellOutput


def run_code(shell: Any, code: str, *, on_output: OnOutput | None = None) -> CodeRun:
    """Run code as a cell without history; top-level ``await`` works. Main thread only.

    Never raises for what the code does: an error is the last output, and an interrupt gives the
    status "interrupted".
    """
    started = time.monotonic()
    tap = OutputTap(shell, on_output)
    result: Any = None
    interrupted = False
    with tap.listening():
        try:
            result, interrupted = run_cell(shell, code, store_history=False)
        except KeyboardInterrupt:
            interrupted = True
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
    error = failure_of(result)
    interrupted = interrupted or isinstance(error, KeyboardInterrupt)
    if error is not None and not interrupted:
        tap.add(error_output(shell, error))
    return CodeRun(
        status="interrupted" if interrupted else "ok" if error is None else "error",
        outputs=tap.outputs,
        duration_ms=round((time.monotonic() - started) * 1000),
    )


def run_cell(shell: Any, code: str, *, store_history: bool) -> tuple[Any, bool]:
    """IPython's ``ExecutionResult``, and whether an interrupt cancelled an awaiting cell.

    Figures are flushed, as ``post_execute`` is fired for both kinds of cell. Raises
    ``KeyboardInterrupt`` only if IPython itself was hit.
    """
    problem = None
    try:
        transformed = shell.transform_cell(code)
    except Exception:  # noqa: BLE001 - IPython reports it when the cell is run
        transformed = code
        problem = sys.exc_info()
    awaits = getattr(shell, "should_run_async", None)
    if awaits is None or not awaits(
        code, transformed_cell=transformed, preprocessing_exc_tuple=problem
    ):
        return shell.run_cell(code, store_history=store_history), False
    result = None
    try:
        result, interrupted = run_masked(
            shell.run_cell_async(
                code,
                store_history=store_history,
                transformed_cell=transformed,
                preprocessing_exc_tuple=problem,
            )
        )
    finally:
        shell.events.trigger("post_execute")
        if result is not None:
            shell.events.trigger("post_run_cell", result)
    return result, interrupted


def failure_of(result: Any) -> BaseException | None:
    """The error of an ``ExecutionResult``, from before or from during the execution."""
    if result is None:
        return None
    before: BaseException | None = result.error_before_exec
    during: BaseException | None = result.error_in_exec
    return during if before is None else before


def error_output(shell: Any, error: BaseException) -> CellOutput:
    """The error as nbformat keeps it, with the traceback IPython has just shown."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the user's class may do anything
        text = ""
    return CellOutput(
        output_type="error",
        ename=type(error).__name__,
        evalue=text,
        traceback=tuple(getattr(shell, "_last_traceback", None) or ()),
    )
