"""Which folders the person has trusted: what comes with other folders does nothing (SPEC A6)."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

from agent_kernel.errors import SettingsError
from agent_kernel.settings.home import write_private


class TrustStore:
    """Trust is given to the real path of the repository root, else of the folder itself."""

    def __init__(self, home: Path) -> None:
        self._path = home / "trust.json"
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._folders: frozenset[str] = frozenset()

    def is_trusted(self, folder: Path) -> bool:
        """A file that cannot be read trusts nothing."""
        with self._lock:
            return trust_key(folder) in self._load()

    def trust(self, folder: Path) -> None:
        """Raises ``SettingsError`` if it cannot be kept."""
        with self._lock:
            folders = sorted(self._load() | {trust_key(folder)})
            text = json.dumps({"version": 1, "folders": folders}, ensure_ascii=False, indent=2)
            try:
                write_private(self._path, text + "\n")
            except OSError as error:
                raise SettingsError(f"{self._path} cannot be written: {error.strerror}.") from None

    def _load(self) -> frozenset[str]:
        try:
            stat = self._path.stat()
            seen = (stat.st_mtime_ns, stat.st_size)
            if seen != self._seen:
                content = json.loads(self._path.read_text("utf-8"))
                folders = content.get("folders", []) if isinstance(content, dict) else []
                names = folders if isinstance(folders, list) else []
                self._folders = frozenset(name for name in names if isinstance(name, str))
                self._seen = seen
        except (OSError, ValueError, RecursionError):
            self._folders, self._seen = frozenset(), None
        return self._folders


def trust_key(folder: Path) -> str:
    """What trust is keyed by."""
    real = Path(os.path.realpath(folder))
    for candidate in (real, *real.parents):
        if (candidate / ".git").exists():
            return str(candidate)
    return str(real)
