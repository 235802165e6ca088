"""Where skills come from, which one wins, and what the model and a person are told of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agent_kernel.errors import SkillError
from agent_kernel.events import SkillStarted
from agent_kernel.messages import TextBlock, UserMessage
from agent_kernel.settings.settings import load_settings
from agent_kernel.settings.trust import TrustStore
from agent_kernel.skills.command import SkillCommand
from agent_kernel.skills.listing import SkillListing, entries
from agent_kernel.skills.source import SkillSource
from agent_kernel.tool_types import ContextModifier
from tests.support.tools import Bench, text_of


def skill(folder: Path, name: str, front: str = "description: about it", body: str = "do") -> Path:
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{front}\n---\n{body}\n")
    return path


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """The start folder, two levels below the root of a repository."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    cwd = tmp_path / "repo" / "a" / "b"
    cwd.mkdir(parents=True)
    return cwd


def source(cwd: Path, trust: TrustStore | None = None) -> SkillSource:
    state = str(cwd.parent / "state")
    return SkillSource(load_settings(cwd, {"AGENT_KERNEL_HOME": state}), trust=trust)


def listed(skills: SkillSource) -> list[tuple[str, str, str | None]]:
    return [
        (command.name, command.source, command.shadowed_by)
        for command in skills.commands()
        if command.source != "bundled"
    ]


async def test_the_users_skill_beats_the_projects_and_near_beats_far(
    repo: Path, own_home: Path
) -> None:
    user, near, far = (
        own_home / ".claude" / "skills",
        repo / ".claude" / "skills",
        repo.parent.parent / ".claude" / "skills",
    )
    skill(user, "same", body="user's")
    skill(near, "same", body="near")
    skill(far, "same", body="far")
    skill(far, "only-far")
    skill(repo.parent.parent.parent / ".claude" / "skills", "outside")
    skill(repo / ".agents" / "skills", "agents")
    skills = source(repo)
    assert listed(skills) == [
        ("same", "user", None),
        ("project:same", "project", "user"),
        ("agents", "project", None),
        ("only-far", "project", None),
        ("project-2:same", "project", "user"),
    ]
    for name, body in (("same", "user's"), ("user:same", "user's"), ("project:same", "near")):
        found = await skills.find(name)
        assert found is not None
        assert await found.get_prompt("", None) == body
    assert await skills.find("outside") is None


async def test_the_package_brings_skills_that_anyone_may_replace(repo: Path) -> None:
    skills = source(repo)
    names = {command.name for command in skills.commands() if command.source == "bundled"}
    assert names == {"explain", "tidy"}
    assert all(command.only_safe_properties for command in skills.commands())
    skill(repo / ".claude" / "skills", "tidy", body="ours")
    found = await skills.find("tidy")
    assert found is not None
    assert (found.info.source, await found.get_prompt("", None)) == ("project", "ours")
    assert await skills.find("bundled:tidy") is not None


async def test_a_skill_is_fresh_without_a_restart(repo: Path) -> None:
    skills = source(repo)
    assert listed(skills) == []
    path = skill(repo / ".claude" / "skills", "late", "description: one")
    assert next(command.description for command in skills.commands()) == "one"
    path.write_text("---\ndescription: another\n---\nnew text\n")
    assert next(command.description for command in skills.commands()) == "another"
    found = await skills.find("late")
    path.write_text("---\ndescription: another\n---\nnewest\n")
    assert found is not None
    assert await found.get_prompt("", None) == "newest"
    path.unlink()
    assert listed(skills) == []


def test_nested_folders_links_and_loops(repo: Path) -> None:
    root = repo / ".claude" / "skills"
    skill(root, "group/inner")
    skill(root, "outer")
    skill(root, "outer/sub")
    skill(root, ".hidden/x")
    skill(root, "node_modules/y")
    skill(repo / "elsewhere", "linked")
    (root / "loop").symlink_to(root)
    (root / "linked").symlink_to(repo / "elsewhere" / "linked")
    (root / "again").symlink_to(root / "outer")
    assert [name for name, _, _ in listed(source(repo))] == ["again", "linked", "inner"]


def test_one_bad_skill_is_named_and_hides_no_other(repo: Path) -> None:
    root = repo / ".claude" / "skills"
    skill(root, "good")
    (root / "latin").mkdir()
    (root / "latin" / "SKILL.md").write_bytes(b"---\ndescription: caf\xe9\n---\n")
    skill(root, "evil\u202e")
    skill(root, "colon", "description: a: b")
    skill(root, "help")
    skills = source(repo)
    assert listed(skills) == [
        ("colon", "project", None),
        ("good", "project", None),
        ("project:help", "project", "built-in"),
    ]
    problems = "\n".join(skills.problems)
    assert "latin/SKILL.md is not UTF-8." in problems
    assert "its name holds control or invisible characters" in problems
    assert "colon/SKILL.md: the front matter is not valid YAML" in problems
    assert len(skills.problems) == 3


