"""The pages that are connected, and which of them to talk to (DESIGN 8, *Which page*)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

from pydantic import BaseModel, JsonValue

from agent_kernel import wire
from agent_kernel.errors import WireError
from agent_kernel.jupyter.comm import CommChannel
from agent_kernel.jupyter.pacing import PacedSender
from agent_kernel.jupyter.paging import JsonObject, pack
from agent_kernel.jupyter.rpc import Method, Peer
from agent_kernel.wire_sessions import SessionParams

PING_LIMIT = 1.5  # seconds; a page in the background answers in 100 ms
LOOK_LIMIT = 3.0
SILENCE = 60.0  # seconds after which a page with nothing unsaved counts as gone


class Page:
    """One page over its comm. Methods belong to the agent loop."""

    def __init__(self, channel: CommChannel, methods: Callable[[Page], Mapping[str, Method]]):
        self.channel = channel
        self.path: str | None = None
        self.client = ""
        self.capabilities: tuple[str, ...] = ()
        self.greeted: float | None = None
        """When it said hello (monotonic seconds); None before that."""
        self.heard = time.monotonic()
        self.dirty: bool | None = None
        """What it last said of unsaved changes; None: it never said."""
        self.said_bye = False
        self.is_open = True
        self.off_main = False
        """Whether its last message came by a thread other than the main one: clicks reach a
        blocked kernel."""
        self._sender = PacedSender(channel.send)
        self._peer = Peer(send=self._send, methods=methods(self))

    @property
    def has_notebook(self) -> bool:
        return (
            self.is_open
            and not self.said_bye
            and self.greeted is not None
            and "notebook" in self.capabilities
        )

    def receive(self, data: object, *, off_main: bool) -> None:
        self.heard = time.monotonic()
        self.off_main = off_main
        self._peer.receive(data)

    async def request(
        self, method: str, params: BaseModel | None, *, timeout: float
    ) -> dict[str, JsonValue]:
        """Raises ``WireError`` and ``WireTimeout``."""
        answer = await self._peer.request(method, params, timeout=timeout)
        if method == "notebook.read" and isinstance(answer.get("dirty"), bool):
            self.dirty = bool(answer["dirty"])
        return answer

    async def answers(self) -> bool:
        """One ping: whether the page is there and its messages arrive now."""
        try:
            await self.request("ping", None, timeout=PING_LIMIT)
        except WireError:
            return False
        return True

    def tell(self, events: Sequence[wire.EventParams]) -> None:
        if self.greeted is not None and self.is_open:
            self._peer.notify("event", events)

    def tell_session(self, session_id: str) -> None:
        """Another conversation is on."""
        if self.greeted is not None and self.is_open:
            self._peer.notify("session", [SessionParams(session_id=session_id)])

    def closed(self) -> None:
        """Its comm is gone."""
        self.is_open = False
        self._sender.close()
        self._peer.close()

    def _send(self, objects: Sequence[JsonObject]) -> None:
        for data, size in pack(objects):
            self._sender.put(data, size)


class Pages:
    """All pages of this kernel, the ones that are gone included: they tell about the file."""

    def __init__(self) -> None:
        self._all: list[Page] = []
        self._holders: dict[str, Page] = {}

    @property
    def open(self) -> tuple[Page, ...]:
        return tuple(page for page in self._all if page.is_open and page.greeted is not None)

    @property
    def ever(self) -> bool:
        """Whether a page has ever said hello."""
        return any(page.greeted is not None for page in self._all)

    @property
    def expected(self) -> bool:
        """Whether a comm is open whose hello has not come yet."""
        return any(page.is_open and page.greeted is None for page in self._all)

    def add(self, page: Page) -> None:
        # Of the pages that are gone only the newest matters.
        gone = [page for page in self._all if not page.is_open]
        for old in gone[:-8]:
            self._all.remove(old)
        self._all.append(page)

    def greeted(self, page: Page) -> None:
        """A hello: this page was the last that had the attention."""
        if page in self._all:
            self._all.remove(page)
        self._all.append(page)

    def tell(self, events: Sequence[wire.EventParams]) -> None:
        for page in self.open:
            page.tell(events)

    def tell_session(self, session_id: str) -> None:
        for page in self.open:
            page.tell_session(session_id)

    async def choose(self, cell_id: str | None) -> Page | None:
        """The page that holds the cell, else the one that said hello last; None: none is there."""
        there = [page for page in reversed(self._all) if page.has_notebook]
        if len(there) < 2:
            return there[0] if there else None
        if cell_id is not None:
            known = self._holders.get(cell_id)
            if known in there:
                return known
            holds = await asyncio.gather(*(self._holds(page, cell_id) for page in there))
            for page, found in zip(there, holds, strict=True):
                if found:
                    self._holders[cell_id] = page
                    return page
        return there[0]

    async def holds(self, page: Page, cell_id: str) -> bool:
        return await self._holds(page, cell_id)

    async def _holds(self, page: Page, cell_id: str) -> bool:
        params = wire.NotebookReadParams(cell_ids=(cell_id,))
        try:
            await page.request("notebook.read", params, timeout=LOOK_LIMIT)
        except WireError:
            return False
        return True

    def why_not_file(self) -> str | None:
        """Why the file may not be used, asked when no page is there; None: it may."""
        for page in reversed(self._all):
            if page.greeted is None or "notebook" not in page.capabilities:
                continue
            if page.said_bye:
                return None
            silent = time.monotonic() - page.heard
            if page.dirty is False and silent >= SILENCE:
                return None
            return (
                "The page that shows this notebook has gone without saying whether it was saved, "
                "and the file may be older than what the person sees. Ask them to open it again"
                + (f", or wait {SILENCE - silent:.0f} s." if page.dirty is False else ".")
            )
        return None

    async def reachable(self) -> bool:
        """Whether some page answers a ping now."""
        pages = self.open
        if not pages:
            return False
        return any(await asyncio.gather(*(page.answers() for page in pages)))
