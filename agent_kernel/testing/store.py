"""Sessions and large results kept in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent_kernel.errors import StoreError
from agent_kernel.messages import Message
from agent_kernel.protocols import OpenedSession
from agent_kernel.wire import RunSnapshot
from agent_kernel.wire_sessions import SessionSummary


class MemoryStore:
    """The ``SessionStore`` seam without a disk. ``broken`` True: every write fails."""

    def __init__(self, *, broken: bool = False) -> None:
        self.sessions: dict[str, list[Message]] = {}
        self.kept: dict[str, list[RunSnapshot]] = {}
        self.broken = broken
        self._forks = 0

    def open(self, session_id: str) -> OpenedSession:
        messages = self.sessions.setdefault(session_id, [])
        return OpenedSession(session_id=session_id, messages=tuple(messages))

    def close(self, session_id: str) -> None:
        del session_id

    def check(self) -> None:
        if self.broken:
            raise StoreError("The session folder cannot be written.")

    def append(self, session_id: str, message: Message) -> None:
        if self.broken:
            raise StoreError("The session folder cannot be written.")
        self.sessions.setdefault(session_id, []).append(message)

    def load(self, session_id: str) -> list[Message]:
        if session_id not in self.sessions:
            raise StoreError(f"There is no session {session_id!r}.")
        return list(self.sessions[session_id])

    def list(self) -> tuple[SessionSummary, ...]:
        return tuple(SessionSummary(session_id=name) for name in self.sessions)

    def fork(self, session_id: str) -> str:
        self._forks += 1
        name = f"{session_id}-fork-{self._forks}"
        self.sessions[name] = self.load(session_id)
        self.kept[name] = list(self.kept.get(session_id, ()))
        return name

    def keep_run(self, session_id: str, run: RunSnapshot, *, until: str) -> None:
        del until
        if self.broken:
            raise StoreError("The session folder cannot be written.")
        self.kept.setdefault(session_id, []).append(run)

    def runs(self, session_id: str, messages: Sequence[Message]) -> tuple[RunSnapshot, ...]:
        del messages
        return tuple(self.kept.get(session_id, ()))


class MemoryBlobs:
    """The ``Blobs`` seam without a disk; ``kept`` maps names to bytes."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def put(self, name: str, data: bytes) -> Path:
        self.kept[name] = data
        return Path("/blobs") / name
