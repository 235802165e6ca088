"""What the model is told: the sections, where they apply, and that bytes stay the same."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agent_kernel.prompt.build import (
    PromptFacts,
    Surroundings,
    build_prompt,
    look_around,
    preamble_text,
)
from agent_kernel.prompt.environment import git_text
from agent_kernel.prompt.instructions import MAX_HOPS, read_instructions

AROUND = Surroundings(git="", notes="", date="2026-01-02")
NOWHERE = Path("/nowhere/.claude")


def facts(**changes: object) -> PromptFacts:
    options = {"cwd": Path("/work"), "model": "m", "notebook": True, "kernel": True, **changes}
    return PromptFacts(**options)  # type: ignore[arg-type]


def text_of(**changes: object) -> str:
    return "\n".join(block.text for block in build_prompt(facts(**changes), AROUND).system)


def test_the_same_facts_give_the_same_bytes() -> None:
    assert build_prompt(facts(), AROUND) == build_prompt(facts(), AROUND)


def test_the_fixed_part_comes_first_and_does_not_depend_on_the_conversation() -> None:
    one = build_prompt(facts(cwd=Path("/a"), model="x"), AROUND)
    two = build_prompt(facts(cwd=Path("/b"), model="y", offline=True), AROUND)
    assert one.system[0] == two.system[0]
    assert one.system[0].cache
    assert one.system[1] != two.system[1]


@pytest.mark.parametrize(
    "says",
    [
        "material, not instruction",
        "Never make up a URL",
        "Read before you change",
        "find out why before you do anything else",
        "No features, files, options, abstractions",
        "# Working in a notebook",
        "call it with the Skill tool before you answer",
    ],
)
def test_it_says_what_it_has_to_say(says: str) -> None:
    assert says in text_of()


@pytest.mark.parametrize(
    ("change", "says", "otherwise"),
    [
        ({"notebook": False, "kernel": False}, "# No notebook here", False),
        ({"kernel": False}, "# No kernel here", False),
        ({"offline": True}, "# Offline", False),
        ({"can_ask": False}, "# Nobody to ask", False),
        ({"skills": False}, "# Skills", True),
    ],
)
def test_sections_are_there_where_they_apply(
    change: dict[str, object], says: str, otherwise: bool
) -> None:
    assert (says in text_of(**change)) is not otherwise
    assert (says in text_of()) is otherwise


def test_the_fixed_text_is_short() -> None:
    assert len(text_of()) < 12_000


def test_the_preamble_has_the_headings_and_the_remark() -> None:
    text = preamble_text(Surroundings(git="", notes="Use tabs.", date="2026-01-02"))
    assert text.index("# claudeMd") < text.index("Use tabs.") < text.index("# currentDate")
    assert "2026-01-02" in text
    assert "may or may not matter" in text
    assert "# claudeMd" not in preamble_text(AROUND)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_notes_are_read_from_the_person_then_from_the_root_down(tmp_path: Path) -> None:
    user = tmp_path / "home" / ".claude"
    write(user / "CLAUDE.md", "mine")
    write(tmp_path / "p" / ".git" / "HEAD", "")
    write(tmp_path / "p" / "CLAUDE.md", "project")
    write(tmp_path / "p" / "AGENTS.md", "agents")
    write(tmp_path / "p" / "sub" / ".claude" / "CLAUDE.md", "sub")
    write(tmp_path / "p" / "sub" / "CLAUDE.local.md", "local")
    found = read_instructions(tmp_path / "p" / "sub", user)
    words = [line for line in found.text.splitlines() if line and not line.startswith("Contents")]
    assert words == ["mine", "project", "agents", "sub", "local"]


def test_a_file_reached_twice_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "CLAUDE.md", "same")
    (tmp_path / "AGENTS.md").symlink_to(tmp_path / "CLAUDE.md")
    assert read_instructions(tmp_path, NOWHERE).text.count("same") == 1


def test_imports_are_followed_but_not_in_code_and_not_out_of_the_project(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret.md", "SECRET")
    project = tmp_path / "p"
    write(
        project / "CLAUDE.md",
        f"See @docs/style.md, and @{secret} too.\n`@code.md`\n```\n@fenced.md\n```\na@b.md",
    )
    write(project / "docs" / "style.md", "STYLE @more.md")
    write(project / "docs" / "more.md", "MORE")
    for name in ("code", "fenced", "b"):
        write(project / f"{name}.md", "WRONG")
    text = read_instructions(project, NOWHERE).text
    assert text.index("MORE") < text.index("STYLE")
    assert "SECRET" not in text
    assert "WRONG" not in text


def test_imports_end_after_four_hops_and_circles_end_at_once(tmp_path: Path) -> None:
    write(tmp_path / "CLAUDE.md", "@n1.md @CLAUDE.md")
    for number in range(1, 8):
        write(tmp_path / f"n{number}.md", f"hop{number} @n{number + 1}.md @n1.md")
    text = read_instructions(tmp_path, NOWHERE).text
    assert f"hop{MAX_HOPS}" in text
    assert f"hop{MAX_HOPS + 1}" not in text


def test_comments_are_left_out_and_odd_bytes_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_bytes(b"\xef\xbb\xbfkeep\n<!-- drop\nthis -->\n\xff rest")
    text = read_instructions(tmp_path, NOWHERE).text
    assert "keep" in text
    assert "drop" not in text
    text.encode("utf-8")


def test_long_notes_keep_the_nearest_and_it_is_said(tmp_path: Path) -> None:
    write(tmp_path / "CLAUDE.md", "far " * 100)
    write(tmp_path / "sub" / "CLAUDE.md", "near")
    found = read_instructions(tmp_path / "sub", NOWHERE, limit=100)
    assert found.cut
    assert found.text.endswith("near")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)


async def test_git_is_described_once_and_only_where_it_is(tmp_path: Path) -> None:
    assert await git_text(tmp_path) == ""
    git(tmp_path, "init", "-q", "-b", "work")
    git(tmp_path, "config", "user.name", "Ada")
    git(tmp_path, "config", "user.email", "a@example.org")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first step")
    write(tmp_path / "new.txt", "x")
    text = await git_text(tmp_path)
    for words in ("Branch: work", "User: Ada", "?? new.txt", "first step"):
        assert words in text
    around = await look_around(tmp_path, NOWHERE, 0.0)
    assert around.git == text


async def test_a_repository_cannot_make_looking_run_its_programs(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    mark = tmp_path / "ran"
    hook = write(tmp_path / "hook.sh", f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o700)
    git(tmp_path, "config", "core.fsmonitor", str(hook))
    await git_text(tmp_path)
    assert not mark.exists()


def test_notes_of_a_checkout_do_not_bring_what_is_denied_or_a_persons_keys(tmp_path: Path) -> None:
    (project := tmp_path / "p").mkdir()
    (user := tmp_path / "home" / ".claude").mkdir(parents=True)
    (project / ".git").mkdir()
    for file in (user / ".credentials.json", tmp_path / "id_rsa", project / ".env"):
        file.write_text("TOP SECRET")
    (user / "style.md").write_text("my style")
    (project / "CLAUDE.md").write_text(f"@{user}/.credentials.json\n@.env\n@{user}/style.md")
    (project / "AGENTS.md").symlink_to(tmp_path / "id_rsa")
    (project / "CLAUDE.local.md").symlink_to(".env")
    denied = project / ".env"
    found = read_instructions(project, user, may_read=lambda path: path.resolve() != denied)
    assert "TOP SECRET" not in found.text
    assert "my style" in found.text
