"""Front matter as it is found in the wild (CASES E)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.skills.front_matter import read, split


@pytest.mark.parametrize(
    ("text", "head", "body"),
    [
        ("---\nname: a\n---\nbody", "name: a", "body"),
        ("\ufeff---\r\nname: a\r\n---\r\nbody\r\n", "name: a", "body\n"),
        ("--- \nname: a\n---\t\nbody", "name: a", "body"),
        ("---\nname: a\n----\n---\nbody", "name: a\n----", "body"),
        ("---\nname: a\n...\nbody", "name: a", "body"),
        ("---\n---\nbody", "", "body"),
        ("---\nname: a\n---\none\n---\ntwo", "name: a", "one\n---\ntwo"),
        ("no fence\n---\nx", None, "no fence\n---\nx"),
        ("\n---\nname: a\n---\n", None, "\n---\nname: a\n---\n"),
        ("", None, ""),
    ],
)
def test_fences(text: str, head: str | None, body: str) -> None:
    assert split(text) == (head, body, "")


def test_an_unclosed_fence_makes_everything_the_body() -> None:
    front = read("---\nname: a\nbody")
    assert (front.fields, front.body) == ({}, "---\nname: a\nbody")
    assert front.warning == "the front matter is not closed by a line of three hyphens"


def test_a_colon_in_a_description_costs_no_other_field() -> None:
    front = read(
        "---\ndescription: Use it for notes: short ones\nallowed-tools: Read, Bash(git *)\n"
        "arguments: [a, b]\n---\nbody"
    )
    assert front.text("description") == "Use it for notes: short ones"
    assert front.names("allowed-tools") == ("Read", "Bash(git *)")
    assert front.names("arguments") == ("a", "b")
    assert front.body == "body"
    assert front.warning == (
        "the front matter is not valid YAML; `description` was taken as plain text"
    )


def test_tools_that_cannot_be_read_are_not_granted() -> None:
    front = read("---\ndescription: a: b\nallowed-tools: [Bash, 'x\nname: n\n---\n")
    assert front.names("allowed-tools") == ()
    assert front.text("name") == "n"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("name: 2024", "2024"),
        ("name: yes", "yes"),
        ("name: 2024-01-02", "2024-01-02"),
        ("name: 0123", "0123"),
        ("name: 1.10", "1.10"),
        ("name: ~", ""),
        ("name: null", ""),
        ("name:", ""),
        ("name: 'it''s'", "it's"),
        ("name: |-\n  two\n  lines", "two\nlines"),
        ("name: >-\n  two\n  lines", "two lines"),
        ('name: "\\"x\\",\n  \\"y\\""', '"x", "y"'),
        ("name: a\nname: b", "b"),
        ("name: {a: b}", ""),
        ("name: [a, b]", "a b"),
    ],
)
def test_values_are_text_as_written(line: str, wanted: str) -> None:
    assert read(f"---\n{line}\n---\n").text("name") == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("true", True), ("Yes", True), ("ON", True), ("1", True), ("false", False), ("no", False),
     ("0", False), ("Off", False), ("maybe", True), ("", True)],
)  # fmt: skip
def test_flags_are_read_in_any_spelling(value: str, wanted: bool) -> None:
    assert read(f"---\nuser-invocable: {value}\n---\n").flag("user-invocable", True) is wanted


def test_of_two_spellings_the_hyphened_wins() -> None:
    front = read("---\nallowed_tools: Bash\nallowed-tools: Read\nwhen_to_use: now\n---\n")
    assert front.names("allowed-tools") == ("Read",)
    assert front.text("when-to-use") == "now"


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("Read Edit", ("Read", "Edit")),
        ("Read, Edit", ("Read", "Edit")),
        ("Bash(git diff *), Bash(ls (a) *) Read", ("Bash(git diff *)", "Bash(ls (a) *)", "Read")),
        ("[Read, 'Bash(git diff *)']", ("Read", "Bash(git diff *)")),
        ("\n  - Read\n  - Bash(a, b)", ("Read", "Bash(a, b)")),
        ("~", ()),
    ],
)
def test_lists_may_be_lists_or_text(value: str, names: tuple[str, ...]) -> None:
    assert read(f"---\nallowed-tools: {value}\n---\n").names("allowed-tools") == names


def test_aliases_that_would_explode_and_deep_nesting_are_harmless() -> None:
    bomb = "\n".join(
        ["a0: &a0 x", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9))]
    )
    assert read(f"---\nname: n\ndeep: {'[' * 3000}\n---\n").text("name") == "n"
    assert read(f"---\nname: n\nlist: &l [*l]\n{'x: y'}\n---\n").text("name") == "n"
    assert read(f"---\nname: n\n{bomb}\n---\n").text("name") == "n"


@given(st.text(max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    for whole in (text, f"---\n{text}\n---\nbody", f"---\nname: a\n{text}"):
        front = read(whole)
        front.text("name"), front.names("allowed-tools"), front.flag("user-invocable", True)
