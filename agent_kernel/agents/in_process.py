"""The ``Spawner`` seam in this process: own messages, own reads, own window (SPEC G2, G7)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from pydantic import JsonValue

from agent_kernel.agent_types import SpawnSpec
from agent_kernel.agents.reads import ReadMemory
from agent_kernel.context.keeper import Keeper
from agent_kernel.context.plain import PlainKeeper
from agent_kernel.context.window import WindowSettings
from agent_kernel.context_types import ContextKeeper
from agent_kernel.events import (
    AgentFinished,
    AgentProgress,
    AgentStarted,
    Compacted,
    Event,
    MessageStarted,
    NotebookChanged,
    Notice,
    PermissionRequested,
    PermissionResolved,
    RunFinished,
    ToolStarted,
    UsageReported,
)
from agent_kernel.hooks.null import NullHooks
from agent_kernel.loop.control import RunControl
from agent_kernel.loop.conversation import Conversation
from agent_kernel.loop.ports import Ports, QueryConfig
from agent_kernel.loop.query import query
from agent_kernel.messages import TextBlock
from agent_kernel.model_types import SystemBlock
from agent_kernel.protocols import HookOutcome, Hooks
from agent_kernel.tools.files_read import files_read
from agent_kernel.vocabulary import PermissionMode, RunEnd, strictest

MAX_DEPTH = 3
"""Sub-agents of sub-agents."""

# What the parent's run tells as it is; the rest of a sub-agent's course is told in a few words.
_PASSED = (
    PermissionRequested, PermissionResolved, NotebookChanged, Notice, Compacted, UsageReported,
    AgentStarted, AgentProgress, AgentFinished,
)  # fmt: skip


class ChildControl(RunControl):
    """Never looser than the parent is now."""

    def __init__(self, parent: RunControl) -> None:
        self._parent = parent
        self._own: PermissionMode = parent.mode
        super().__init__(parent.mode)

    @property
    def mode(self) -> PermissionMode:
        return strictest(self._own, self._parent.mode)

    @mode.setter
    def mode(self, mode: PermissionMode) -> None:
        self._own = mode


@dataclass(frozen=True)
class ChildHooks:
    """The person's hooks, told which sub-agent it is (the ``Hooks`` seam)."""

    hooks: Hooks
    agent_id: str
    agent_type: str

    async def run(self, event: str, payload: dict[str, JsonValue]) -> HookOutcome:
        payload = {**payload, "agent_id": self.agent_id, "agent_type": self.agent_type}
        return await self.hooks.run(event, payload)


@dataclass
class InProcessSpawner:
    """Sub-agents of one run. ``config`` and ``ports`` are the run's, ``conversation`` its own."""

    config: QueryConfig
    ports: Ports
    conversation: Conversation
    control: RunControl
    window: WindowSettings
    depth: int = 1

    async def run(self, spec: SpawnSpec) -> AsyncGenerator[Event, None]:
        parent = self.config.context.agent_id
        child = self.ports.ids.new("agent")
        yield AgentStarted(
            agent_id=parent,
            child_id=child,
            tool_use_id=spec.tool_use_id,
            agent_type=spec.agent_type,
            description=spec.description,
        )
        finished = RunFinished(end=RunEnd.MODEL_ERROR, detail="It could not be started.")
        turns = 0
        async with aclosing(self._course(spec, child)) as events:
            async for event in events:
                match event:
                    case MessageStarted():
                        turns = event.turn
                    case ToolStarted():
                        text = f"{event.verb} {event.subject}".strip()
                        yield AgentProgress(agent_id=parent, child_id=child, text=text, turns=turns)
                    case RunFinished():
                        finished = event
                    case _ if isinstance(event, _PASSED):
                        yield event
                    case _:
                        pass
        yield AgentFinished(
            agent_id=parent,
            child_id=child,
            end=finished.end,
            text=finished.text if finished.end is RunEnd.COMPLETED else finished.detail,
            usage=finished.usage,
        )

    async def _course(self, spec: SpawnSpec, child: str) -> AsyncGenerator[Event, None]:
        conversation = self._conversation(spec)
        control = ChildControl(self.control)
        hooks: Hooks = ChildHooks(self.ports.hooks, child, spec.agent_type)
        if spec.history is not None:
            hooks = NullHooks()
        ports = replace(self.ports, gate=self.ports.gate.child(), hooks=hooks)
        config = await self._config(spec, child)
        if spec.history is not None:
            # A single answer about what is given: nothing is added to it, nothing folded away.
            keeper: ContextKeeper = PlainKeeper(conversation)
            ports = replace(ports, attachments=())
        else:
            keeper = Keeper(
                conversation,
                hooks=ports.hooks,
                settings=self.window,
                restore=files_read,
                on_compact=ports.reset_attachments,
            )
        ports = replace(ports, keeper=keeper)
        config = with_spawner(
            config, ports, conversation, control, window=self.window, depth=self.depth + 1
        )
        events = query(config, ports, conversation, control)
        async with aclosing(events):
            async for event in events:
                own = event.agent_id != "main" or child == "main"
                yield event if own else event.model_copy(update={"agent_id": child})

    def _conversation(self, spec: SpawnSpec) -> Conversation:
        conversation = Conversation(clock=self.ports.clock, ids=self.ports.ids)
        known = spec.history
        if known is None and spec.inherit_context:
            known = tuple(self.conversation.messages)
        for message in known or ():
            conversation.add(message)
        conversation.add_user((TextBlock(text=spec.prompt),), meta=known is not None)
        return conversation

    async def _config(self, spec: SpawnSpec, child: str) -> QueryConfig:
        base = self.config
        tools, specs = base.tools, base.specs
        if spec.tools is not None:
            wanted = set(spec.tools)
            tools = tuple(tool for tool in tools if wanted & {tool.name, *tool.aliases})
        if not spec.inherit_context:  # else the head of the request keeps its bytes
            names = {tool.name for tool in tools}
            specs = tuple(tool for tool in specs if tool.name in names)
        model = spec.model or base.model
        capabilities = base.capabilities
        if model != base.model:
            capabilities = await self.ports.client.capabilities(model)
        context = replace(
            base.context,
            agent_id=child,
            read_state=self._reads(spec),
            set_mode=None,
            commands=base.context.commands if any(t.name == "Skill" for t in tools) else None,
        )
        return replace(
            base,
            model=model,
            context=context,
            tools=tools,
            specs=specs,
            system=base.system if spec.system is None else (SystemBlock(text=spec.system),),
            preamble=base.preamble,
            max_turns=spec.max_turns,
            budget=base.budget.model_copy(update={"target_tokens": None}),
            max_tokens=spec.max_tokens or base.max_tokens,
            capabilities=capabilities,
        )

    def _reads(self, spec: SpawnSpec) -> ReadMemory:
        """What it has not seen it has not read."""
        known = self.config.context.read_state
        if spec.inherit_context and spec.history is None and isinstance(known, ReadMemory):
            return known.copy()
        return ReadMemory()


def with_spawner(
    config: QueryConfig,
    ports: Ports,
    conversation: Conversation,
    control: RunControl,
    *,
    window: WindowSettings,
    depth: int = 1,
) -> QueryConfig:
    """The configuration of a run whose tools and keeper may start sub-agents."""
    spawner = None
    if depth <= MAX_DEPTH:
        spawner = InProcessSpawner(config, ports, conversation, control, window, depth)
    return replace(config, context=replace(config.context, spawner=spawner))
