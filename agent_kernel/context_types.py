"""The seam between the loop and what keeps a conversation within the model's window (SPEC 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from agent_kernel.events import Event
from agent_kernel.messages import Usage
from agent_kernel.model_types import ApiMessage, Capabilities, ClearToolUses
from agent_kernel.tool_types import ToolContext

CompactTrigger = Literal["manual", "auto", "reactive"]


@dataclass(frozen=True)
class ContextRun:
    """What a keeper must know of the run it serves.

    ``context`` is the run's own: it holds the agent's id, the spawner and what was read.
    ``canonical`` maps a tool's old name to its name; ``fixed`` is a guess at the tokens of system
    prompt and tools, good until a reply tells.
    """

    model: str
    capabilities: Capabilities
    context: ToolContext
    tell: Callable[[Event], None]
    preamble: str = ""
    fixed: int = 0
    canonical: Callable[[str], str] = lambda name: name


class ContextKeeper(Protocol):
    """What of one conversation the model is sent, and how much room that takes (SPEC 7).

    It lives as long as its conversation and is the only one that knows what was folded away. The
    loop calls it; what it does it tells as events. Calls of sub-agents that it makes are told as
    ``usage`` with their own ``agent_id``: whoever tells for the run adds them up.
    """

    def begin(self, run: ContextRun) -> None:
        """A run starts, or goes on with another model."""
        ...

    @property
    def clearing(self) -> ClearToolUses | None:
        """What the request asks the endpoint to clear by itself, if it can (SPEC C3)."""
        ...

    def tokens(self) -> int:
        """Tokens of the next request, as well as can be told without a rescan (SPEC C7)."""
        ...

    async def before_request(self) -> bool:
        """Steps 2 to 6 of a round (SPEC L2). False: over the blocking limit, whatever was done."""
        ...

    def messages(self) -> tuple[ApiMessage, ...]:
        """The messages of the next request, valid (SPEC M3); costs only what is new."""
        ...

    def after_reply(self, usage: Usage) -> None:
        """A reply ended whole. Called after its message was added."""
        ...

    async def compact(self, trigger: CompactTrigger, focus: str = "") -> bool:
        """Replace the history by a summary; False if that failed or there is nothing to do.

        ``focus``: what the summary should keep above all, in the person's words.
        """
        ...

    async def shrink_head(self) -> bool:
        """Leave out the oldest API rounds of what is sent; False if only the newest is left."""
        ...
