"""The approval as a text prompt (CASES 125): the whole text, and no allow by accident."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.events import PermissionRequested
from agent_kernel.protocols import ApprovalAnswer
from agent_kernel.view.ask_text import ask, preview_text, question_text
from agent_kernel.view.characters import visible
from agent_kernel.vocabulary import (
    CodePreview,
    CommandPreview,
    DiffPreview,
    Preview,
    RuleSuggestion,
)

SAVED = (
    RuleSuggestion(rule="Bash(git *)", destination="session"),
    RuleSuggestion(rule="Bash(git *)", destination="local"),
)


def question(
    preview: Preview, suggestions: tuple[RuleSuggestion, ...] = SAVED
) -> PermissionRequested:
    return PermissionRequested(
        request_id="q",
        nonce="n",
        tool_use_id="t",
        tool="Bash",
        title="Run a command?",
        where="in /home/you",
        reason="no rule allows `git`",
        preview=preview,
        suggestions=suggestions,
    )


def answered(*typed: str, suggestions: tuple[RuleSuggestion, ...] = SAVED) -> ApprovalAnswer:
    lines: Iterator[str] = iter(typed)

    def read(prompt: str) -> str:
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    asked = question(CommandPreview(command="git push"), suggestions)
    return ask(asked, read=read, write=lambda text: None)


def test_the_numbers_are_the_buttons() -> None:
    assert answered("1") == ApprovalAnswer(decision="allow_once")
    assert answered("2") == ApprovalAnswer(
        decision="allow_session", rule="Bash(git *)", destination="session"
    )
    assert answered("3") == ApprovalAnswer(
        decision="allow_always", rule="Bash(git *)", destination="local"
    )
    assert answered("4") == ApprovalAnswer(decision="deny")
    assert answered("4 use the branch") == ApprovalAnswer(decision="deny", reason="use the branch")
    assert answered("5") == ApprovalAnswer(decision="deny_stop")


@pytest.mark.parametrize("typed", ["", " ", "y", "yes", "allow", "12", "0", "1x", "-1"])
def test_enter_alone_and_anything_else_asks_again(typed: str) -> None:
    assert answered(typed, "4").decision == "deny"
    assert answered(typed).decision == "deny"


def test_no_answer_at_all_is_a_denial() -> None:
    assert answered().decision == "deny"
    assert answered(*[""] * 50).decision == "deny"


def test_always_is_refused_when_no_rule_can_be_saved() -> None:
    assert answered("3", "1", suggestions=()).decision == "allow_once"
    assert answered("3", suggestions=SAVED[:1]).decision == "deny"


def test_the_question_shows_the_four_names_the_place_and_the_reason() -> None:
    text = question_text(question(CommandPreview(command="git push", cwd="/home/you")))
    for part in (
        *("Allow once", "Allow for this session", "Always allow", "Deny", "Deny and stop"),
        *("in /home/you", "no rule allows `git`", "$ git push", "Bash(git *)", "kept for: local"),
    ):
        assert part in text


def test_code_is_never_cut() -> None:
    code = "\n".join(f"line_{n} = {n}" for n in range(5_000)) + "\nrm('x')"
    text = question_text(question(CodePreview(code=code)))
    assert all(f"│ {line}" in text for line in code.splitlines())


def test_hiding_characters_are_boxes() -> None:
    text = question_text(question(CommandPreview(command="ls\u202e\u200b\x1b[2K\r;\u00a0rm x")))
    assert "ls⟨U+202E⟩⟨U+200B⟩⟨U+001B⟩[2K⟨U+000D⟩;⟨U+00A0⟩rm x" in text


def test_a_gap_that_pushes_text_out_of_sight_is_closed() -> None:
    text = question_text(question(CommandPreview(command="ls" + " " * 300 + "; rm x")))
    assert "$ ls ⟨300 spaces⟩ ; rm x" in text


def test_a_difference_that_draws_as_nothing_is_seen() -> None:
    text = question_text(question(DiffPreview(path="a.py", old="ab\n", new="a\u200bb\n")))
    assert "+a⟨U+200B⟩b" in text


@given(st.text())
def test_what_is_shown_has_no_hiding_character(text: str) -> None:
    shown = visible(text)
    assert all(c in "\n\t" or c.isprintable() for c in shown)
    assert visible(shown) == shown


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("f(\n" + " " * 300 + "evil())", "f(\n ⟨300 spaces⟩ evil())"),
        ("a\t" + "\t" * 40 + "evil()", "a ⟨41 blanks⟩ evil()"),
        ("a\n" + "\n" * 300 + "evil()", "a\n⟨300 empty lines⟩\nevil()"),
        ("def f():\n\n\n        return 1", "def f():\n\n\n        return 1"),
    ],
)
def test_blanks_do_not_push_code_out_of_sight(code: str, shown: str) -> None:
    assert preview_text(CodePreview(code=code)) == shown
