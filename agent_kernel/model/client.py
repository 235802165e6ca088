"""The one place that decides which model a session talks to."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent_kernel.model.anthropic_client import AnthropicClient, load_library
from agent_kernel.protocols import ModelClient
from agent_kernel.settings.settings import Settings

if TYPE_CHECKING:
    from agent_kernel.model.offline import OfflineServer


def create_client(settings: Settings) -> ModelClient:
    """The client these settings ask for. Nothing is started or imported before the first request.

    With no model configured it is the scripted server, which ``status()`` tells.
    """
    if settings.is_offline:
        return AnthropicClient(
            model=settings.model,
            credential=settings.credential,
            endpoint=partial(_embedded_server, settings.offline_scripts),
            idle_timeout=settings.idle_timeout,
        )
    return AnthropicClient(
        model=settings.model,
        credential=settings.credential,
        endpoint=settings.base_url,
        idle_timeout=settings.idle_timeout,
    )


def warm() -> None:
    """Import the client library, which takes seconds: call it on a thread that may wait."""
    load_library()


# One server for all clients of a process that play the same scripts; it ends with the process.
_SERVERS: dict[Path | None, OfflineServer] = {}
_LOCK = threading.Lock()


def _embedded_server(scripts: Path | None) -> str:
    """The base URL of the offline server, which is started when the first request needs it."""
    from agent_kernel.model.offline import OfflineServer

    with _LOCK:
        server = _SERVERS.get(scripts)
        if server is None:
            server = OfflineServer(None if scripts is None else [scripts])
            server.start()
            _SERVERS[scripts] = server
        return server.base_url
