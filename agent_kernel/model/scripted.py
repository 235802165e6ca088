"""The scripted model for tests: a real server on a real port, driven without clocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent_kernel.model.client import create_client
from agent_kernel.model.offline import Fault, OfflineServer, Script
from agent_kernel.model.offline.record import Exchange
from agent_kernel.protocols import ModelClient
from agent_kernel.settings.settings import Settings, load_settings


class ScriptedServer:
    """A server without scripts of its own, and the settings that lead to it.

    >>> server.script([{"contains": "hi", "reply": "Hello."}])
    >>> session = AgentSession(model_client=server.client())
    """

    def __init__(self) -> None:
        self._server = OfflineServer([])
        self.base_url = self._server.start()

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of all model requests so far, in order."""
        return self._server.requests

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The requests with what became of them."""
        return self._server.exchanges

    def script(self, *scripts: Path | Script | str | list[Any] | dict[str, Any]) -> None:
        """Play these before those given earlier: YAML text, a list of rules, a script or a file."""
        self._server.play(*scripts)

    def fail_next(self, *faults: Fault) -> None:
        """Let these faults happen to the next requests."""
        self._server.fail_next(*faults)

    def release(self, gate: str) -> None:
        """Open a gate (``wait_for`` in a script)."""
        self._server.gates.release(gate)

    def reached(self, gate: str, timeout: float = 30.0) -> None:
        """Block until a reply waits at the gate. Raises ``TimeoutError``."""
        if not self._server.gates.reached(gate, timeout):
            raise TimeoutError(f"no reply came to the gate {gate!r}")

    @property
    def environment(self) -> dict[str, str]:
        """What to put into the environment of another process to make it use this server."""
        return {"ANTHROPIC_BASE_URL": self.base_url, "ANTHROPIC_API_KEY": "test-key-of-no-value"}

    def settings(self, cwd: Path, **changes: Any) -> Settings:
        """Settings as loaded with :attr:`environment` in the process's own, then changed."""
        import os

        settings = load_settings(cwd, {**os.environ, **self.environment})
        return settings.model_copy(update=changes)

    def client(self, cwd: Path | None = None, **changes: Any) -> ModelClient:
        """A real client for this server."""
        return create_client(self.settings(cwd or Path.cwd(), **changes))

    def stop(self) -> None:
        self._server.stop()
