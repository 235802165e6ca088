"""The main thread's jobs: what a blocked ``%%agent`` cell does for its run (DESIGN 5).

The cell calls :meth:`JobQueue.serve`; everybody else only puts jobs in. An interrupt while it waits
ends ``serve`` with ``KeyboardInterrupt``; an interrupt while a job runs belongs to the job's code
first, and the owner of the job says afterwards whether it was one.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import contextvars
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any, Generic, TypeVar

T = TypeVar("T")

POLL = 0.05  # seconds; on Windows a wait cannot be interrupted, so it has to be short


class Job(Generic[T]):
    """A function for the main thread, and the future of its result."""

    def __init__(
        self, function: Callable[[], T], context: contextvars.Context | None, keep: bool
    ) -> None:
        self._function = function
        self._context = context
        self.keep = keep
        self.future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def begin(self) -> bool:
        """False if it was withdrawn before its turn."""
        return self.future.set_running_or_notify_cancel()

    def call(self) -> Callable[[], None]:
        """Run the function here; gives back what settles the future with its outcome.

        Only ``KeyboardInterrupt`` gets out. The future is not settled here, where an interrupt
        may strike between any two lines and leave those who wait for it waiting.
        """
        try:
            if self._context is None:
                result = self._function()
            else:
                result = self._context.run(self._function)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit of user code is a result too
            return partial(self.future.set_exception, error)
        return partial(self.future.set_result, result)

    def refuse(self) -> None:
        """The cell ended before the job's turn came."""
        if self.future.cancel():
            self.future.set_running_or_notify_cancel()


class JobInterrupted(Exception):
    """The job was ended by an interrupt."""


class JobQueue:
    """Jobs of one blocked cell. Thread-safe except :meth:`serve`, which is the cell's.

    ``on_interrupt`` is called on the serving thread when the person interrupted a job, before the
    job's result is known to anybody: what stops the run comes before what would let it go on.
    """

    def __init__(self, on_interrupt: Callable[[], object] = lambda: None) -> None:
        self._on_interrupt = on_interrupt
        # SimpleQueue.put may be called from a signal handler.
        self._jobs: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._lock = threading.RLock()
        self._open = False
        self._serving: int | None = None  # identifier of the thread that serves
        self._current: Job[Any] | None = None
        self._expected = 0  # interrupts that we sent ourselves
        self._interrupted = False

    @property
    def is_open(self) -> bool:
        """Whether a cell serves now, so that a job put in will be run."""
        return self._open

    def put(
        self,
        function: Callable[[], T],
        *,
        context: contextvars.Context | None = None,
        keep: bool = False,
    ) -> concurrent.futures.Future[T]:
        """Have a function run on the serving thread; the future is cancelled if none serves.

        A job to ``keep`` waits instead, for the next ``serve`` or :meth:`run_waiting`.
        """
        job = Job(function, context, keep)
        with self._lock:
            if not self._open and not keep:
                job.refuse()
                return job.future
            self._jobs.put(job)
        return job.future

    def wake(self) -> None:
        """Let ``serve`` look at its condition now."""
        self._jobs.put(None)

    def serve(self, until: Callable[[], bool], *, limit: float | None = None) -> bool:
        """Run jobs until the condition holds; False if ``limit`` seconds passed before it did.

        Raises ``KeyboardInterrupt`` when the person interrupts while no job runs.
        """
        deadline = None if limit is None else time.monotonic() + limit
        with self._opened(), self._watching_interrupts():
            while not until():
                if self._interrupted:
                    self._interrupted = False
                    raise KeyboardInterrupt
                wait = POLL
                if deadline is not None:
                    wait = min(POLL, deadline - time.monotonic())
                    if wait <= 0:
                        return False
                with contextlib.suppress(queue.Empty):
                    job = self._jobs.get(timeout=wait)
                    if job is not None:
                        self._run(job)
        return True

    def run_waiting(self) -> None:
        """Run what waits now, without waiting for more."""
        with self._lock:
            serving, self._serving = self._serving, threading.get_ident()
        try:
            with self._watching_interrupts(), contextlib.suppress(queue.Empty):
                while True:
                    job = self._jobs.get_nowait()
                    if job is not None:
                        self._run(job)
        finally:
            with self._lock:
                self._serving = serving
        self._interrupted = False

    @property
    def runs_here(self) -> bool:
        """Whether a job is running on the calling thread: its code must not wait for its run."""
        return self._current is not None and self._serving == threading.get_ident()

    def interrupt_current(self) -> bool:
        """Raise ``KeyboardInterrupt`` in the job that runs now, from another thread."""
        with self._lock:
            if self._current is None or self._serving is None:
                return False
            self._expected += 1
            interrupt_thread(self._serving)
            return True

    def note_interrupt(self) -> None:
        """An interrupt ended the job's code, even if that code swallowed it (``run_cell`` does).

        Unless we sent it ourselves it was the person's, and ``serve`` passes it on.
        """
        if not self.was_ours():
            self._interrupted = True
            self._on_interrupt()

    def was_ours(self) -> bool:
        """Whether the interrupt a job has just seen was sent by :meth:`interrupt_current`."""
        with self._lock:
            if self._expected > 0:
                self._expected -= 1
                return True
            return False

    def _run(self, job: Job[Any]) -> None:
        if not job.begin():
            return
        settle: Callable[[], None] = partial(job.future.set_exception, JobInterrupted())
        with self._lock:
            previous, self._current = self._current, job
        try:
            with _user_interrupts():
                settle = job.call()
        except KeyboardInterrupt:
            # Nobody in the job's code swallowed it: it is ours or the person's.
            self.note_interrupt()
        finally:
            with self._lock:
                self._current = previous
            settle()

    @contextlib.contextmanager
    def _opened(self) -> Iterator[None]:
        with self._lock:
            was_open, serving = self._open, self._serving
            self._open, self._serving = True, threading.get_ident()
            if not was_open:
                self._expected, self._interrupted = 0, False
        try:
            yield
        finally:
            with self._lock:
                self._open, self._serving = was_open, serving
            if not was_open:
                self._drain()

    def _drain(self) -> None:
        kept: list[Job[Any]] = []
        with contextlib.suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None and job.keep:
                    kept.append(job)
                elif job is not None:
                    job.refuse()
        for job in kept:
            self._jobs.put(job)

    @contextlib.contextmanager
    def _watching_interrupts(self) -> Iterator[None]:
        """Between jobs an interrupt only sets a flag, so it never tears our own bookkeeping."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def note(_signal: int, _frame: FrameType | None) -> None:
            if not self.was_ours():
                self._interrupted = True
            self._jobs.put(None)

        before = signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _user_interrupts() -> Iterator[None]:
    """While the user's code runs, an interrupt raises in it, as in any cell."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def interrupt_thread(identifier: int) -> None:
    """SIGINT to the main thread; wakes blocking calls, which a mere flag would not.

    In a kernel that Jupyter started, which leads a session of its own, the programs that the code
    waits for get it too, as with the stop button: ``os.system`` is deaf until its program ends.
    """
    if identifier != threading.main_thread().ident:
        return
    if hasattr(os, "killpg") and os.getsid(0) == os.getpid():
        os.killpg(os.getpid(), signal.SIGINT)
    elif hasattr(signal, "pthread_kill"):
        signal.pthread_kill(identifier, signal.SIGINT)
    else:  # Windows
        import _thread

        _thread.interrupt_main()
