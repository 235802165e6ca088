"""One reply of a scripted server, as tests of the model client look at it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.model_types import ReplyEvent
from agent_kernel.testing.model import a_request, check_reply


async def reply(server: ScriptedServer, cwd: Path, **settings: Any) -> list[ReplyEvent]:
    """One reply by a client of its own; what holds for every reply is checked."""
    client = server.client(cwd, **settings)
    events = [event async for event in client.stream(a_request())]
    await client.close()
    check_reply(events)
    return events


def script(server: ScriptedServer, *parts: dict[str, Any], **step: Any) -> None:
    server.script([{"steps": [{"blocks": list(parts), "chunk": 8, **step}]}])


def kinds(events: list[ReplyEvent]) -> list[str]:
    return [event.type.removeprefix("reply_") for event in events]
