"""The finished runs of a session as views show them: ``<session>/runs.jsonl``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from agent_kernel.settings.home import private_folder
from agent_kernel.store.lines import RunLine, encode_run, read_runs
from agent_kernel.store.side import Side, Sparing
from agent_kernel.wire import RunSnapshot

TAIL_BYTES = 4_000_000
"""How much of the file's end is read: what a panel shows of a resumed session."""


SIDE_CHARS = 8_000_000
"""Of long texts and pictures that are shown again."""


class RunFile:
    """Appended to at the end of each run; read from its end."""

    def __init__(self, path: Path, *, scrub: Callable[[str], str], side: Side) -> None:
        self._path = path
        self._scrub = scrub
        self._side = side

    def append(self, run: RunSnapshot, until: str) -> None:
        """Raises ``OSError``, and ``ValueError`` for what JSON cannot hold."""
        line = encode_run(run, until, self._scrub, self._side)
        private_folder(self._path.parent)
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "wb") as file:
            # In one write, and with an end for a line that a crash has torn.
            file.write(line if self._ends_whole() else b"\n" + line)

    def _ends_whole(self) -> bool:
        with self._path.open("rb") as file:
            if file.seek(0, os.SEEK_END) == 0:
                return True
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def read(self) -> list[RunLine]:
        """The newest runs; empty if there are none or they cannot be read."""
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - TAIL_BYTES))
                if size > TAIL_BYTES:
                    file.readline()  # the rest of a line that began before
                lines = file.readlines()
        except OSError:
            return []
        # The newest first: they are the ones that are looked at.
        return read_runs(reversed(lines), Sparing(self._side, SIDE_CHARS))[::-1]

    def copy_from(self, other: RunFile, session_id: str) -> None:
        """What a fork shows of the runs before it. Raises ``OSError``."""
        for line in other.read():
            self.append(line.run.model_copy(update={"session_id": session_id}), line.until)
