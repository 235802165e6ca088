"""Assembles what the model is told before the conversation (SPEC P1, P3)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agent_kernel.model_types import SystemBlock


@dataclass(frozen=True)
class PromptFacts:
    """What the text depends on. ``user_folder`` holds the person's own CLAUDE.md.

    ``notebook``: cells can be read and edited; ``kernel``: code can be run; ``now`` in seconds
    since the epoch.
    """

    cwd: Path
    user_folder: Path
    model: str
    now: float
    offline: bool = False
    notebook: bool = False
    kernel: bool = False
    can_ask: bool = False


@dataclass(frozen=True)
class Prompt:
    """``system`` ends with what changes least often last; ``preamble`` is the first user text."""

    system: tuple[SystemBlock, ...]
    preamble: str


async def build_prompt(facts: PromptFacts) -> Prompt:
    """Read once per conversation; its bytes stay the same until ``clear`` or ``compact``."""
    del facts
    return Prompt(system=(SystemBlock(text="You work in a notebook.", cache=True),), preamble="")
