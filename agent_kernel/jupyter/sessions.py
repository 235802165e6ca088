"""Conversations seen from one notebook: its own one, others to go on with, and copies (SPEC B9)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from agent_kernel.errors import StoreError
from agent_kernel.events import RunStarted
from agent_kernel.notebook.live import server_root
from agent_kernel.session import AgentSession
from agent_kernel.wire_sessions import SessionSummary

_MAX_BYTES = 64 * 1024 * 1024
"""Of a notebook file that is looked into for the id of its session."""


class NotebookSessions:
    """What one kernel knows of them. Methods belong to the agent loop.

    ``notebook_file`` and ``session_name`` say where the notebook is; ``on_change`` is called with
    the id when another conversation is on than before.
    """

    def __init__(
        self,
        session: Callable[[], AgentSession],
        *,
        notebook_file: Callable[[], Path | None],
        session_name: Callable[[], str | None],
        on_change: Callable[[str], None],
    ) -> None:
        self._session = session
        self._notebook_file = notebook_file
        self._session_name = session_name
        self._on_change = on_change
        self._named: str | None = None
        self._path: str | None = None
        self._told: str | None = None

    def heard(self, named: str | None, path: str | None) -> None:
        """A page has said which session its notebook names, and where the notebook is."""
        self._named = named or self._named
        self._path = path or self._path
        self.note()  # what this page is about to be told is what the pages know

    def own(self) -> SessionSummary | None:
        """The stored conversation that the notebook names."""
        named = self._named or _named_in(self._notebook_file())
        found = (s for s in self._session().sessions() if s.session_id == named)
        return next(found, None) if named else None

    def offered(self) -> SessionSummary | None:
        """The same, as long as nothing else has begun here."""
        session = self._session()
        own = self.own()
        if own is None or own.session_id == session.session_id or session.snapshot().runs:
            return None
        return own

    def resume(self, wanted: str | None) -> str:
        """Go on with a conversation; what to tell the person.

        None: the notebook's own, else the newest. Raises ``StoreError``, and ``RuntimeError``
        during a run.
        """
        session = self._session()
        own = self.own() if wanted is None else None
        found = own or session.find_session(wanted)
        if found.session_id == session.session_id:
            return f"This is {found.session_id} already."
        session.resume(found.session_id)
        why = ""
        if session.session_id != found.session_id:
            why = "it is open in another kernel"
        elif self._is_copied(session):
            session.fork()
            why = "this notebook is a copy of the one it was held in"
        self.note()
        what = f"Going on with {found.session_id}" + (f": {found.title}" if found.title else "")
        if why:
            what += f"\nAs a copy, {session.session_id}: {why}."
        turns = len(session.snapshot().runs)
        return f"{what}\n{turns} turn{'' if turns == 1 else 's'} so far. Mode: {session.mode}."

    def fork(self) -> str:
        """Go on with a copy; what to tell the person. Raises as :meth:`resume`."""
        session = self._session()
        before = session.session_id
        if before not in {summary.session_id for summary in session.sessions()}:
            raise StoreError("There is nothing to copy yet.")
        session.fork()
        self.note()
        return f"Going on with a copy: {session.session_id}. {before} stays as it is."

    def note(self) -> None:
        """Tell the pages if another conversation is on than the one they know."""
        now = self._session().session_id
        if self._told is not None and self._told != now:
            self._on_change(now)
        self._told = now

    def _is_copied(self, session: AgentSession) -> bool:
        """Whether the conversation was held in another notebook that is still there."""
        started = [
            event
            for run in session.snapshot().runs
            for event in run.events[:1]
            if isinstance(event, RunStarted) and event.notebook_path
        ]
        held_in = started[-1].notebook_path if started else None
        if held_in is None or self._path is None or held_in == self._path:
            return False
        root = server_root(self._session_name() or "", self._path)
        return root is not None and (root / held_in.removeprefix("RTC:").lstrip("/")).exists()


def _named_in(path: Path | None) -> str | None:
    """The session id in a notebook file's metadata; None if there is none to be read."""
    try:
        if path is None or path.stat().st_size > _MAX_BYTES:
            return None
        content = json.loads(path.read_bytes())
        named = content["metadata"]["agent_kernel"]["session_id"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return named if isinstance(named, str) else None
