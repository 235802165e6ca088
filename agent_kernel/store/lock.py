"""One writer per transcript: a lock file that names the process (CASES 89)."""

from __future__ import annotations

import os
import socket
from pathlib import Path


class SessionLock:
    """Held from :meth:`acquire` to :meth:`release`; a dead holder's lock is taken over."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held = False

    def acquire(self) -> bool:
        """False if another living process holds it. Raises ``OSError``."""
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
        if pid == os.getpid():
            return True
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except (PermissionError, OSError):
            return True
        return True


def _me() -> str:
    return f"{os.getpid()} {socket.gethostname()}"
