"""The one place that decides which model a session talks to."""

from __future__ import annotations

import threading

from agent_kernel.model.anthropic_client import AnthropicClient
from agent_kernel.protocols import ModelClient
from agent_kernel.settings.settings import Settings


def warm() -> None:
    """Import the client library, which takes seconds, before the first request needs it."""
    import anthropic  # noqa: F401


def create_client(settings: Settings) -> ModelClient:
    """The client these settings ask for. Nothing is started or imported before the first request.

    With no model configured it is the scripted server, which ``status()`` tells.
    """
    if settings.is_offline:
        return AnthropicClient(
            model=settings.model,
            credential=settings.credential,
            endpoint=_EmbeddedServer(settings),
            idle_timeout=settings.idle_timeout,
        )
    return AnthropicClient(
        model=settings.model,
        credential=settings.credential,
        endpoint=settings.base_url,
        idle_timeout=settings.idle_timeout,
    )


class _EmbeddedServer:
    """Starts the offline server when the first request needs it; it ends with the process."""

    def __init__(self, settings: Settings) -> None:
        self._scripts = settings.offline_scripts
        self._lock = threading.Lock()
        self._base_url = ""

    def __call__(self) -> str:
        from agent_kernel.model.offline import OfflineServer

        with self._lock:
            if not self._base_url:
                scripts = None if self._scripts is None else [self._scripts]
                self._base_url = OfflineServer(scripts).start()
            return self._base_url
