"""What the loop is given: seams, and the configuration of one run as a snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from agent_kernel.context_types import ContextKeeper
from agent_kernel.loop.budget import Budget
from agent_kernel.messages import Usage
from agent_kernel.model_types import Capabilities, SystemBlock, ToolSpec
from agent_kernel.protocols import (
    Approver,
    AttachmentSource,
    Blobs,
    Clock,
    Hooks,
    Ids,
    ModelClient,
    PermissionGate,
)
from agent_kernel.tool_types import Tool, ToolContext


@dataclass(frozen=True)
class Ports:
    """Everything that reaches the world.

    ``scrub`` takes secrets out of a text; ``price`` says what a call cost in US dollars, None if
    that is not known.
    ``keeper`` belongs to the conversation; without one nothing is ever folded away.
    """

    client: ModelClient
    gate: PermissionGate
    approver: Approver
    hooks: Hooks
    clock: Clock
    ids: Ids
    blobs: Blobs
    scrub: Callable[[str], str] = lambda text: text
    price: Callable[[str, Usage], float | None] = lambda model, usage: None  # noqa: ARG005
    attachments: tuple[AttachmentSource, ...] = ()
    keeper: ContextKeeper | None = None

    def reset_attachments(self) -> None:
        """After a compact everything counts as unseen."""
        for source in self.attachments:
            source.reset()


@dataclass(frozen=True)
class QueryConfig:
    """Fixed for a run. ``context`` is the template of what tools get.

    ``preamble`` is the first, meta, user text (SPEC P3). ``max_turns`` None: no limit.
    ``specs`` are the tools as the model sees them; ``tools`` may hold more names than that.
    ``max_tokens`` is the output limit of a first request (None: the usual one), ``most_tokens``
    what it may be raised to (None: what the model can). ``fallbacks`` are asked in this order when
    the model stays away.
    """

    model: str
    context: ToolContext
    tools: tuple[Tool, ...] = ()
    specs: tuple[ToolSpec, ...] = ()
    system: tuple[SystemBlock, ...] = ()
    preamble: str = ""
    max_turns: int | None = None
    max_tokens: int | None = None
    most_tokens: int | None = None
    thinking_budget: int | None = None
    fallbacks: tuple[str, ...] = ()
    budget: Budget = field(default_factory=Budget)
    capabilities: Capabilities = field(default_factory=Capabilities)
    by_name: dict[str, Tool] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names: dict[str, Tool] = {}
        for tool in self.tools:
            for alias in tool.aliases:
                names.setdefault(alias, tool)
        names.update({tool.name: tool for tool in self.tools})
        object.__setattr__(self, "by_name", names)

    def canonical(self, name: str) -> str:
        """A tool's name, for an old name of it."""
        return self.by_name[name].name if name in self.by_name else name
