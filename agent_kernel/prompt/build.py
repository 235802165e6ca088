"""Assembles what the model is told before the conversation (SPEC P1, P3)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from agent_kernel.model_types import SystemBlock
from agent_kernel.prompt.environment import date_text, environment_text, git_text
from agent_kernel.prompt.instructions import read_instructions
from agent_kernel.prompt.text import STATIC, section


@dataclass(frozen=True)
class PromptFacts:
    """What the text depends on. ``user_folder`` holds the person's own CLAUDE.md.

    ``notebook``: cells can be read and edited; ``kernel``: code can be run; ``skills``: the Skill
    tool is there; ``now`` in seconds since the epoch.
    """

    cwd: Path
    user_folder: Path
    model: str
    now: float
    offline: bool = False
    notebook: bool = False
    kernel: bool = False
    skills: bool = True
    can_ask: bool = True


@dataclass(frozen=True)
class Prompt:
    """``system``: the fixed part, then what depends on this conversation, one block each.

    ``preamble`` is the first user text, a reminder. ``notice`` is for the person.
    """

    system: tuple[SystemBlock, ...]
    preamble: str
    notice: str = ""


def static_text(facts: PromptFacts) -> str:
    """The fixed sections; the one about notebooks only where there is one."""
    names = [n for n in STATIC if n != "notebook" or facts.notebook or facts.kernel]
    return "\n\n".join(section(name) for name in names)


def dynamic_text(facts: PromptFacts, git: str) -> str:
    """The sections that depend on facts; what changes from day to day comes last."""
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


async def build_prompt(facts: PromptFacts) -> Prompt:
    """Read once per conversation; its bytes stay the same until ``clear`` or ``compact``."""
    git, notes = await asyncio.gather(
        git_text(facts.cwd),
        asyncio.to_thread(read_instructions, facts.cwd, facts.user_folder),
    )
    preamble = []
    if notes.text:
        preamble.append(
            "# claudeMd\n\nNotes that the person and the project left for you. They go before your"
            f" own habits; follow them where they apply.\n\n{notes.text}"
        )
    preamble.append(f"# currentDate\n\nToday's date is {date_text(facts.now)}.")
    preamble.append("All of this may or may not matter for what the person asks.")
    notice = ""
    if notes.cut:
        files = ", ".join(str(path) for path in notes.files)
        notice = f"The project notes ({files}) are long; the model gets the end of them only."
    return Prompt(
        system=(
            SystemBlock(text=static_text(facts), cache=True),
            SystemBlock(text=dynamic_text(facts, git), cache=True),
        ),
        preamble="\n\n".join(preamble),
        notice=notice,
    )
