"""Assembles what the model is told before the conversation (SPEC P1, P3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent_kernel.model_types import SystemBlock
from agent_kernel.prompt.environment import date_text, environment_text, git_text
from agent_kernel.prompt.instructions import read_instructions
from agent_kernel.prompt.text import STATIC, section


@dataclass(frozen=True)
class PromptFacts:
    """What the text depends on; the same facts give the same bytes.

    ``notebook``: cells can be read and edited; ``kernel``: code can be run; ``skills``: the Skill
    tool is there; ``can_ask``: somebody can answer an approval.
    """

    cwd: Path
    model: str
    offline: bool = False
    notebook: bool = False
    kernel: bool = False
    skills: bool = True
    can_ask: bool = True


@dataclass(frozen=True)
class Surroundings:
    """What is read from the disk once per conversation. ``notice`` is for the person."""

    git: str
    notes: str
    date: str
    notice: str = ""


@dataclass(frozen=True)
class Prompt:
    """``system``: the fixed part, then what depends on this conversation, one block each.

    ``preamble`` is the first user text, a reminder.
    """

    system: tuple[SystemBlock, ...]
    preamble: str


async def look_around(
    cwd: Path,
    user_folder: Path,
    now: float,
    *,
    may_read: Callable[[Path], bool] = lambda _path: True,
) -> Surroundings:
    """Git and the notes for the model, in bounded time.

    ``user_folder`` holds the person's own CLAUDE.md; ``now`` is in seconds since the epoch;
    ``may_read`` says which files rules leave open.
    """
    git, notes = await asyncio.gather(
        git_text(cwd), asyncio.to_thread(read_instructions, cwd, user_folder, may_read=may_read)
    )
    notice = ""
    if notes.cut:
        files = ", ".join(str(path) for path in notes.files)
        notice = f"The project notes ({files}) are long; the model gets the end of them only."
    return Surroundings(git=git, notes=notes.text, date=date_text(now), notice=notice)


def static_text(facts: PromptFacts) -> str:
    """The fixed sections; the one about notebooks only where there is one."""
    names = [n for n in STATIC if n != "notebook" or facts.notebook or facts.kernel]
    return "\n\n".join(section(name) for name in names)


def dynamic_text(facts: PromptFacts, git: str) -> str:
    """The sections that depend on facts."""
    fixed = {
        "skills": facts.skills,
        "results": True,
        "no_notebook": not facts.notebook,
        "no_kernel": not facts.kernel,
        "nobody": not facts.can_ask,
        "offline": facts.offline,
    }
    sections = [
        *(section(name) for name, applies in fixed.items() if applies),
        environment_text(facts.cwd, facts.model, kernel=facts.kernel),
        git,
    ]
    return "\n\n".join(text for text in sections if text)


def preamble_text(around: Surroundings) -> str:
    """The first user text: notes and date, with the remark that they may not matter."""
    parts = []
    if around.notes:
        parts.append(
            "# claudeMd\n\nNotes that the person and the project left for you. They go before your"
            f" own habits; follow them where they apply.\n\n{around.notes}"
        )
    parts.append(f"# currentDate\n\nToday's date is {around.date}.")
    parts.append("All of this may or may not matter for what the person asks.")
    return "\n\n".join(parts)


def build_prompt(facts: PromptFacts, around: Surroundings) -> Prompt:
    """The prompt of a conversation."""
    return Prompt(
        system=(
            SystemBlock(text=static_text(facts), cache=True),
            SystemBlock(text=dynamic_text(facts, around.git), cache=True),
        ),
        preamble=preamble_text(around),
    )