@pytest.mark.parametrize(
    ("folder", "typed"),
    [
        ("Café", "café"),
        ("数据分析", "数据分析"),
        ("my skill", "My Skill"),
        ("Ａ", "a"),
        ("con", "con"),
    ],
)
async def test_names_are_found_as_people_type_them(repo: Path, folder: str, typed: str) -> None:
    skill(repo / ".claude" / "skills", folder)
    found = await source(repo).find("/" + typed)
    assert found is not None
    assert found.info.name == folder


async def test_a_differing_name_is_a_label_and_an_alias_if_free(repo: Path) -> None:
    root = repo / ".claude" / "skills"
    skill(root, "one", "name: nice")
    skill(root, "two", "name: one")
    skill(root, "three", "name: help")
    skills = source(repo)
    found = [await skills.find(name) for name in ("nice", "one", "help")]
    assert [None if command is None else command.info.name for command in found] == [
        "one",
        "one",
        None,
    ]


async def test_a_skill_without_front_matter_is_its_text(repo: Path) -> None:
    path = repo / ".claude" / "skills" / "plain" / "skill.md"
    path.parent.mkdir(parents=True)
    path.write_text("# Title\n\nFirst words\nof it.\n\nMore.\n")
    found = await source(repo).find("plain")
    assert found is not None
    assert found.info.description == "First words of it."
    assert (await found.get_prompt("x", None)).endswith("More.\n\nARGUMENTS: x")


async def test_the_text_knows_its_folder_and_its_arguments(repo: Path) -> None:
    root = repo / ".claude" / "skills"
    body = "run ${CLAUDE_SKILL_DIR}/go.py $file in ${CLAUDE_SESSION_ID}"
    skill(root, "run", "arguments: file other\nargument-hint: '[file]'", body)
    bench = Bench(repo, commands=source(repo))
    found = await source(repo).find("run")
    assert found is not None
    assert (found.info.arguments, found.info.argument_hint) == (("file", "other"), "[file]")
    assert (
        await found.get_prompt("x.csv", bench.context) == f"run {root}/run/go.py x.csv in session1"
    )


@pytest.mark.parametrize(
    ("front", "body", "why"),
    [
        ("context: fork", "x", "runs in a sub-agent"),
        ("execution_context: fork", "x", "runs in a sub-agent"),
        ("shell:\n  command: ls", "x", "is a script"),
        ("description: d", "!`id`", "wants to run a shell command"),
        ("description: d", "", "has no text"),
    ],
)
async def test_what_is_not_supported_is_refused_not_done_by_halves(
    repo: Path, front: str, body: str, why: str
) -> None:
    skill(repo / ".claude" / "skills", "s", front, body)
    found = await source(repo).find("s")
    assert found is not None
    with pytest.raises(SkillError, match=why):
        await found.get_prompt("", None)


@pytest.mark.parametrize(
    ("front", "body", "safe"),
    [
        ("name: n\nmodel: opus\neffort: high\nversion: 1\npaths: '*.py'", "x", True),
        ("allowed-tools: Read", "x", False),
        ("hooks: {}", "x", False),
        ("agent: explore", "x", False),
        ("something-new: 1", "x", False),
        ("description: d", "now !`id`", False),
    ],
)
def test_only_skills_that_bring_nothing_but_text_are_safe(
    repo: Path, front: str, body: str, safe: bool
) -> None:
    skill(repo / ".claude" / "skills", "s", front, body)
    assert source(repo).commands()[0].only_safe_properties is safe


async def test_a_projects_grants_wait_for_trust(repo: Path, tmp_path: Path) -> None:
    skill(repo / ".claude" / "skills", "s", "allowed-tools: Python, Bash(git *)")
    trust = TrustStore(tmp_path / "state")
    found = await source(repo, trust).find("s")
    assert isinstance(found, SkillCommand)
    assert (found.declared_tools, found.allowed_tools) == (("Python", "Bash(git *)"), ())
    trust.trust(repo)
    assert found.allowed_tools == ("Python", "Bash(git *)")


async def test_calling_a_skill_brings_its_text_and_what_it_grants(
    repo: Path, own_home: Path
) -> None:
    front = "allowed-tools: Python\nmodel: opus"
    skill(own_home / ".claude" / "skills", "look", front, "look at $ARGUMENTS")
    bench = Bench(repo, commands=source(repo))
    asked = await bench.decide("Skill", skill="look", args="df")
    assert (asked.behavior, [s.rule for s in asked.suggestions]) == ("ask", ["Skill(look)"] * 2)
    result = await bench.call("Skill", skill="/look", args="df")
    assert text_of(result) == '{"success": true, "command_name": "look"}'
    assert result.extra_messages == (
        UserMessage(
            uuid=result.extra_messages[0].uuid,
            is_meta=True,
            source_tool_use_id="use1",
            content=(TextBlock(text="<command-name>/look</command-name>\nlook at df"),),
        ),
    )
    assert result.modifier == ContextModifier(allow=("Python",), model="opus")
    assert bench.events == [
        SkillStarted(run_id="run1", name="look", args="df", by="model", tool_use_id="use1")
    ]
    again = await bench.call("Skill", skill="look")
    assert again.fact == "The skill look is already loaded in this turn. Follow its text above."


