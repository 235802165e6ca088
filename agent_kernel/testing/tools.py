"""A tool that does what a test tells it, and a gate that says what a test tells it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from agent_kernel.errors import SettingsError, ToolError
from agent_kernel.tool_types import (
    ContextModifier,
    GateDecision,
    Opinion,
    RuleTarget,
    Tool,
    ToolContext,
    ToolDisplay,
    ToolResult,
)
from agent_kernel.vocabulary import Preview, RuleDestination, TextPreview

Behaviour = Callable[["FakeInput", ToolContext], Awaitable[ToolResult | str]]


class FakeInput(BaseModel):
    """Any fields; ``refuse`` makes :meth:`FakeTool.parse_input` fail."""

    model_config = ConfigDict(extra="allow", frozen=True)


class FakeTool:
    """A tool whose ``behaviour`` is a coroutine function; by default it repeats its input.

    ``calls`` lists the inputs it ran with, in order of starting.
    """

    def __init__(
        self,
        name: str,
        behaviour: Behaviour | None = None,
        *,
        read_only: bool = False,
        concurrent: bool = False,
        aliases: tuple[str, ...] = (),
        interrupt: Literal["cancel", "wait"] = "cancel",
        max_result_chars: int = 30_000,
        complaint: str | None = None,
    ) -> None:
        self.name = name
        self.aliases = aliases
        self.search_hint = ""
        self.max_result_chars = max_result_chars
        self.calls: list[dict[str, Any]] = []
        self._behaviour = behaviour
        self._read_only = read_only
        self._concurrent = concurrent
        self._interrupt: Literal["cancel", "wait"] = interrupt
        self._complaint = complaint

    def input_schema(self) -> dict[str, JsonValue]:
        return {"type": "object", "properties": {}}

    def parse_input(self, raw: Mapping[str, JsonValue]) -> FakeInput:
        if "refuse" in raw:
            raise ToolError(f"{self.name} takes no field named refuse.")
        return FakeInput.model_validate(dict(raw))

    def prompt(self) -> str:
        return f"The tool {self.name}."

    def is_enabled(self, context: ToolContext) -> bool:
        del context
        return True

    def is_read_only(self, input: FakeInput) -> bool:
        del input
        return self._read_only

    def is_concurrency_safe(self, input: FakeInput) -> bool:
        del input
        return self._concurrent

    def is_destructive(self, input: FakeInput) -> bool:
        del input
        return False

    def interrupt_behavior(self) -> Literal["cancel", "wait"]:
        return self._interrupt

    async def validate_input(self, input: FakeInput, context: ToolContext) -> str | None:
        del input, context
        return self._complaint

    async def check_permissions(self, input: FakeInput, context: ToolContext) -> Opinion:
        del input, context
        return Opinion()

    async def rule_targets(self, input: FakeInput, context: ToolContext) -> tuple[RuleTarget, ...]:
        del input, context
        return ()

    def display(self, input: FakeInput, context: ToolContext) -> ToolDisplay:
        del context
        subject = " ".join(str(value) for value in input.model_dump().values())
        return ToolDisplay(verb=self.name, subject=subject)

    async def preview(self, input: FakeInput, context: ToolContext) -> Preview:
        del context
        return TextPreview(text=input.model_dump_json())

    async def call(self, input: FakeInput, context: ToolContext) -> ToolResult:
        self.calls.append(input.model_dump())
        if self._behaviour is None:
            return ToolResult.text(f"{self.name} {input.model_dump_json()}")
        result = await self._behaviour(input, context)
        return ToolResult.text(result) if isinstance(result, str) else result


class FakeGate:
    """Decides by tool name, ``default`` for the rest; remembers what it was told.

    A rule remembered allows its tool from then on. A rule that holds ``!`` cannot be saved.
    """

    def __init__(
        self,
        decisions: Mapping[str, GateDecision | Literal["allow", "deny", "ask"]] | None = None,
        *,
        default: Literal["allow", "deny", "ask"] = "allow",
    ) -> None:
        self._decisions = dict(decisions or {})
        self._default: Literal["allow", "deny", "ask"] = default
        self.judged: list[tuple[str, dict[str, Any]]] = []
        self.remembered: list[tuple[str, RuleDestination]] = []
        self.applied: list[ContextModifier | None] = []

    def forget_session(self) -> None:
        self.remembered = [(rule, place) for rule, place in self.remembered if place != "session"]

    def may_read(self, path: Path) -> bool:
        del path
        return True

    def hides(self, tool: Tool) -> bool:
        del tool
        return False

    async def decide(
        self,
        tool: Tool,
        input: BaseModel,
        context: ToolContext,
        *,
        hook: Literal["none", "allow", "ask", "deny"] = "none",
    ) -> GateDecision:
        del context, hook
        self.judged.append((tool.name, input.model_dump()))
        if any(rule.partition("(")[0] == tool.name for rule, _ in self.remembered):
            return GateDecision(behavior="allow")
        decision = self._decisions.get(tool.name, self._default)
        if isinstance(decision, GateDecision):
            return decision
        return GateDecision(behavior=decision, reason=f"The test says {decision}.")

    async def proves(self, rule: str, tool: Tool, input: BaseModel, context: ToolContext) -> bool:
        del input, context
        return rule.partition("(")[0] == tool.name

    def remember(self, rule: str, destination: RuleDestination) -> None:
        if "!" in rule:
            raise SettingsError(f"{rule!r} is not a rule.")
        self.remembered.append((rule, destination))

    def apply(self, modifier: ContextModifier | None) -> None:
        self.applied.append(modifier)

    def child(self) -> FakeGate:
        return self
