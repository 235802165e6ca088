"""The way to the kernel's main thread for code of a run.

While a cell of ours blocks the main shell, that cell does the job. While the kernel is idle the
page sends an ``execute_request`` whose code does the waiting jobs; so interrupts work. Whichever
comes first, that request or a new ``%%agent`` cell, does the job: neither waits for the other.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
from collections.abc import Awaitable, Callable
from typing import TypeVar

from agent_kernel.errors import ToolError, WireError
from agent_kernel.jupyter.jobs import JobInterrupted, JobQueue

T = TypeVar("T")

BUSY_LIMIT = 10.0  # seconds the person's own cell is waited for
SAY_AFTER = 0.5  # seconds until waiting is shown
_STOP_WAIT = 0.8  # seconds an interrupted job gets to end

SERVE_CODE = '__import__("agent_kernel.jupyter.host", fromlist=["serve_waiting"]).serve_waiting()'


class MainThread:
    """``ask_page`` has a page run code in the idle kernel; it raises ``WireError``."""

    def __init__(
        self,
        jobs: JobQueue,
        ask_page: Callable[[str], Awaitable[None]],
        *,
        say: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self._jobs = jobs
        self._ask_page = ask_page
        self._say = say

    @property
    def is_blocked(self) -> bool:
        """Whether a cell of ours blocks the main shell and does jobs."""
        return self._jobs.is_open

    async def run(
        self, function: Callable[[], T], *, context: contextvars.Context | None = None
    ) -> T:
        """The function's result from the main thread.

        Cancelling interrupts the function. Raises ``ToolError`` if the main thread cannot be had.
        """
        if self._jobs.is_open:
            future = self._jobs.put(function, context=context)
            if not future.cancelled():
                return await self._finish(future)
        return await self._run_when_idle(function)

    async def _finish(self, job: concurrent.futures.Future[T]) -> T:
        waiting = asyncio.wrap_future(job)
        try:
            return await asyncio.shield(waiting)
        except JobInterrupted:
            raise ToolError("The code was interrupted.") from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if job.cancelled() and (task is None or not task.cancelling()):
                raise ToolError("The cell that was running has ended.") from None
            # A job that waits is withdrawn; one that runs is interrupted.
            if not job.cancel():
                await self._interrupt(job)
            raise

    async def _interrupt(self, job: concurrent.futures.Future[T]) -> None:
        if not job.done():
            self._jobs.interrupt_current()
            await asyncio.wait({asyncio.wrap_future(job)}, timeout=_STOP_WAIT)

    async def _run_when_idle(self, function: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        started: asyncio.Future[None] = loop.create_future()

        def begin() -> T:
            loop.call_soon_threadsafe(_settle, started)
            return function()

        job = self._jobs.put(begin, keep=True)
        request = loop.create_task(_as_coroutine(self._ask_page(SERVE_CODE)))
        request.add_done_callback(_retrieve)
        try:
            await self._wait_for_start(started, request)
        except BaseException:
            if not job.cancel():
                await self._interrupt(job)  # it began at this very moment
            request.cancel()
            raise
        return await self._finish(job)

    async def _wait_for_start(
        self, started: asyncio.Future[None], request: asyncio.Task[None]
    ) -> None:
        said = False
        loop = asyncio.get_running_loop()
        deadline = loop.time() + BUSY_LIMIT
        watched: set[asyncio.Future[None]] = {started, request}
        while not started.done():
            left = deadline - loop.time()
            if left <= 0:
                raise ToolError(
                    "The kernel is busy with the person's own cell. Try again when it has ended."
                )
            done, _ = await asyncio.wait(
                watched,
                timeout=left if said else min(left, SAY_AFTER),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if started.done():
                return
            if request in done:
                error = request.exception()
                if isinstance(error, WireError):
                    raise ToolError(f"The code was not run: {error}") from error
                if error is not None:
                    raise error
                watched.discard(request)  # it found the job taken; the start is on its way
            elif not said:
                said = True
                self._say("Waiting for your cell to end: the agent needs the kernel.")


async def _as_coroutine(awaitable: Awaitable[None]) -> None:
    await awaitable


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _retrieve(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()