async def test_rules_and_safe_properties_decide_whether_it_is_asked(repo: Path) -> None:
    root = repo / ".claude" / "skills"
    skill(root, "safe")
    skill(root, "review-pr", "allowed-tools: Read")
    bench = Bench(repo, commands=source(repo))
    assert (await bench.decide("Skill", skill="safe")).behavior == "allow"
    assert (await bench.decide("Skill", skill="review-pr")).behavior == "ask"
    bench.gate.remember("Skill(review:*)", "session")
    assert (await bench.decide("Skill", skill="review-pr", args="5")).behavior == "allow"


async def test_a_skill_for_people_or_none_at_all_is_refused_with_advice(repo: Path) -> None:
    skill(repo / ".claude" / "skills", "deploy", "disable-model-invocation: Yes")
    bench = Bench(repo, commands=source(repo))
    assert (await bench.call("Skill", skill="deploy")).fact == (
        "The skill deploy is only for people to start. Do not imitate its steps; tell the person "
        "they can run it with `%skill deploy`."
    )
    assert (await bench.call("Skill", skill="explian")).fact == (
        "There is no skill named explian. Did you mean explain?"
    )


async def test_each_skill_is_told_once_per_agent(repo: Path) -> None:
    root = repo / ".claude" / "skills"
    skill(root, "one", "description: first\nwhen_to_use: at start")
    skill(root, "people", "disable-model-invocation: true")
    skill(root, "quiet", "user-invocable: false")
    bench = Bench(repo, commands=source(repo))
    listing = SkillListing()

    async def told() -> str:
        return "\n".join(
            block.text
            for message in await listing.collect(bench.context)
            for block in message.content
            if isinstance(block, TextBlock)
        )

    first = (await told()).split("\n")
    assert first[:3] == [
        "Skills you can call with the Skill tool:",
        "- one: first - at start",
        "- quiet: do",
    ]
    assert "- people" not in "\n".join(first)
    assert await told() == ""
    skill(root, "two")
    assert (await told()).split("\n")[1:] == ["- two: about it"]
    listing.reset()
    assert "- one: first - at start" in await told()


async def test_a_skill_with_paths_appears_when_such_a_file_is_touched(repo: Path) -> None:
    skill(repo / ".claude" / "skills", "sql", "description: d\npaths: '*.sql, db/**'")
    (repo / "a.py").write_text("x")
    (repo / "q.sql").write_text("x")
    bench = Bench(repo, commands=source(repo))
    listing = SkillListing()
    first = str(await listing.collect(bench.context))
    await bench.call("Read", file_path="a.py")
    assert ("- sql" in first, await listing.collect(bench.context)) == (False, ())
    await bench.call("Read", file_path="q.sql")
    assert "- sql: d" in str(await listing.collect(bench.context))
    assert await listing.collect(bench.context) == ()


def test_names_are_always_listed_and_descriptions_cut_evenly(repo: Path) -> None:
    root = repo / ".claude" / "skills"
    for number in range(60):
        skill(root, f"skill-{number:03}", "description: " + "word " * 80)
    commands = source(repo).commands()
    full = entries(commands, 100_000)
    assert max(len(line) for line in full) == 250
    cut = entries(commands, 8_000)
    assert sum(len(line) + 1 for line in cut) <= 8_000
    assert len({len(line) for line in cut[:60]}) == 1
    assert [line for line in cut if line.startswith(("- explain", "- tidy"))] == full[60:]
    for number in range(60, 300):
        skill(root, f"skill-{number:03}", "description: " + "word " * 80)
    many = source(repo).commands()
    lines = entries(many, 8_000)
    assert lines[:2] == ["- skill-000", "- skill-001"]
    assert len(lines) == 302


def test_looking_again_at_many_skills_reads_none_of_them(repo: Path) -> None:
    root = repo / ".claude" / "skills"
    paths = [skill(root, f"s{number}") for number in range(50)]
    skills = source(repo)
    first = skills.commands()
    for path in paths:
        # Same time and size: the files count as unchanged, so these bytes are never looked at.
        before = path.stat()
        path.write_bytes(path.read_bytes().replace(b"about", b"tuoba"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert skills.commands() is first
    assert json.dumps([command.description for command in first]).count("about") == 50
