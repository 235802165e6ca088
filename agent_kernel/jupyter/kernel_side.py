"""What the live notebook asks about its kernel."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from agent_kernel.jupyter.asked import AskedCell
from agent_kernel.jupyter.jobs import interrupt_thread

if TYPE_CHECKING:
    from agent_kernel.jupyter.host import KernelHost


class HostSide:
    """The ``KernelSide`` of :mod:`agent_kernel.notebook.live`, answered by the host."""

    def __init__(self, host: KernelHost) -> None:
        self._host = host

    @property
    def running_cell_id(self) -> str | None:
        ticket = self._host.runs.current
        return ticket.order.cell_id if ticket is not None else None

    @property
    def session_id(self) -> str:
        return self._host.session.session_id

    @property
    def is_main_blocked(self) -> bool:
        return self._host.main.is_blocked

    def notebook_file(self) -> Path | None:
        return self._host.notebook_file()

    def asked(self, cell_id: str, *, main: bool) -> AbstractContextManager[AskedCell]:
        return self._host.asked.asked(cell_id, main=main)

    async def wait_until_free(self) -> None:
        await self._host.main.run(lambda: None)

    def interrupt_cell(self) -> None:
        host = self._host
        if not host.jobs.interrupt_current() and host.asked.stop_main():
            interrupt_thread(threading.main_thread().ident or 0)
