"""Run a coroutine to its end inside code that an outer event loop is running (DESIGN 7).

The kernel's loop runs the cell and cannot be re-entered, so for the time of the coroutine it is
hidden from asyncio and a private loop takes its place. The private loop is kept: tasks that code
leaves behind go on when the next code runs.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

_loops: list[asyncio.AbstractEventLoop] = []  # one per depth of nesting; main thread only
_depth = 0


def run_masked(coroutine: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """The coroutine's result, and whether an interrupt cancelled it on the way.

    Main thread only. Raises what the coroutine raises, and ``KeyboardInterrupt`` if an interrupt
    ended it without a result.
    """
    global _depth  # noqa: PLW0603 - mirrors the nesting of calls
    with _hidden_loop():
        loop = _loop_at(_depth)
        _depth += 1
        try:
            return _run(loop, coroutine)
        finally:
            _depth -= 1


def _run(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task), False
    except KeyboardInterrupt:
        if task.done():
            raise
        task.cancel()
        try:
            return loop.run_until_complete(task), True
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


def _loop_at(depth: int) -> asyncio.AbstractEventLoop:
    if depth == len(_loops):
        _loops.append(asyncio.new_event_loop())
    elif _loops[depth].is_closed():
        _loops[depth] = asyncio.new_event_loop()
    return _loops[depth]


@contextlib.contextmanager
def _hidden_loop() -> Iterator[None]:
    outer = asyncio._get_running_loop()  # noqa: SLF001 - the public one raises
    if outer is None:
        yield
        return
    task = asyncio.current_task(outer)
    # From Python 3.14 on the current task is kept per thread, not per loop.
    if task is not None:
        asyncio.tasks._leave_task(outer, task)  # noqa: SLF001
    asyncio._set_running_loop(None)  # noqa: SLF001
    try:
        yield
    finally:
        asyncio._set_running_loop(outer)  # noqa: SLF001
        if task is not None:
            asyncio.tasks._enter_task(outer, task)  # noqa: SLF001
