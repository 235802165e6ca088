"""Skill: the model calls a command by name; its text becomes part of the conversation."""

from __future__ import annotations

import difflib
import json
from typing import Annotated

from pydantic import Field

from agent_kernel.errors import SkillError, ToolError
from agent_kernel.events import SkillStarted
from agent_kernel.messages import TextBlock, UserMessage
from agent_kernel.protocols import Command
from agent_kernel.tool_types import (
    ContextModifier,
    Opinion,
    RuleTarget,
    ToolContext,
    ToolDisplay,
    ToolResult,
)
from agent_kernel.tools.base import BaseTool, ToolInput
from agent_kernel.vocabulary import Preview, TextPreview

_ACTIVE = "skills_in_this_turn"


class SkillInput(ToolInput):
    skill: Annotated[str, Field(description="Name as listed, without a slash.")]
    args: Annotated[str, Field(description="Arguments as one line of text.")] = ""


class Skill(BaseTool[SkillInput]):
    name = "Skill"
    input_model = SkillInput
    search_hint = "run a skill command by name"
    verb = "Skill"
    description = (
        "Loads a skill: instructions written for one kind of task. The skills there are come in "
        "system reminders. If one fits the task, call it before anything else and follow what it "
        "says. Its text arrives after the result; do not call it again in the same turn."
    )

    def is_enabled(self, context: ToolContext) -> bool:
        return context.commands is not None

    def is_read_only(self, input: SkillInput) -> bool:
        return True  # It only brings text; what the text leads to is judged call by call.

    async def validate_input(self, input: SkillInput, context: ToolContext) -> str | None:
        if context.commands is None:
            return "There are no skills here."
        name = _bare(input.skill)
        command = await context.commands.find(name)
        if command is None:
            return await _unknown(name, context)
        if not command.model_invocable:
            return (
                f"The skill {command.info.name} is only for people to start. Do not imitate its "
                f"steps; tell the person they can run it with `%skill {command.info.name}`."
            )
        if command.info.name in _active(context):
            return (
                f"The skill {command.info.name} is already loaded in this turn. "
                "Follow its text above."
            )
        return None

    async def rule_targets(self, input: SkillInput, context: ToolContext) -> tuple[RuleTarget, ...]:
        command = await _find(input, context)
        return (RuleTarget(kind="name", value=command.info.name, args=input.args),)

    async def check_permissions(self, input: SkillInput, context: ToolContext) -> Opinion:
        command = await _find(input, context)
        if command.only_safe_properties:
            return Opinion(behavior="allow", reason="The skill only brings text.")
        return Opinion()

    def display(self, input: SkillInput, context: ToolContext) -> ToolDisplay:
        return ToolDisplay(
            verb=self.verb, subject=f"{_bare(input.skill)} {input.args}".strip()[:80]
        )

    async def preview(self, input: SkillInput, context: ToolContext) -> Preview:
        command = await _find(input, context)
        lines = [f"/{command.info.name} {input.args}".rstrip(), command.info.description]
        if command.allowed_tools:
            tools = ", ".join(command.allowed_tools)
            lines.append(f"Until your next message it may use without asking: {tools}")
        return TextPreview(text="\n".join(line for line in lines if line))

    async def call(self, input: SkillInput, context: ToolContext) -> ToolResult:
        command = await _find(input, context)
        name = command.info.name
        try:
            text = await command.get_prompt(input.args, context)
        except SkillError as error:
            raise ToolError(str(error)) from None
        _active(context).add(name)
        context.emit(
            SkillStarted(
                run_id=context.run_id,
                agent_id=context.agent_id,
                name=name,
                args=input.args,
                by="model",
                tool_use_id=context.tool_use_id or None,
            )
        )
        message = UserMessage(
            uuid=context.ids.new("msg"),
            is_meta=True,
            source_tool_use_id=context.tool_use_id or None,
            content=(TextBlock(text=f"<command-name>/{name}</command-name>\n{text}"),),
        )
        modifier = None
        if command.allowed_tools or command.model:
            modifier = ContextModifier(allow=command.allowed_tools, model=command.model)
        return ToolResult(
            (TextBlock(text=json.dumps({"success": True, "command_name": name})),),
            fact="loaded",
            extra_messages=(message,),
            modifier=modifier,
        )


def _bare(name: str) -> str:
    return name.strip().removeprefix("/")


def _active(context: ToolContext) -> set[str]:
    active: set[str] = context.run_notes.setdefault(_ACTIVE, set())
    return active


async def _find(input: SkillInput, context: ToolContext) -> Command:
    name = _bare(input.skill)
    command = None if context.commands is None else await context.commands.find(name)
    if command is None:
        raise ToolError(f"There is no skill named {name}.")
    return command


async def _unknown(name: str, context: ToolContext) -> str:
    commands = () if context.commands is None else await context.commands.list()
    names = [command.info.name for command in commands if command.model_invocable]
    near = difflib.get_close_matches(name, names, n=5, cutoff=0.5)
    if near:
        return f"There is no skill named {name}. Did you mean {', '.join(near)}?"
    have = ", ".join(names[:60]) or "none"
    return f"There is no skill named {name}. The skills are: {have}."
