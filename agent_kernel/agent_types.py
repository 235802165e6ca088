"""The seam of sub-agents: what skills in fork mode, the Agent tool and summaries use (SPEC G2)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from agent_kernel.events import Event
from agent_kernel.messages import Frozen, Message


class SpawnSpec(Frozen):
    """A sub-agent to run.

    ``tools`` None: the parent's. ``inherit_context``: the request begins with the same bytes as the
    parent's (SPEC G7), and what it was told comes first, unless ``history`` is what comes first.
    ``max_tokens`` limits one reply, ``max_turns`` the calls of the model.
    """

    prompt: str
    agent_type: str = "general-purpose"
    description: str = ""
    model: str | None = None
    tools: tuple[str, ...] | None = None
    system: str | None = None
    inherit_context: bool = False
    history: tuple[Message, ...] | None = None
    max_tokens: int | None = None
    max_turns: int | None = None
    tool_use_id: str | None = None


class Spawner(Protocol):
    """Runs sub-agents."""

    def run(self, spec: SpawnSpec) -> AsyncGenerator[Event, None]:
        """From ``agent_started`` to ``agent_finished``, which is always last.

        All of them are for the run of the parent; its caller tells them. Leaving the iteration
        stops the sub-agent.
        """
        ...
