"""Variables: what is in memory, without running code that could take long or change anything."""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import Field, field_validator

from agent_kernel.errors import ToolError
from agent_kernel.notebook.render import clean, clip
from agent_kernel.protocols import VariableInfo
from agent_kernel.tool_types import Opinion, ToolContext, ToolDisplay, ToolResult
from agent_kernel.tools.base import BaseTool, ToolInput
from agent_kernel.vocabulary import Preview, TextPreview

_OF_SEVERAL = 400
_OF_ONE = 6_000
_LISTED = 200


class VariablesInput(ToolInput):
    names: Annotated[
        tuple[str, ...] | None,
        Field(description="Names to look at closely; leave out to list everything."),
    ] = None

    @field_validator("names", mode="before")
    @classmethod
    def _one_name(cls, value: object) -> object:
        """A single name, or the list written as text, is what was meant."""
        if isinstance(value, str):
            if value.lstrip().startswith("["):
                try:
                    return json.loads(value)
                except ValueError:
                    return value
            return [name.strip() for name in value.split(",") if name.strip()]
        return value


class Variables(BaseTool[VariablesInput]):
    name = "Variables"
    input_model = VariablesInput
    search_hint = "memory dataframe columns shape inspect"
    verb = "Variables"
    description = (
        "Shows the user's variables: type, shape, size, and for named ones columns, first rows, "
        "missing values. It changes nothing and never asks. Look here before guessing at data."
    )

    def is_enabled(self, context: ToolContext) -> bool:
        return context.namespace is not None

    def is_read_only(self, input: VariablesInput) -> bool:
        return True

    def is_concurrency_safe(self, input: VariablesInput) -> bool:
        return True

    async def check_permissions(self, input: VariablesInput, context: ToolContext) -> Opinion:
        return Opinion(behavior="allow", reason="Looking at variables changes nothing.")

    def display(self, input: VariablesInput, context: ToolContext) -> ToolDisplay:
        return ToolDisplay(verb=self.verb, subject=", ".join(input.names or ())[:80])

    async def preview(self, input: VariablesInput, context: ToolContext) -> Preview:
        return TextPreview(text=", ".join(input.names or ()) or "all variables")

    async def call(self, input: VariablesInput, context: ToolContext) -> ToolResult:
        if context.namespace is None:
            raise ToolError("There is no kernel here, so there are no variables.")
        names = list(dict.fromkeys(input.names or ())) or None
        found = await context.namespace.variables(names)
        if names is None:
            return _listing(found)
        missing = [name for name in names if name not in {info.name for info in found}]
        if not found:
            raise ToolError(await _nothing(missing, context))
        limit = max(_OF_SEVERAL, _OF_ONE // len(found))
        parts = [_described(info, limit) for info in found]
        if missing:
            parts.append(f"Not in memory: {', '.join(missing)}.")
        fact = found[0].shape if len(found) == 1 and found[0].shape else f"{len(found)} found"
        return ToolResult.text("\n\n".join(parts), fact=fact)


def _listing(found: tuple[VariableInfo, ...]) -> ToolResult:
    if not found:
        return ToolResult.text("The user has no variables yet.", fact="none")
    lines = [f"- {_head(info)}" for info in found[:_LISTED]]
    if len(found) > _LISTED:
        rest = ", ".join(info.name for info in found[_LISTED:])
        lines.append(f"and {len(found) - _LISTED} more: {clip(rest, 2_000)}")
    fact = f"{len(found)} variable" + "s" * (len(found) != 1)
    return ToolResult.text("\n".join(lines), fact=fact)


def _head(info: VariableInfo) -> str:
    facts = [info.type]
    if info.shape:
        facts.append(info.shape)
    if info.size is not None:
        facts.append(_bytes(info.size))
    return f"{info.name}: {', '.join(facts)}"


def _described(info: VariableInfo, limit: int) -> str:
    summary = clip(clean(info.summary), limit)
    return f"{_head(info)}\n{summary}" if summary.strip() else _head(info)


async def _nothing(missing: list[str], context: ToolContext) -> str:
    present = (
        [info.name for info in await context.namespace.variables()] if context.namespace else []
    )
    have = (
        f" There are: {clip(', '.join(present), 1_500)}." if present else " Nothing is defined yet."
    )
    return f"Not in memory: {', '.join(missing)}.{have}"


def _bytes(count: int) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
