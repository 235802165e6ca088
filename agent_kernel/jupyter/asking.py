"""How a question reaches the person: by clicks where they arrive, else typed in the cell.

Whether clicks arrive is not guessed from versions and settings but proven each time, by a message
that comes in while the cell blocks.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

from agent_kernel.events import PermissionRequested
from agent_kernel.jupyter.jobs import JobQueue
from agent_kernel.jupyter.main_thread import MainThread
from agent_kernel.jupyter.pages import PING_LIMIT, Pages
from agent_kernel.jupyter.parent import kernel_of
from agent_kernel.protocols import ApprovalAnswer

_LOOK_EVERY = 0.05  # seconds


class Asking:
    """``since`` tells when the present run was ordered (monotonic seconds)."""

    def __init__(
        self,
        shell: Any,
        pages: Pages,
        jobs: JobQueue,
        main: MainThread,
        *,
        since: Callable[[], float],
        say: Callable[[str], None],
    ) -> None:
        self._shell = shell
        self._pages = pages
        self._jobs = jobs
        self._main = main
        self._since = since
        self._say = say
        self._widget_heard = float("-inf")
        self._said = False

    @property
    def clicks(self) -> bool:
        """Whether clicks have been seen to reach a blocked kernel."""
        return any(page.off_main for page in self._pages.open) or self._widget_heard > 0

    @property
    def input(self) -> bool:
        """Whether the front end of the running cell answers ``input()``."""
        kernel = kernel_of(self._shell)
        return True if kernel is None else bool(getattr(kernel, "_allow_stdin", False))

    def heard_widget(self) -> None:
        """A message of a widget has come; off the main thread, it proves that clicks arrive."""
        if threading.current_thread() is not threading.main_thread():
            self._widget_heard = time.monotonic()

    def is_somebody_there(self) -> bool:
        """Whether anybody could answer. A page that is gone may come back: the question waits."""
        return self._pages.ever or (self._jobs.is_open and (self.input or self._may_have_widget()))

    async def fallback(self, request: PermissionRequested) -> ApprovalAnswer | None:
        """A typed answer when no click can arrive, asked for within 2 seconds; else None."""
        if not self._jobs.is_open:
            return None  # the main shell is free, so a page's messages arrive
        if await self._clicks_arrive():
            return None
        if not self.input:
            return ApprovalAnswer(
                decision="deny", by="policy", reason="No front end can answer a question now."
            )
        if not self._said:
            self._said = True
            self._say("Clicks do not reach a running cell here, so questions are asked as text.")
        from agent_kernel.view.ask_text import ask

        return await self._main.run(lambda: ask(request))

    async def _clicks_arrive(self) -> bool:
        deadline = time.monotonic() + PING_LIMIT
        if await self._pages.reachable():
            return True
        while self._may_have_widget():
            if self._widget_heard >= self._since():
                return True
            if time.monotonic() >= deadline:
                break
            await asyncio.sleep(_LOOK_EVERY)
        return False

    def _may_have_widget(self) -> bool:
        return kernel_of(self._shell) is not None and not self._pages.open
