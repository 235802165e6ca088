"""One writer per transcript: a lock file that names the process (CASES 89)."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.platform != "win32":
    import fcntl


class SessionLock:
    """Held from :meth:`acquire` to :meth:`release`; a dead holder's lock is taken over."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held = False

    def acquire(self) -> bool:
        """False if another living process holds it. Raises ``OSError``."""
        with self._guard():
            for _ in range(3):
                try:
                    handle = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
                except FileExistsError:
                    if self._is_alive():
                        return False
                    self._path.unlink(missing_ok=True)
                    continue
                with os.fdopen(handle, "w", encoding="ascii") as file:
                    file.write(_me())
                self._held = True
                return True
        return False

    def release(self) -> None:
        """Give it up; once, and only our own."""
        if self._held:
            self._held = False
            if self._read() == _me():
                self._path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """One at a time: a lock just made is not yet signed, and a dead one's is taken away."""
        if sys.platform == "win32":
            yield
        else:
            handle = os.open(self._path.with_suffix(".guard"), os.O_CREAT | os.O_RDWR, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                yield
            finally:
                os.close(handle)

    def _read(self) -> str:
        try:
            return self._path.read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            return ""

    def _is_alive(self) -> bool:
        pid_text, _, host = self._read().partition(" ")
        if not pid_text.isdigit():
            return False
        if host != socket.gethostname():
            return True  # another machine on the same disk: we cannot tell
        pid = int(pid_text)
        return pid == os.getpid() or _runs(pid)


def _runs(pid: int) -> bool:
    if sys.platform == "win32":
        # Signal 0 is Ctrl-C there.
        import ctypes

        handle = ctypes.windll.kernel32.OpenProcess(0x1000, False, pid)
        if handle:
            ctypes.windll.kernel32.CloseHandle(handle)
        return bool(handle)
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # it is somebody else's
    return pid > 0


def _me() -> str:
    return f"{os.getpid()} {socket.gethostname()}"
