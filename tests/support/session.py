"""Sessions for the scripted server, closed at the end of a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent_kernel import AgentSession
from agent_kernel.events import Event
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.testing.clock import CountingIds, FakeClock


class Maker:
    """Makes sessions for a scripted server; ``made`` are to be closed."""

    def __init__(self, server: ScriptedServer, cwd: Path) -> None:
        self.server = server
        self.cwd = cwd
        self.made: list[AgentSession] = []

    def __call__(self, **parts: Any) -> AgentSession:
        parts.setdefault("settings", self.server.settings(self.cwd))
        parts.setdefault("clock", FakeClock())
        parts.setdefault("ids", CountingIds())
        session = AgentSession(cwd=self.cwd, **parts)
        self.made.append(session)
        return session


async def run(session: AgentSession, prompt: str, **options: Any) -> list[Event]:
    """One run to its end."""
    return [event async for event in session.run(prompt, **options)]
