"""Which prompt it is: the usual one, what replaces it and what follows it (SPEC P2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_kernel.prompt.build import (
    PromptChoice,
    PromptFacts,
    Section,
    Surroundings,
    build_prompt,
    sections_of,
)

AROUND = Surroundings(git="# Git\n\n- Branch: work", notes="", date="2026-01-02", style="# Style")
FACTS = PromptFacts(cwd=Path("/work"), model="m", notebook=True, kernel=True, language="Deutsch")


def text(**choice: object) -> str:
    prompt = build_prompt(FACTS, AROUND, PromptChoice(**choice))  # type: ignore[arg-type]
    return "\n\n".join(block.text for block in prompt.system)


USUAL = text()


@pytest.mark.parametrize(
    ("choice", "has", "lacks"),
    [
        ({"override": "O", "custom": "C", "append": "A"}, ["O"], ["C", "A", "Environment"]),
        ({"coordinator": "LEAD", "agent": "AGENT"}, ["LEAD", "# Environment", "# Git"], ["AGENT"]),
        ({"agent": "AGENT", "custom": "CUSTOM"}, ["AGENT", "# Environment"], ["CUSTOM"]),
        ({"custom": "CUSTOM", "append": "LAST"}, ["CUSTOM", "# Git", "LAST"], ["# Style"]),
    ],
)
def test_what_replaces_the_usual_prompt(
    choice: dict[str, object], has: list[str], lacks: list[str]
) -> None:
    made = text(**choice)
    assert [made.count(word) for word in has] == [1] * len(has)
    assert sorted(has, key=made.index) == has
    assert not any(word in made for word in lacks)


def test_a_proactive_agent_and_what_is_appended_follow_the_usual_one() -> None:
    assert text(agent="AGENT", proactive=True, append="LAST") == f"{USUAL}\n\nAGENT\n\nLAST"
    assert text(append="LAST") == f"{USUAL}\n\nLAST"


def test_sections_have_names_and_the_fixed_ones_come_first() -> None:
    kinds = [part.kind for part in sections_of(FACTS, AROUND)]
    assert kinds == sorted(kinds, key=["static", "dynamic"].index)
    names = [part.name for part in sections_of(FACTS, AROUND) if part.kind == "dynamic"]
    assert names == ["skills", "environment", "language", "output_style", "results", "git"]
    assert "Answer in Deutsch" in USUAL


def test_only_what_is_volatile_changes_and_it_stands_last() -> None:
    one = build_prompt(FACTS, AROUND, volatile=[Section("servers", "up", "volatile")])
    two = build_prompt(FACTS, AROUND, volatile=[Section("servers", "down", "volatile")])
    assert one.system[:-1] == two.system[:-1] == build_prompt(FACTS, AROUND).system
    assert (one.system[-1].text, one.system[-1].volatile, one.system[-1].cache) == (
        "up",
        True,
        False,
    )
