"""The conversation of a session and its place in the store, with what went wrong there."""

from __future__ import annotations

from agent_kernel.errors import StoreError
from agent_kernel.events import Notice
from agent_kernel.loop.conversation import Conversation
from agent_kernel.messages import Message
from agent_kernel.protocols import Clock, Ids, SessionStore
from agent_kernel.wire import RunSnapshot


class Ledger:
    """Opens at the first use. A store that fails is told once; the session goes on unsaved."""

    def __init__(self, session_id: str, store: SessionStore, *, clock: Clock, ids: Ids) -> None:
        self.session_id = session_id
        self._saved = True
        self._checked = False
        self._store = store
        self._clock = clock
        self._ids = ids
        self._conversation: Conversation | None = None
        self._notices: list[Notice] = []

    @property
    def saved(self) -> bool:
        """Whether all so far was saved; before the first message, whether it could be."""
        if not self._checked:
            self._checked = True
            try:
                self._store.check()
            except StoreError as error:
                self._unsaved(error)
        return self._saved

    def conversation(self) -> Conversation:
        """With what was stored. Afterwards ``session_id`` may be a fork's, and a notice says so."""
        if self._conversation is None:
            messages: tuple[Message, ...] = ()
            try:
                opened = self._store.open(self.session_id)
            except StoreError as error:
                self._unsaved(error)
            else:
                messages = opened.messages
                self.session_id = opened.session_id
                if opened.notice:
                    self.warn("session_opened", opened.notice)
            self._conversation = Conversation(
                messages, clock=self._clock, ids=self._ids, on_append=self._append
            )
        return self._conversation

    def runs(self) -> tuple[RunSnapshot, ...]:
        """The runs of earlier processes as views show them."""
        messages = self.conversation().messages
        return self._store.runs(self.session_id, messages) if messages else ()

    def keep_run(self, run: RunSnapshot) -> None:
        """A run has ended; keep it as views show it."""
        messages = self.conversation().messages
        try:
            self._store.keep_run(self.session_id, run, until=messages[-1].uuid if messages else "")
        except StoreError as error:
            self._unsaved(error)

    def _append(self, message: Message) -> None:
        try:
            self._store.append(self.session_id, message)
        except StoreError as error:
            self._unsaved(error)
        else:
            self._saved = self._checked = True

    def _unsaved(self, error: StoreError) -> None:
        self._checked = True
        if self._saved:
            self._saved = False
            self.warn("not_saved", f"This conversation is not being saved: {error}")

    def warn(self, code: str, text: str) -> None:
        """Keep something to tell the person at the next occasion."""
        self._notices.append(Notice(level="warning", code=code, text=text))

    def take_notices(self) -> list[Notice]:
        taken, self._notices = self._notices, []
        return taken

    def close(self) -> None:
        """Give up the claim on the transcript."""
        if self._conversation is not None:
            self._store.close(self.session_id)
