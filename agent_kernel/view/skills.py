"""The list of skills: as text, as Markdown, as the bundle of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_kernel.view.characters import one_line
from agent_kernel.view.safe_markdown import plain
from agent_kernel.vocabulary import SkillInfo
from agent_kernel.wire import SKILLS_MIME, SkillsResult

NONE = (
    "There are no skills yet. A skill is a folder with a SKILL.md in .claude/skills, "
    "here or in your home folder."
)


def _call(skill: SkillInfo) -> str:
    hint = skill.argument_hint or " ".join(f"<{name}>" for name in skill.arguments)
    return f"%skill {skill.name} {hint}".rstrip()


def _note(skill: SkillInfo) -> str:
    if skill.shadowed_by:
        return f"hidden by the one of {skill.shadowed_by}"
    return "" if skill.user_invocable else "for the agent only"


def skills_text(skills: Sequence[SkillInfo]) -> str:
    """One line per skill."""
    if not skills:
        return NONE
    rows = [
        (one_line(_call(s), 80), one_line(s.source, 20), one_line(s.description, 160), _note(s))
        for s in skills
    ]
    width = min(44, max(len(row[0]) for row in rows))
    return "\n".join(
        f"{call:<{width}}  [{source}]  {text}" + (f" ({note})" if note else "")
        for call, source, text, note in rows
    )


def skills_markdown(skills: Sequence[SkillInfo]) -> str:
    """A table; every word of a skill is plain text in it."""
    if not skills:
        return plain(NONE)
    lines = ["| Skill | Source | What it does |", "|---|---|---|"]
    for skill in skills:
        text = " · ".join(part for part in (one_line(skill.description, 240), _note(skill)) if part)
        cells = (one_line(_call(skill), 120), one_line(skill.source, 40), text)
        lines.append("| " + " | ".join(plain(cell) for cell in cells) + " |")
    return "\n".join(lines)


def skills_bundle(skills: Sequence[SkillInfo]) -> dict[str, Any]:
    """What ``%skill`` displays where our page draws it; everywhere else the table shows."""
    return {
        SKILLS_MIME: SkillsResult(skills=tuple(skills)).model_dump(mode="json"),
        "text/markdown": skills_markdown(skills),
        "text/plain": skills_text(skills),
    }
