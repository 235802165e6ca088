"""CLAUDE.md, AGENTS.md and rules: which files, in what order, and what of their text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.prompt.build import look_around
from agent_kernel.prompt.instructions import Instructions, NotePlaces, read_instructions
from agent_kernel.prompt.notes_text import imports, without_comments


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def read(cwd: Path, user: Path, **changes: object) -> Instructions:
    return read_instructions(cwd, user, places=NotePlaces(cwd, user, **changes))  # type: ignore[arg-type]


def words(found: Instructions) -> list[str]:
    heads = ("Contents", "From the administrator")
    return [line for line in found.text.splitlines() if line and not line.startswith(heads)]


def test_the_whole_chain_in_its_order(tmp_path: Path) -> None:
    user, project = tmp_path / "home" / ".claude", tmp_path / "p"
    write(tmp_path / "etc" / "CLAUDE.md", "managed file")
    write(user / "CLAUDE.md", "mine")
    write(user / "rules" / "a.md", "my rule")
    write(project / ".git" / "HEAD", "")
    write(project / "CLAUDE.md", "project")
    write(project / "AGENTS.md", "agents")
    write(project / ".claude" / "rules" / "z.md", "rule z")
    write(project / ".claude" / "rules" / "deep" / "a.md", "rule deep")
    write(project / "CLAUDE.local.md", "local")
    write(project / "sub" / ".claude" / "CLAUDE.md", "sub")
    write(project / "sub" / ".claude" / "rules" / "r.md", "sub rule")
    found = read(
        project / "sub", user, managed_folder=tmp_path / "etc", managed_text="managed setting"
    )
    assert words(found) == [
        "managed setting", "managed file", "mine", "my rule", "project", "agents", "rule deep",
        "rule z", "local", "sub", "sub rule",
    ]  # fmt: skip


def test_rules_for_some_paths_wait_and_front_matter_is_no_text(tmp_path: Path) -> None:
    rules = tmp_path / ".claude" / "rules"
    write(rules / "some.md", "---\npaths: src/**\n---\nonly there")
    write(rules / "listed.md", "---\ndescription: x\npaths:\n  - src/**\n---\nonly there too")
    write(rules / "all.md", "---\ndescription: paths are great\n---\neverywhere")
    write(rules / "no.txt", "no rule")
    assert words(read(tmp_path, tmp_path / "none")) == ["everywhere"]


def test_excludes_leave_out_files_of_projects_only(tmp_path: Path) -> None:
    user = tmp_path / "home" / ".claude"
    write(user / "CLAUDE.md", "mine")
    write(tmp_path / "mono" / "CLAUDE.md", "all teams")
    write(tmp_path / "mono" / "team" / "CLAUDE.md", "team")
    found = read(
        tmp_path / "mono" / "team", user,
        excludes=(str(tmp_path / "mono" / "CLAUDE.md"), "**/.claude/CLAUDE.md"),
    )  # fmt: skip
    assert words(found) == ["mine", "team"]


def test_the_persons_own_notes_may_import_from_anywhere_and_a_projects_may_not(
    tmp_path: Path,
) -> None:
    user, project = tmp_path / "home" / ".claude", tmp_path / "p"
    elsewhere = write(tmp_path / "elsewhere.md", "ELSEWHERE")
    write(tmp_path / "key.txt", "SECRET")
    write(user / "CLAUDE.md", f"@{elsewhere} @../../key.txt")
    assert words(read(project, user))[0] == "ELSEWHERE"
    assert "SECRET" not in read(project, user).text
    write(user / "CLAUDE.md", "mine")
    write(project / "CLAUDE.md", f"see @{elsewhere}.")
    found = read(project, user)
    assert "ELSEWHERE" not in found.text
    assert found.left_out == [f"@{elsewhere} in {project / 'CLAUDE.md'}"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@a.md", ["a.md"]),
        ("See @docs/a.md, @./b.md; @../c.md: @~/d.md and @/e/f.md.", [
            "docs/a.md", "./b.md", "../c.md", "~/d.md", "/e/f.md"]),
        ("@.claude/x.md @../../up.md", [".claude/x.md", "../../up.md"]),
        ("me@example.org and `@a.md` and ``x ` @b.md``", []),
        ("`open @a.md", ["a.md"]),
        ("`one\n@in-span.md\ntwo` @out.md", ["out.md"]),
        ("`one\n\n@a.md\n\ntwo`", ["a.md"]),
        ("```\n@a.md\n```\n@b.md", ["b.md"]),
        ("````\n```\n@a.md\n```\n````\n@b.md", ["b.md"]),
        ("~~~\n```\n@a.md\n~~~\n@b.md", ["b.md"]),
        ("```\n@never-closed.md", []),
        ("``` not a fence `x` @a.md", ["a.md"]),
        ("<!-- @a.md -->\n@b.md", ["b.md"]),
        ("@\n@.\n@@a.md", []),
    ],
)  # fmt: skip
def test_imports_are_what_stands_outside_of_code_and_comments(text: str, found: list[str]) -> None:
    assert list(imports(text)) == found


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\n<!-- x\ny -->\nb", "a\nb"),
        ("  <!-- x --> b", "b"),
        ("a <!-- inline -->", "a <!-- inline -->"),
        ("```\n<!-- in code -->\n```", "```\n<!-- in code -->\n```"),
        ("<!--\n```\n-->\na", "a"),
        ("<!-- never closed\na", "<!-- never closed\na"),
        ("<!-- a --><!-- b -->\r\nc", "c"),
    ],
)
def test_comments_that_begin_a_line_are_taken_out(text: str, left: str) -> None:
    assert without_comments(text) == left


@given(st.text(alphabet="`~<!->@a.\n /", max_size=80))
def test_any_text_is_read_in_bounded_time_and_once_is_enough(text: str) -> None:
    list(imports(text))
    if "<!--" not in text:
        assert without_comments(text) == text.strip()


async def test_what_was_left_out_is_said_to_the_person(tmp_path: Path) -> None:
    write(tmp_path / "outside.md", "x")
    write(tmp_path / "p" / "CLAUDE.md", "@../outside.md")
    around = await look_around(tmp_path / "p", tmp_path / "none", 0.0, style="pirate")
    assert "left out: @../outside.md in" in around.notice
    assert "no output style 'pirate'" in around.notice


async def test_an_output_style_is_a_named_file_of_project_or_person(tmp_path: Path) -> None:
    user, project = tmp_path / "home" / ".claude", tmp_path / "p"
    write(user / "output-styles" / "short.md", "---\nname: short\n---\nBe short.")
    around = await look_around(project, user, 0.0, style="short")
    assert around.style == "# Output style: short\n\nBe short."
    write(project / ".claude" / "output-styles" / "short.md", "Be very short.")
    assert (await look_around(project, user, 0.0, style="short")).style.endswith("Be very short.")
    write(tmp_path / "x.md", "SECRET")
    for name in ("../../../x", "a/b", ""):
        assert (await look_around(project, user, 0.0, style=name)).style == ""
