"""Assembles what the model is told before the conversation (SPEC P1, P3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_kernel.model_types import SystemBlock
from agent_kernel.prompt.environment import date_text, environment_text, git_text
from agent_kernel.prompt.instructions import NotePlaces, read_instructions
from agent_kernel.prompt.styles import find_style
from agent_kernel.prompt.text import STATIC, section


@dataclass(frozen=True)
class PromptFacts:
    """What the text depends on; the same facts give the same bytes.

    ``notebook``: cells can be read and edited; ``kernel``: code can be run; ``skills``: the Skill
    tool is there; ``can_ask``: somebody can answer an approval. ``language``: of the answers.
    """

    cwd: Path
    model: str
    offline: bool = False
    notebook: bool = False
    kernel: bool = False
    skills: bool = True
    can_ask: bool = True
    language: str = ""


@dataclass(frozen=True)
class PromptChoice:
    """Texts that stand instead of the usual prompt, or behind it (SPEC P2), strongest first.

    ``override`` is all there is. ``coordinator`` (the lead of a team), ``agent`` (an agent's own
    prompt; ``proactive``: behind the usual one instead) and ``custom`` replace the usual one.
    ``append`` goes last.
    """

    override: str = ""
    coordinator: str = ""
    agent: str = ""
    proactive: bool = False
    custom: str = ""
    append: str = ""


@dataclass(frozen=True)
class Section:
    """A named part of the system prompt. ``volatile`` ones may change from turn to turn."""

    name: str
    text: str
    kind: Literal["static", "dynamic", "volatile"] = "dynamic"


@dataclass(frozen=True)
class Surroundings:
    """What is read from the disk once per conversation. ``notice`` is for the person."""

    git: str
    notes: str
    date: str
    style: str = ""
    notice: str = ""


@dataclass(frozen=True)
class Prompt:
    """``system``: the fixed part, then what depends on this conversation, then what is volatile.

    ``preamble`` is the first user text, a reminder.
    """

    system: tuple[SystemBlock, ...]
    preamble: str


async def look_around(
    cwd: Path,
    user_folder: Path,
    now: float,
    *,
    places: NotePlaces | None = None,
    style: str = "",
    may_read: Callable[[Path], bool] = lambda _path: True,
) -> Surroundings:
    """Git, the notes for the model and the output style, in bounded time.

    ``user_folder`` holds the person's own CLAUDE.md; ``now`` is in seconds since the epoch;
    ``may_read`` says which files rules leave open.
    """
    read = asyncio.to_thread(read_instructions, cwd, user_folder, places=places, may_read=may_read)
    styled = asyncio.to_thread(find_style, style, cwd, user_folder, may_read=may_read)
    git, notes, (style_text, style_notice) = await asyncio.gather(git_text(cwd), read, styled)
    notices = [style_notice] if style_notice else []
    if notes.cut:
        files = ", ".join(str(path) for path in notes.files)
        notices.append(
            f"The project notes ({files}) are long; the model gets the end of them only."
        )
    if notes.left_out:
        what = ", ".join(notes.left_out[:5])
        notices.append(f"Notes import files from outside this project, which are left out: {what}.")
    return Surroundings(
        git=git,
        notes=notes.text,
        date=date_text(now),
        style=style_text,
        notice=" ".join(notices),
    )


def sections_of(facts: PromptFacts, around: Surroundings) -> tuple[Section, ...]:
    """The usual prompt: what never changes first, git last."""
    static = [n for n in STATIC if n != "notebook" or facts.notebook or facts.kernel]
    fixed = {
        "skills": facts.skills,
        "no_notebook": not facts.notebook,
        "no_kernel": not facts.kernel,
        "nobody": not facts.can_ask,
        "offline": facts.offline,
    }
    language = (
        f"# Language\n\nAnswer in {facts.language}, unless the person asks for another language. "
        "Code, names and commands stay as they are."
    )
    dynamic = [
        *(Section(name, section(name)) for name, applies in fixed.items() if applies),
        Section("environment", environment_text(facts.cwd, facts.model, kernel=facts.kernel)),
        Section("language", language if facts.language else ""),
        Section("output_style", around.style),
        Section("results", section("results")),
        Section("git", around.git),
    ]
    return (
        *(Section(name, section(name), "static") for name in static),
        *(part for part in dynamic if part.text),
    )


def chosen(sections: Sequence[Section], choice: PromptChoice) -> tuple[Section, ...]:
    """The sections with what replaces or follows them."""
    if choice.override:
        return (Section("override", choice.override, "static"),)
    own = choice.agent if not choice.proactive else ""
    replacing = choice.coordinator or own or (choice.custom if not choice.agent else "")
    if replacing:
        # Where it works is true for every agent; how to work is the replacement's to say.
        facts = [part for part in sections if part.name in _FACTS]
        sections = [Section("instead", replacing, "static"), *facts]
    behind = [choice.agent] if choice.agent and choice.proactive and not replacing else []
    behind += [choice.append] if choice.append else []
    return (*sections, *(Section("behind", text) for text in behind))


_FACTS = ("environment", "git")


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


def build_prompt(
    facts: PromptFacts,
    around: Surroundings,
    choice: PromptChoice | None = None,
    *,
    volatile: Sequence[Section] = (),
) -> Prompt:
    """The prompt of a conversation. Only ``volatile`` sections may change between its turns."""
    sections = (*chosen(sections_of(facts, around), choice or PromptChoice()), *volatile)
    blocks = []
    for kind in ("static", "dynamic", "volatile"):
        text = "\n\n".join(part.text for part in sections if part.kind == kind and part.text)
        if text:
            blocks.append(
                SystemBlock(text=text, cache=kind != "volatile", volatile=kind == "volatile")
            )
    return Prompt(system=tuple(blocks), preamble=preamble_text(around))
