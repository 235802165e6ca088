"""The desk where questions lie until somebody answers: cell, panel and ``input()`` alike.

Whoever shows a question passes the answer here with the question's nonce. The first valid answer
counts, once; every later one is told that it came too late.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from agent_kernel.events import PermissionRequested
from agent_kernel.protocols import ApprovalAnswer

Fallback = Callable[[PermissionRequested], Awaitable[ApprovalAnswer | None]]


@dataclass(eq=False)
class _Question:
    request: PermissionRequested
    waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[ApprovalAnswer]]] = field(
        default_factory=list
    )


class Desk:
    """The ``ApprovalDesk`` seam. ``ask`` belongs to an event loop, the rest to any thread.

    ``somebody`` tells whether anybody could answer now. ``fallback`` is started with each question
    and may answer it another way (``input()``); None means that clicks will come.
    """

    def __init__(
        self,
        *,
        somebody: Callable[[], bool] = lambda: True,
        fallback: Fallback | None = None,
    ) -> None:
        self._somebody = somebody
        self._fallback = fallback
        self._lock = threading.Lock()
        self._open: dict[str, _Question] = {}

    def can_ask(self) -> bool:
        return self._somebody()

    def pending(self) -> tuple[PermissionRequested, ...]:
        """Oldest first."""
        with self._lock:
            return tuple(question.request for question in self._open.values())

    async def ask(self, request: PermissionRequested) -> ApprovalAnswer:
        """Wait for the answer. Several may wait for one question; each gets the same answer."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[ApprovalAnswer] = loop.create_future()
        with self._lock:
            question = self._open.setdefault(request.request_id, _Question(request))
            question.waiters.append((loop, waiter))
            is_first = len(question.waiters) == 1
        helper = None
        if is_first and self._fallback is not None:
            helper = loop.create_task(self._try(self._fallback, request))
        try:
            return await waiter
        finally:
            self._leave(request.request_id, waiter)
            if helper is not None:
                helper.cancel()
                # Its end is part of this one: a prompt that is open has to be gone.
                with contextlib.suppress(asyncio.CancelledError):
                    await helper

    def answer(self, request_id: str, nonce: str, answer: ApprovalAnswer) -> bool:
        with self._lock:
            question = self._open.get(request_id)
            if question is None or not _same(question.request.nonce, nonce):
                return False
            del self._open[request_id]
        self._settle(question, answer)
        return True

    def deny_all(self, run_id: str | None = None) -> int:
        """Withdraw what is open, of one run or of all: the person stopped. How many there were."""
        with self._lock:
            found = [
                question
                for question in self._open.values()
                if run_id is None or question.request.run_id in ("", run_id)
            ]
            for question in found:
                del self._open[question.request.request_id]
        for question in found:
            self._settle(question, ApprovalAnswer(decision="deny", by="stop"))
        return len(found)

    def _settle(self, question: _Question, answer: ApprovalAnswer) -> None:
        for loop, waiter in question.waiters:
            with contextlib.suppress(RuntimeError):  # that loop has ended, and the waiter with it
                loop.call_soon_threadsafe(_resolve, waiter, answer)

    def _leave(self, request_id: str, waiter: asyncio.Future[ApprovalAnswer]) -> None:
        with self._lock:
            question = self._open.get(request_id)
            if question is None:
                return
            question.waiters = [pair for pair in question.waiters if pair[1] is not waiter]
            if not question.waiters:
                del self._open[request_id]

    async def _try(self, fallback: Fallback, request: PermissionRequested) -> None:
        answer = await fallback(request)
        if answer is not None:
            self.answer(request.request_id, request.nonce, answer)


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _resolve(waiter: asyncio.Future[ApprovalAnswer], answer: ApprovalAnswer) -> None:
    if not waiter.done():
        waiter.set_result(answer)
