"""Drives the loop against the scripted server, over real HTTP, with a clock that jumps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_kernel.agents.in_process import with_spawner
from agent_kernel.agents.reads import ReadMemory
from agent_kernel.context.window import WindowSettings
from agent_kernel.context_types import ContextKeeper
from agent_kernel.events import BaseEvent, Event, RunFinished
from agent_kernel.hooks.null import NullHooks
from agent_kernel.loop.budget import Budget
from agent_kernel.loop.control import RunControl
from agent_kernel.loop.conversation import Conversation
from agent_kernel.loop.ports import Ports, QueryConfig
from agent_kernel.loop.query import query
from agent_kernel.messages import Message, TextBlock, Usage
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.model_types import Capabilities, ToolSpec
from agent_kernel.protocols import Approver, AttachmentSource, Hooks, ModelClient, PermissionGate
from agent_kernel.testing.approver import ScriptedApprover
from agent_kernel.testing.clock import CountingIds, FakeClock
from agent_kernel.testing.store import MemoryBlobs
from agent_kernel.testing.tools import FakeGate
from agent_kernel.tool_types import Tool, ToolContext

SYSTEM = "You are being tested."


@dataclass
class Loop:
    """One conversation with all its seams in the test's hands; ``events`` holds the last run's."""

    server: ScriptedServer
    tools: Sequence[Tool] = ()
    gate: PermissionGate = field(default_factory=FakeGate)
    approver: Approver = field(default_factory=ScriptedApprover)
    hooks: Hooks = field(default_factory=NullHooks)
    attachments: tuple[AttachmentSource, ...] = ()
    scrub: Callable[[str], str] = lambda text: text
    client: ModelClient | None = None
    clock: FakeClock = field(default_factory=FakeClock)
    max_tokens: int | None = 1000
    thinking_budget: int | None = None
    fallbacks: tuple[str, ...] = ()
    budget: Budget = field(default_factory=Budget)
    price: Callable[[str, Usage], float | None] = lambda model, usage: None
    keeper: ContextKeeper | None = None
    window: WindowSettings = field(default_factory=WindowSettings)

    def __post_init__(self) -> None:
        self.ids = CountingIds()
        self.blobs = MemoryBlobs()
        self.reads = ReadMemory()
        self.conversation = Conversation(clock=self.clock, ids=self.ids)
        self.control = RunControl()
        self.events: list[Event] = []

    @property
    def messages(self) -> list[Message]:
        return self.conversation.messages

    def config(self, max_turns: int | None) -> QueryConfig:
        context = ToolContext(
            run_id="run_1", session_id="s_1", agent_id="main", cwd=Path("/work"), mode="default",
            emit=lambda event: None, ids=self.ids, read_state=self.reads,
        )  # fmt: skip
        return QueryConfig(
            model="claude-sonnet-5-5",
            context=context,
            tools=tuple(self.tools),
            specs=tuple(
                ToolSpec(name=t.name, description=t.prompt(), input_schema=t.input_schema())
                for t in self.tools
            ),
            max_turns=max_turns,
            max_tokens=self.max_tokens,
            thinking_budget=self.thinking_budget,
            fallbacks=self.fallbacks,
            budget=self.budget,
            capabilities=Capabilities(thinking=True, max_output_tokens=64_000, known=True),
        )

    async def run(
        self,
        prompt: str,
        *,
        max_turns: int | None = None,
        on: Callable[[Event], Any] | None = None,
    ) -> list[Event]:
        """One run to its end; ``on`` sees each event as it comes."""
        client = self.client or self.server.client()
        ports = Ports(
            client=client, gate=self.gate, approver=self.approver, hooks=self.hooks,
            clock=self.clock, ids=self.ids, blobs=self.blobs, scrub=self.scrub,
            price=self.price, attachments=self.attachments, keeper=self.keeper,
        )  # fmt: skip
        self.control = RunControl()
        self.events = []
        self.conversation.add_user((TextBlock(text=prompt),))
        config = with_spawner(
            self.config(max_turns), ports, self.conversation, self.control, window=self.window
        )
        events = query(config, ports, self.conversation, self.control)
        try:
            async with aclosing(events):
                async for event in events:
                    self.events.append(event)
                    if on is not None:
                        on(event)
        finally:
            await client.close()
        return self.events

    @property
    def end(self) -> RunFinished:
        last = self.events[-1]
        assert isinstance(last, RunFinished), last
        return last

    async def told(self, kind: type[BaseEvent], count: int = 1) -> None:
        """Wait until the run that is on has told so many events of a kind."""
        while sum(isinstance(e, kind) for e in self.events) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.002)

    async def reached(self, gate: str) -> None:
        """Wait until a reply of the server waits at the gate."""
        await asyncio.to_thread(self.server.reached, gate)


def told(events: Sequence[Event]) -> list[str]:
    """The course of a run in words: types, with the fact that tells two of a type apart."""
    words: list[str] = []
    for event in events:
        word: str = event.type
        for name in ("tool_use_id", "status", "decision", "code", "end"):
            value = getattr(event, name, None)
            if value:
                word += f" {value}"
        if not (
            words and word == words[-1] and word.startswith(("text_d", "thinking_d", "tool_i"))
        ):
            words.append(word)
    return words


def result_texts(body: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Id, text and error flag of the tool results in a request's last message."""
    found = []
    for block in body["messages"][-1]["content"]:
        if block["type"] == "tool_result":
            inner = block["content"]
            text = inner if isinstance(inner, str) else "\n".join(b.get("text", "") for b in inner)
            found.append((block["tool_use_id"], text, bool(block.get("is_error"))))
    return found


def sent(body: dict[str, Any]) -> list[str]:
    """The messages of a request, a line for each block; reminders by their first words."""
    lines = []
    for message in body["messages"]:
        for block in message["content"]:
            match block["type"]:
                case "text":
                    text = block["text"].removeprefix("<system-reminder>").strip()
                    lines.append(f"{message['role']}: {text[:60]}")
                case "tool_use":
                    lines.append(f"call {block['id']} {block['name']} {json.dumps(block['input'])}")
                case "tool_result":
                    inner = "\n".join(part.get("text", "") for part in block["content"])
                    mark = " failed" if block.get("is_error") else ""
                    lines.append(f"result {block['tool_use_id']}{mark}: {inner[:60]}")
                case kind:
                    lines.append(f"{message['role']}: <{kind}>")
    return lines


def without_marks(value: Any) -> Any:
    """A request without its cache marks, which wander."""
    if isinstance(value, dict):
        return {k: without_marks(v) for k, v in value.items() if k != "cache_control"}
    return [without_marks(v) for v in value] if isinstance(value, list) else value
