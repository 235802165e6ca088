"""Cells that a run has asked the page to run, until they have ended."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator


class AskedCell:
    """One of them. ``main``: on the main shell, not on a subshell of its own."""

    def __init__(self, cell_id: str, *, main: bool) -> None:
        self.cell_id = cell_id
        self.main = main
        self.loop = asyncio.get_running_loop()
        self.started = False
        self.withdrawn: asyncio.Future[str] = self.loop.create_future()


class AskedCells:
    """Thread-safe; ``asked`` belongs to the agent loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cells: list[AskedCell] = []
        self._dropped: set[str] = set()

    @contextlib.contextmanager
    def asked(self, cell_id: str, *, main: bool) -> Iterator[AskedCell]:
        cell = AskedCell(cell_id, main=main)
        with self._lock:
            self._cells.append(cell)
            self._dropped.discard(cell_id)
        try:
            yield cell
        finally:
            with self._lock:
                self._cells.remove(cell)
            cell.withdrawn.cancel()

    def on_subshell(self, cell_id: str) -> bool:
        """Whether a request for this cell on a subshell is one of ours."""
        return any(cell.cell_id == cell_id and not cell.main for cell in self._snapshot())

    def on_main(self, cell_id: str | None) -> bool:
        """Whether this cell, on the main shell, is one that a run waits for."""
        return any(cell.cell_id == cell_id and cell.main for cell in self._snapshot())

    def started(self, cell_id: object) -> bool:
        """A request of the main shell is about to run; False if nobody wants it any more."""
        with self._lock:
            if cell_id in self._dropped:
                self._dropped = {other for other in self._dropped if other != cell_id}
                return False
            for cell in self._cells:
                if cell.main and cell.cell_id == cell_id:
                    cell.started = True
            return True

    def stop_main(self) -> bool:
        """The run is stopped: True if one of its cells runs on the main shell and has to be
        interrupted; one that has not begun will not begin."""
        with self._lock:
            cells = [cell for cell in self._cells if cell.main]
            self._dropped |= {cell.cell_id for cell in cells if not cell.started}
            return any(cell.started for cell in cells)

    def withdraw_main(self, reason: str) -> None:
        """The main shell has taken up another cell, which will not end before these are waited for.

        Called from the main thread, so none of them is running.
        """
        for cell in self._snapshot():
            if cell.main:
                with contextlib.suppress(RuntimeError):  # that loop is gone
                    cell.loop.call_soon_threadsafe(_settle, cell.withdrawn, reason)

    def _snapshot(self) -> list[AskedCell]:
        with self._lock:
            return list(self._cells)


def _settle(future: asyncio.Future[str], reason: str) -> None:
    if not future.done():
        future.set_result(reason)
