"""Where pages knock: registered when the extension is loaded, without importing what answers.

A page's messages are handed to the agent loop as they come; the first of them imports the host.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from agent_kernel.jupyter.agent_thread import AgentThread
from agent_kernel.jupyter.comm import CommChannel, ring_bell
from agent_kernel.jupyter.comm import listen as register

if TYPE_CHECKING:
    from agent_kernel.jupyter.pages import Page

_THREAD = "_agent_kernel_thread"


def thread_of(shell: Any) -> AgentThread:
    """The agent thread of a shell; it starts at its first use."""
    thread = getattr(shell, _THREAD, None)
    if not isinstance(thread, AgentThread):
        thread = AgentThread()
        setattr(shell, _THREAD, thread)
    return thread


def listen(shell: Any, *, bell: bool = True) -> None:
    """Let pages of this kernel open session comms, and tell the open ones that they may."""
    kernel = getattr(shell, "kernel", None)
    manager = getattr(kernel, "comm_manager", None)
    if manager is None:
        return
    thread = thread_of(shell)
    register(manager, lambda comm, _data: _Connection(shell, thread, comm).open())
    if bell:
        ring_bell()


class _Connection:
    """One comm. Its callbacks come on any thread; everything else happens on the agent loop."""

    def __init__(self, shell: Any, thread: AgentThread, comm: Any) -> None:
        self._shell = shell
        self._thread = thread
        self._page: Page | None = None
        self._channel = CommChannel(comm, self._on_data, self._on_close)

    def open(self) -> None:
        self._thread.call_soon(self._connect)

    def _on_data(self, data: object) -> None:
        off_main = threading.current_thread() is not threading.main_thread()
        self._thread.call_soon(self._receive, data, off_main)

    def _on_close(self) -> None:
        self._thread.call_soon(self._close)

    def _connect(self) -> None:
        from agent_kernel.jupyter.host import get_host

        self._page = get_host(self._shell).connect(self._channel)

    def _receive(self, data: object, off_main: bool) -> None:
        if self._page is not None:
            self._page.receive(data, off_main=off_main)

    def _close(self) -> None:
        if self._page is not None:
            self._page.closed()
