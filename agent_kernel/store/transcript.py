"""Sessions on disk: one append-only JSONL file each (SPEC S3)."""

from __future__ import annotations

import os
import re
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path

from agent_kernel.errors import StoreError
from agent_kernel.messages import Message, TextBlock, UserMessage
from agent_kernel.protocols import Clock, Ids, OpenedSession
from agent_kernel.settings.home import private_folder, write_private
from agent_kernel.store.lines import Parsed, encode_header, encode_message, parse, read_line
from agent_kernel.store.lock import SessionLock
from agent_kernel.store.rebuild import runs_of
from agent_kernel.store.runs import RunFile
from agent_kernel.store.side import SideFiles
from agent_kernel.system import iso
from agent_kernel.wire import RunSnapshot
from agent_kernel.wire_sessions import SessionSummary

HEAD_BYTES = 65_536
"""How much of a file a listing reads."""


class TranscriptStore:
    """The ``SessionStore`` seam in one folder: ``<session>.jsonl``, mode 0600, flushed per message.

    Beside it a folder ``<session>`` holds long texts and pictures, and the runs as views show them.
    ``open`` claims a session with a lock file; the second process to open one gets a fork.
    Every failure of the disk is a ``StoreError``.
    """

    def __init__(
        self, folder: Path, *, cwd: Path, scrub: Callable[[str], str], clock: Clock, ids: Ids
    ) -> None:
        self._folder = folder
        self._cwd = cwd
        self._scrub = scrub
        self._clock = clock
        self._ids = ids
        self._locks: dict[str, SessionLock] = {}
        # Also at the end of the process: a lock should not outlive its holder.
        weakref.finalize(self, _release_all, self._locks)

    def path(self, session_id: str) -> Path:
        """The transcript's file. Raises ``StoreError`` for an id that is no plain name."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", session_id):
            raise StoreError(f"{session_id!r} is not a session id.")
        return self._folder / f"{session_id}.jsonl"

    def side(self, session_id: str) -> SideFiles:
        """Where the session's long texts and pictures are."""
        return SideFiles(self.path(session_id).with_suffix("") / "side")

    def _runs(self, session_id: str) -> RunFile:
        path = self.path(session_id).with_suffix("") / "runs.jsonl"
        return RunFile(path, scrub=self._scrub, side=self.side(session_id))

    def open(self, session_id: str) -> OpenedSession:
        """Claim a session, new or old, and make its file."""
        path = self.path(session_id)
        try:
            private_folder(self._folder)
            lock = SessionLock(path.with_suffix(".lock"))
            if session_id in self._locks or not lock.acquire():
                return self._open_fork(session_id)
        except OSError as error:
            raise _failure(error) from error
        try:
            parsed = self._parse(session_id) if path.exists() else Parsed()
            # A first write here, so that an unwritable folder is known at once (CASES 92).
            self._write(session_id, ())
        except StoreError:
            lock.release()
            raise
        self._locks[session_id] = lock
        notice = ""
        if parsed.skipped:
            kept = self._backup(path)
            notice = (
                f"{parsed.skipped} line(s) of this session's file could not be read; the rest is "
                f"here.{f' The file as it was: {kept}' if kept else ''}"
            )
        return OpenedSession(
            session_id=session_id,
            messages=tuple(parsed.messages),
            skipped=parsed.skipped,
            notice=notice,
        )

    def _backup(self, path: Path) -> Path | None:
        """A copy of a damaged file, before anything is added to it; made once per damage."""
        copy = path.with_name(f"{path.stem}.{path.stat().st_size}.damaged")
        try:
            if not copy.exists():
                write_private(copy, path.read_bytes())
        except OSError:
            return None
        return copy

    def _open_fork(self, session_id: str) -> OpenedSession:
        forked = self.open(self.fork(session_id))
        notice = f"Session {session_id} is open in another process; this is a copy of it."
        return forked.model_copy(update={"notice": notice})

    def close(self, session_id: str) -> None:
        """Give up the claim. No error if it is not open."""
        lock = self._locks.pop(session_id, None)
        if lock is not None:
            lock.release()

    def check(self) -> None:
        """Try to write where the folder is or would be made."""
        try:
            there = next(path for path in (self._folder, *self._folder.parents) if path.exists())
            with tempfile.TemporaryFile(dir=there):
                pass
        except OSError as error:
            raise _failure(error) from error

    def append(self, session_id: str, message: Message) -> None:
        """One message, handed to the system when this returns."""
        if session_id not in self._locks:
            self.open(session_id)
        self._write(session_id, (message,))

    def _write(self, session_id: str, messages: Iterable[Message]) -> None:
        """Append whole lines; a new file gets a header, a torn last line an end."""
        side = self.side(session_id)
        try:
            lines = [encode_message(message, self._scrub, side) for message in messages]
        except ValueError as error:
            raise StoreError(f"A message cannot be stored: {error}") from error
        except OSError as error:
            raise _failure(error) from error
        try:
            # Opened each time: no handle is left behind, and a folder moved away is noticed.
            handle = os.open(self.path(session_id), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "r+b", buffering=0) as file:
                size = file.seek(0, os.SEEK_END)
                if size == 0:
                    started = iso(self._clock.now())
                    lines.insert(0, encode_header(session_id, str(self._cwd), started))
                else:
                    file.seek(size - 1)
                    if file.read(1) != b"\n":
                        # Else the next line would be glued onto a torn one (CASES 86).
                        lines.insert(0, b"\n")
                _write_all(file, b"".join(lines))
        except OSError as error:
            raise _failure(error) from error

    def load(self, session_id: str) -> list[Message]:
        """The messages, without those that cannot be read."""
        return self._parse(session_id).messages

    def _parse(self, session_id: str) -> Parsed:
        try:
            with self.path(session_id).open("rb") as file:
                return parse(file, self.side(session_id))
        except FileNotFoundError:
            raise StoreError(f"There is no session {session_id!r} here.") from None
        except OSError as error:
            raise _failure(error) from error

    def list(self) -> tuple[SessionSummary, ...]:
        """Newest first; reads the head of each file only (CASES 91)."""
        found: list[tuple[float, SessionSummary]] = []
        try:
            paths = sorted(self._folder.glob("*.jsonl"))
        except OSError:
            return ()
        for path in paths:
            try:
                changed = path.stat().st_mtime
                title = _title(path)
            except OSError:
                continue
            updated = datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds")
            if title is not None:
                summary = SessionSummary(session_id=path.stem, title=title, updated=updated)
                found.append((changed, summary))
        return tuple(summary for _, summary in sorted(found, key=lambda pair: -pair[0]))

    def fork(self, session_id: str) -> str:
        """Copy a session to a new id, which it returns."""
        messages = self.load(session_id) if self.path(session_id).exists() else []
        name = self._ids.new("s")
        self._write(name, messages)
        self._runs(name).copy_from(self._runs(session_id), name)
        return name

    def keep_run(self, session_id: str, run: RunSnapshot, *, until: str) -> None:
        """A finished run as views show it; ``until``: the last message it added."""
        try:
            self._runs(session_id).append(run, until)
        except (OSError, ValueError) as error:
            raise _failure(error) from error

    def runs(self, session_id: str, messages: Sequence[Message]) -> tuple[RunSnapshot, ...]:
        """The newest runs in order; those that were not kept are told from the messages."""
        return runs_of(self._runs(session_id).read(), messages, session_id)


def _release_all(locks: dict[str, SessionLock]) -> None:
    for lock in locks.values():
        lock.release()


def _write_all(file: FileIO, data: bytes) -> None:
    """An unbuffered write may take a part only."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _title(path: Path) -> str | None:
    """The first words a person wrote; None if there are none in the head of the file."""
    left = HEAD_BYTES
    with path.open("rb") as file:
        while left > 0 and (line := file.readline(left)).endswith(b"\n"):
            left -= len(line)
            for message in read_line(line)[0]:
                if isinstance(message, UserMessage) and not message.is_meta:
                    for block in message.content:
                        if isinstance(block, TextBlock) and block.text.strip():
                            return " ".join(block.text.split())[:120]
    return None


def _failure(error: OSError | ValueError) -> StoreError:
    if not isinstance(error, OSError):
        return StoreError(str(error))
    where = f": {error.filename}" if error.filename else ""
    return StoreError(f"{error.strerror or error}{where}")
