"""The agent thread: one per kernel, with its own asyncio loop (DESIGN 5).

Nothing of the user's runs here and the user's code cannot close this loop. If the thread or its
loop did end, the next use builds a new one and ``generation`` tells that it did, because clients
bound to the old loop are dead.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_START_LIMIT = 10.0  # seconds; starting a thread takes milliseconds


class AgentThread:
    """Runs coroutines on one background loop. Every method may be called from any thread."""

    def __init__(self, name: str = "agent_kernel") -> None:
        self._name = name
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.generation = 0

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The running loop; started, or built anew, when there is none."""
        with self._lock:
            if self._is_healthy() and self._loop is not None:
                return self._loop
            return self._start()

    def is_current(self) -> bool:
        """Whether the caller is on the agent thread."""
        return self._thread is threading.current_thread()

    def call_soon(self, function: Callable[..., object], *args: Any) -> None:
        """Call a function on the loop, soon; never blocks."""
        self.loop.call_soon_threadsafe(function, *args)

    def submit(
        self,
        coroutine: Coroutine[Any, Any, T],
        *,
        context: contextvars.Context | None = None,
    ) -> concurrent.futures.Future[T]:
        """Run a coroutine as a task; cancelling the future cancels the task.

        ``context`` is what the task sees as its context variables: in a kernel they say which
        cell output belongs to. The task gets a copy.
        """
        loop = self.loop
        future: concurrent.futures.Future[T] = concurrent.futures.Future()

        def start() -> None:
            task = loop.create_task(coroutine)
            task.add_done_callback(lambda done: _settle(future, done))
            future.add_done_callback(lambda done: _follow(done, task, loop))

        if context is None:
            loop.call_soon_threadsafe(start)
        else:
            loop.call_soon_threadsafe(start, context=context)
        return future

    def stop(self, timeout: float = 1.0) -> None:
        """Cancel what runs, close the loop, end the thread; a later use starts a new one."""
        with self._lock:
            thread, loop = self._thread, self._loop
            self._thread = self._loop = None
        if thread is None or loop is None or loop.is_closed():
            return
        loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join(timeout)

    def _is_healthy(self) -> bool:
        return (
            self._thread is not None
            and self._thread.is_alive()
            and self._loop is not None
            and not self._loop.is_closed()
        )

    def _start(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        started = threading.Event()
        # A copied context: output from here would otherwise follow whatever message any shell
        # handled last. Each run brings its own.
        context = contextvars.copy_context()

        def main() -> None:
            asyncio.set_event_loop(loop)
            loop.call_soon(started.set)
            try:
                loop.run_forever()
            finally:
                _cancel_all(loop)
                asyncio.set_event_loop(None)
                loop.close()

        thread = threading.Thread(target=context.run, args=(main,), name=self._name, daemon=True)
        # The debugger must not stop the thread that serves the page.
        thread.pydev_do_not_trace = True  # type: ignore[attr-defined]
        thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
        thread.start()
        if not started.wait(_START_LIMIT):
            raise RuntimeError("the agent thread did not start")
        self._thread, self._loop = thread, loop
        self.generation += 1
        return loop


def _settle(future: concurrent.futures.Future[T], task: asyncio.Task[T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    if task.cancelled():
        future.set_exception(concurrent.futures.CancelledError())
    elif (error := task.exception()) is not None:
        future.set_exception(error)
    else:
        future.set_result(task.result())


def _follow(
    future: concurrent.futures.Future[T], task: asyncio.Task[T], loop: asyncio.AbstractEventLoop
) -> None:
    if future.cancelled() and not loop.is_closed():
        loop.call_soon_threadsafe(task.cancel)


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=0.5))
    loop.run_until_complete(loop.shutdown_asyncgens())
