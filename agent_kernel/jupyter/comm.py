"""One comm to a page, with the measures ipykernel 7.4 needs (DESIGN 7).

A handler here runs on whatever thread the message came in by, often a subshell's while a cell
blocks the main one. It only passes the data on: it never prints, displays, blocks or touches the
user's names.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

# Also in `agent_kernel.wire`, which may not be imported when the extension is loaded.
SESSION_TARGET = "agent_kernel.session"
BELL_TARGET = "agent_kernel.frontend"

OnData = Callable[[object], None]


def protect(comm: Any, heard: Callable[[], None] | None = None) -> None:
    """Make a comm usable while a cell blocks: ours, and those of our widgets.

    - ipykernel 7.4 sends a page's messages to the shell that last *used* the comm, which may be the
      blocked one; they have to go where the page addressed them.
    - The stock ``handle_msg`` fires ``pre_execute`` and ``post_execute``, which flushes the running
      cell's open figure under the message's parent, where it is lost.

    ``heard`` is called for every message, on the thread it came by.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda _data, default: default  # noqa: SLF001

    def handle_msg(message: dict[str, Any]) -> None:
        if heard is not None:
            heard()
        callback = comm._msg_callback  # noqa: SLF001
        if callback is not None:
            callback(message)
        restore_output()

    comm.handle_msg = handle_msg


class CommChannel:
    """A page's comm. ``send`` may be called from any thread; callbacks come on any thread."""

    def __init__(self, comm: Any, on_data: OnData, on_close: Callable[[], None]) -> None:
        protect(comm)
        self._comm = comm
        comm.on_msg(lambda message: on_data(message["content"]["data"]))
        comm.on_close(lambda _message: on_close())

    @property
    def id(self) -> str:
        identifier: str = self._comm.comm_id
        return identifier

    def send(self, data: dict[str, Any]) -> None:
        """Send; a page that is gone is no error."""
        with contextlib.suppress(Exception):  # closed sockets at shutdown raise many things
            self._comm.send(data)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._comm.close()


def listen(
    manager: Any, on_open: Callable[[Any, object], None], target: str = SESSION_TARGET
) -> None:
    """Let pages open session comms; ``on_open`` gets each comm and the data it was opened with."""

    def opened(comm: Any, message: dict[str, Any]) -> None:
        on_open(comm, message["content"].get("data"))
        restore_output()

    manager.register_target(target, opened)


def ring_bell() -> None:
    """Tell the open pages that the extension is loaded now; each opens its own session comm.

    Only a bell: every page hears it and they would share its id. So it is forgotten here at once,
    without a close that would reach all of them.
    """
    import comm

    with contextlib.suppress(Exception):  # no front end that listens
        bell = comm.create_comm(target_name=BELL_TARGET, data={"bell": SESSION_TARGET})
        bell._closed = True  # noqa: SLF001 - else its end would be published
        comm.get_comm_manager().unregister_comm(bell)


# --- Output of threads -------------------------------------------------------

_restorers: list[Callable[[], None]] = []


@contextlib.contextmanager
def output_belongs_to(restore: Callable[[], None]) -> Iterator[None]:
    """While a job of the main thread runs, handling a message must not take its output away.

    Threads without a context of their own, and programs that write to the descriptors, print where
    the last message of *any* shell came from; ``restore`` sets that back.
    """
    _restorers.append(restore)
    try:
        yield
    finally:
        _restorers.remove(restore)


def restore_output() -> None:
    """Called at the end of every handler here."""
    if _restorers:
        with contextlib.suppress(Exception):
            _restorers[-1]()
