"""What the model is told of the skills: each once per agent, within a budget (SPEC K8)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pathspec import GitIgnoreSpec

from agent_kernel.messages import AttachmentMessage, TextBlock
from agent_kernel.protocols import Command
from agent_kernel.tool_types import ToolContext

BUDGET_CHARS = 8_000
"""About 1 % of a window of 200,000 tokens."""
ENTRY_CHARS = 250

_HEAD = "Skills you can call with the Skill tool:"


class SkillListing:
    """Skills the agent has not seen yet, as the ``AttachmentSource`` seam."""

    def __init__(self, *, budget: int = BUDGET_CHARS, entry: int = ENTRY_CHARS) -> None:
        self._budget = budget
        self._entry = entry
        self._seen: dict[str, set[str]] = {}

    async def collect(self, context: ToolContext) -> Sequence[AttachmentMessage]:
        if context.commands is None:
            return ()
        seen = self._seen.setdefault(context.agent_id, set())
        fresh = [
            command
            for command in await context.commands.list()
            if command.model_invocable
            and (info := command.info).shadowed_by is None
            and info.name not in seen
            and _applies(command, context)
        ]
        if not fresh:
            return ()
        seen.update(command.info.name for command in fresh)
        text = "\n".join([_HEAD, *entries(fresh, self._budget - len(_HEAD) - 1, self._entry)])
        return (
            AttachmentMessage(
                uuid=context.ids.new("msg"),
                is_meta=True,
                kind="skills",
                content=(TextBlock(text=text),),
            ),
        )

    def reset(self) -> None:
        self._seen.clear()


def entries(commands: Sequence[Command], budget: int, entry: int = ENTRY_CHARS) -> list[str]:
    """One line per skill; a name is never left out.

    All in full if they fit; else those shipped with the package in full and the others cut evenly;
    else the others by name only.
    """
    full = [_line(command, entry) for command in commands]
    if _size(full) <= budget:
        return full
    bundled = [command.info.source == "bundled" for command in commands]
    others = len(commands) - sum(bundled)
    fixed = sum(len(line) + 1 for line, ours in zip(full, bundled, strict=True) if ours)
    room = (budget - fixed) // max(1, others) - 1
    shortest = max(
        (len(c.info.name) for c, ours in zip(commands, bundled, strict=True) if not ours),
        default=0,
    )
    # Less than a few words after the longest name says nothing.
    names_only = room < shortest + 25
    return [
        line if ours else _line(command, 0 if names_only else min(room, entry))
        for command, line, ours in zip(commands, full, bundled, strict=True)
    ]


def _line(command: Command, limit: int) -> str:
    name = f"- {command.info.name}"
    about = command.info.description
    if command.when_to_use:
        about = f"{about} - {command.when_to_use}" if about else command.when_to_use
    about = " ".join(about.split())
    room = limit - len(name) - 2
    if not about or room < 1:
        return name
    return f"{name}: {about if len(about) <= room else about[: room - 1] + '…'}"


def _size(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _applies(command: Command, context: ToolContext) -> bool:
    """A skill with ``paths`` appears once a matching file was worked with (SPEC K7)."""
    patterns = getattr(command, "paths", ())
    if not patterns:
        return True
    try:
        spec = GitIgnoreSpec.from_lines(patterns)
    except ValueError:
        return False
    return any(
        spec.match_file(Path(path).relative_to(context.cwd).as_posix())
        for path in context.run_notes.get("touched_files", ())
        if Path(path).is_relative_to(context.cwd)
    )
