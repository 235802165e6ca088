"""The part of the wire that lists conversations and goes from one to another."""

from __future__ import annotations

from agent_kernel.messages import Frozen


class SessionSummary(Frozen):
    """A stored conversation. ``title``: its first words; ``updated``: ISO 8601, UTC."""

    session_id: str
    title: str = ""
    updated: str = ""


class NewResult(Frozen):
    session_id: str


class SessionsResult(Frozen):
    """Newest first. ``current`` is on now; ``own`` is the one that the notebook names."""

    sessions: tuple[SessionSummary, ...] = ()
    current: str = ""
    own: str | None = None


class ResumeParams(Frozen):
    """None: the notebook's own conversation, else the newest. An id may be cut short."""

    session_id: str | None = None


class ResumeResult(Frozen):
    """``session_id`` is another one if it goes on as a copy; ``text`` says so to the person."""

    session_id: str
    text: str = ""


class SessionParams(Frozen):
    """The notification ``session``: another conversation is on; ask for its snapshot."""

    session_id: str
