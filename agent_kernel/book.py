"""The book of a session: which conversation it has now, and the runs of it that views show."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from agent_kernel.context.keeper import Keeper
from agent_kernel.errors import StoreError
from agent_kernel.events import BaseEvent, RunFinished, RunStarted
from agent_kernel.ledger import Ledger
from agent_kernel.messages import Usage
from agent_kernel.prompt.build import Surroundings, look_around
from agent_kernel.prompt.instructions import NotePlaces
from agent_kernel.store.run_log import RunLog
from agent_kernel.tools.files_read import files_read
from agent_kernel.wire import RunSnapshot
from agent_kernel.wire_sessions import SessionSummary

if TYPE_CHECKING:
    import threading

    from agent_kernel.wiring import Parts

_Kind = TypeVar("_Kind", bound=BaseEvent)

KEPT_RUNS = 200
"""Runs whose events stay in memory; older ones are in the transcript."""

SHORTEST = 4
"""Characters that are enough of an id, if they fit one session only."""


class Book:
    """Any thread; ``lock`` is the session's own."""

    def __init__(
        self, parts: Callable[[], Parts], lock: threading.RLock, session_id: str | None
    ) -> None:
        self._parts = parts
        self._lock = lock
        self._wanted_id = session_id
        self._is_stored = session_id is not None
        self._ledger: Ledger | None = None
        self._restored: tuple[RunSnapshot, ...] | None = None
        self._spent: tuple[Usage, float | None] | None = None
        self._logs: list[RunLog] = []
        self._around: Surroundings | None = None
        self._keeper: Keeper | None = None
        self._told_skills: frozenset[str] = frozenset()

    @property
    def ledger(self) -> Ledger:
        with self._lock:
            parts = self._parts()  # may make the ledger, to note what settings could not be used
            if self._ledger is None:
                self._ledger = Ledger(
                    self._wanted_id or parts.ids.new("s"),
                    parts.store,
                    clock=parts.clock,
                    ids=parts.ids,
                )
            return self._ledger

    @property
    def keeper(self) -> Keeper:
        """What keeps the conversation within the model's window."""
        with self._lock:
            if self._keeper is None:
                parts = self._parts()
                self._keeper = Keeper(
                    self.ledger.conversation(),
                    hooks=parts.hooks,
                    settings=parts.window,
                    restore=files_read,
                    on_compact=self._compacted,
                )
            return self._keeper

    def _compacted(self) -> None:
        """What was told once has to be told again; notes and prompt are read anew (SPEC P1)."""
        self._around = None
        for source in self._parts().attachments:
            source.reset()

    def add(self, log: RunLog) -> None:
        """A run begins."""
        with self._lock:
            self._logs = [*self._logs[-(KEPT_RUNS - 1) :], log]

    def runs(self) -> tuple[RunSnapshot, ...]:
        """All runs that are shown, those of earlier processes first."""
        with self._lock:
            restored, logs = self._restore(), self._logs
        return (*restored, *(log.snapshot() for log in logs))

    def totalled(self, event: RunFinished) -> RunFinished:
        """The end of a run with what the conversation has used in all."""
        with self._lock:
            if self._spent is None:
                before = self._last(RunFinished)
                self._spent = (
                    (before.session_usage, before.session_cost_usd) if before else (Usage(), None)
                )
            usage, cost = self._spent
            usage += event.usage
            if event.cost_usd is not None:
                cost = (cost or 0.0) + event.cost_usd
            self._spent = (usage, cost)
        return event.model_copy(update={"session_usage": usage, "session_cost_usd": cost})

    def run(self, run_id: str) -> RunSnapshot | None:
        """One of them."""
        with self._lock:
            restored, logs = self._restore(), self._logs
        log = next((log for log in logs if log.run_id == run_id), None)
        if log is not None:
            return log.snapshot()
        return next((run for run in restored if run.run_id == run_id), None)

    def _restore(self) -> tuple[RunSnapshot, ...]:
        if self._restored is None:
            self._restored = self.ledger.runs() if self._is_stored else ()
        return self._restored

    def last_started(self) -> RunStarted | None:
        """How the last run of an earlier process began."""
        return self._last(RunStarted)

    def _last(self, kind: type[_Kind]) -> _Kind | None:
        with self._lock:
            restored = self._restore()
        events = restored[-1].events if restored else ()
        return next((event for event in events if isinstance(event, kind)), None)

    # -- what a conversation is told of

    async def look_around(self) -> Surroundings:
        """What is on the disk, read once per conversation (SPEC P3)."""
        around, parts = self._around, self._parts()
        if around is None:
            folder = parts.settings.user_skills.parent
            settings = parts.settings
            around = await look_around(
                parts.cwd,
                folder,
                parts.clock.now(),
                places=NotePlaces(
                    parts.cwd,
                    folder,
                    settings.managed_folder,
                    settings.managed_notes,
                    settings.note_excludes,
                ),
                style=settings.output_style,
                may_read=parts.gate.may_read,
            )
            self._around = around
            if around.notice:
                self.ledger.warn("notes", around.notice)
        return around

    def warn_of_skills(self) -> None:
        """A skill that cannot be loaded is told once, and hides no other (SPEC K2)."""
        problems: tuple[str, ...] = getattr(self._parts().commands, "problems", ())
        for problem in problems:
            if problem not in self._told_skills:
                self.ledger.warn("skills", problem)
        self._told_skills |= set(problems)

    # -- another conversation

    def new(self) -> str:
        """An empty one; its id."""
        self._turn_to(None)
        return self.ledger.session_id

    def resume(self, wanted: str | None) -> str:
        """A stored one, the newest other than this if none is named; its id, or that of a copy.

        Raises ``StoreError`` if there is none.
        """
        found = self.find(wanted)
        with self._lock:
            self._turn_to(found.session_id)
            self.ledger.conversation()
            self._restore()
            return self.ledger.session_id

    def fork(self) -> str:
        """A copy of the present one, to go on with; its id. Raises ``StoreError``."""
        with self._lock:
            self.ledger.conversation()
            return self.resume(self._parts().store.fork(self.ledger.session_id))

    def find(self, wanted: str | None) -> SessionSummary:
        """A stored session by its id or the beginning of it; None: the newest other than this.

        Raises ``StoreError``, whose text says what there is.
        """
        sessions = self._parts().store.list()
        if wanted is None:
            here = self.ledger.session_id
            newest = next((s for s in sessions if s.session_id != here), None)
            if newest is None:
                raise StoreError("There is no other session of this folder.")
            return newest
        found = [s for s in sessions if s.session_id == wanted]
        if not found and len(wanted) >= SHORTEST:
            found = [s for s in sessions if s.session_id.startswith(wanted)]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(s.session_id for s in found[:5])
            raise StoreError(f"Several sessions begin with {wanted!r}: {names}.")
        raise StoreError(f"There is no session {wanted!r} of this folder.")

    def _turn_to(self, session_id: str | None) -> None:
        with self._lock:
            self.close()
            self._wanted_id = session_id
            self._is_stored = session_id is not None
            self._ledger = None
            self._restored = None
            self._spent = None
            self._logs = []
            self._around = None
            self._keeper = None

    def close(self) -> None:
        """Give up the claim on the transcript."""
        if self._ledger is not None:
            self._ledger.close()
