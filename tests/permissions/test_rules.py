"""What a written rule matches, and what is said of one that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_kernel.errors import SettingsError
from agent_kernel.settings.rule_text import RuleText, parse_rule_text
from agent_kernel.settings.rules import (
    RuleSet,
    RuleSource,
    escape_pattern,
    parse_rule,
    parse_rules,
)
from agent_kernel.tool_types import RuleTarget

Behavior = Literal["allow", "deny", "ask"]


def path_target(path: Path | str, access: Any = "edit") -> RuleTarget:
    return RuleTarget(kind="path", value=str(path), access=access)


def matches(
    text: str,
    path: Path | str,
    cwd: Path,
    *,
    behavior: Behavior = "allow",
    tool: str = "Edit",
    access: Any = "edit",
    root: Path | None = None,
    casefold: bool = False,
) -> bool:
    rule = parse_rule(text, behavior, RuleSource("project", root or cwd, cwd), casefold=casefold)
    rules = RuleSet([rule])
    targets = (path_target(path, access),)
    if behavior == "allow":
        return rules.find_allow((tool,), targets) is not None
    return rules.find(behavior, (tool,), targets) is not None


@pytest.mark.parametrize(
    ("written", "tool", "spec"),
    [
        ("Edit", "Edit", None),
        (" Edit ", "Edit", None),
        ("Edit(*)", "Edit", None),
        ("FileEdit(src/**)", "Edit", "src/**"),
        ("FileRead", "Read", None),
        ("Bash(git log (a) *)", "Bash", "git log (a) *"),
        ("Bash(npm run test:*)", "Bash", "npm run test:*"),
        ("WebFetch(domain:example.org)", "WebFetch", "domain:example.org"),
        ("mcp__server__tool", "mcp__server__tool", None),
        ("Skill(review:*)", "Skill", "review:*"),
        ("NotebookEdit(cell:tag=draft)", "NotebookEdit", "cell:tag=draft"),
    ],
)
def test_rules_are_read(written: str, tool: str, spec: str | None) -> None:
    assert parse_rule_text(written) == RuleText(tool, spec)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("", "begins with a tool's name"),
        ("(x)", "begins with a tool's name"),
        ("Edit(src/**", "bracket is not closed"),
        ("Edit src)", "begins with a tool's name"),
        ("Edit)", "begins with a tool's name"),
        ("Edit()", "brackets are empty"),
        ("Edit( )", "brackets are empty"),
        ("Edit(!src)", "cannot be negated"),
        ("Python(os)", "Write `Python`"),
        ("Bash(cat > f <<'E'\n:*\nE)", "one line"),
        ("Edit(a\u202eb)", "invisible"),
        ("Edit(a\u200bb)", "invisible"),
        ("Bash(" + "x" * 1000 + ")", "at most 1,000"),
    ],
)
def test_a_rule_that_cannot_be_used_says_how_to_write_it(written: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        parse_rule_text(written)


def test_a_bad_rule_never_takes_the_good_ones_with_it(tmp_path: Path) -> None:
    source = RuleSource("user", tmp_path, tmp_path)
    rules, problems = parse_rules(["Read(.env)", "Edit(", 7, "Edit(x)"], "deny", source)
    assert [str(rule) for rule in rules] == ["Read(.env)", "Edit(x)"]
    assert problems == [
        "user settings: `Edit(`: the bracket is not closed. Write it like `Edit(…)`.",
        "user settings: a rule is a text such as `Read(./data/**)`, not 7.",
    ]


@pytest.mark.parametrize(
    ("rule", "path", "behavior", "wanted"),
    [
        ("Edit(src/**)", "src/a/b.py", "allow", True),
        ("Edit(src/**)", "lib/src/a.py", "allow", False),
        ("Edit(src/**)", "lib/src/a.py", "deny", True),
        ("Edit(./src/**)", "lib/src/a.py", "deny", False),
        ("Edit(*.py)", "a/b/c.py", "allow", True),
        ("Edit(.env)", "a/.env", "deny", True),
        ("Edit(.env)", "a/.environment", "deny", False),
        ("Edit(secrets)", "secrets/key", "deny", True),
        ("Edit(/a.py)", "a.py", "allow", True),
        ("Edit(/a.py)", "b/a.py", "allow", False),
        ("Edit(a?.py)", "ab.py", "allow", True),
        ("Edit(#notes)", "#notes", "allow", True),
        ("Edit(a(1).py)", "a(1).py", "allow", True),
        ("Edit(**)", "any/thing", "allow", True),
    ],
)
def test_paths_are_matched_like_gitignore(
    tmp_path: Path, rule: str, path: str, behavior: Behavior, wanted: bool
) -> None:
    assert matches(rule, tmp_path / path, tmp_path, behavior=behavior) is wanted


def test_anchors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    cwd, root = tmp_path / "repo" / "sub", tmp_path / "repo"
    cwd.mkdir(parents=True)
    assert matches("Edit(/x.py)", root / "x.py", cwd, root=root)
    assert not matches("Edit(/x.py)", cwd / "x.py", cwd, root=root)
    assert matches(f"Edit(/{tmp_path}/other/**)", tmp_path / "other" / "f", cwd)
    assert matches("Edit(~/notes/**)", tmp_path / "home" / "notes" / "f", cwd)
    assert not matches("Edit(~/notes/**)", tmp_path / "notes" / "f", cwd)
    assert not matches("Edit(**)", tmp_path / "elsewhere", cwd)


def test_dots_and_case_do_not_get_around_a_deny(tmp_path: Path) -> None:
    assert matches("Read(.env)", f"{tmp_path}/a/../.env", tmp_path, behavior="deny")
    assert matches("Read(.env)", tmp_path / ".ENV", tmp_path, behavior="deny", casefold=True)
    assert not matches("Read(.env)", tmp_path / ".ENV", tmp_path, behavior="deny")


def test_a_link_is_allowed_only_with_its_target_and_denied_by_either(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_text("k")
    (tmp_path / "open").mkdir()
    link = tmp_path / "open" / "link"
    link.symlink_to(tmp_path / "secrets" / "key")
    assert not matches("Edit(open/**)", link, tmp_path)
    assert matches("Edit(**)", link, tmp_path)
    assert matches("Edit(secrets/**)", link, tmp_path, behavior="deny")
    assert matches("Edit(open/**)", link, tmp_path, behavior="deny")


def test_edit_rules_govern_all_that_edit_and_read_denies_too(tmp_path: Path) -> None:
    target = tmp_path / "n.ipynb"
    for tool in ("Write", "NotebookEdit"):
        assert matches("Edit(*.ipynb)", target, tmp_path, tool=tool)
        assert matches("Edit(*.ipynb)", target, tmp_path, tool=tool, behavior="deny")
        assert matches("Read(*.ipynb)", target, tmp_path, tool=tool, behavior="deny")
        assert matches("Read(*.ipynb)", target, tmp_path, tool=tool, behavior="ask")
        assert not matches("Read(*.ipynb)", target, tmp_path, tool=tool)
    assert matches("Edit(*.ipynb)", target, tmp_path, tool="Read", access="read")
    assert not matches(
        "Edit(*.ipynb)", target, tmp_path, tool="Read", access="read", behavior="deny"
    )


def test_only_read_and_edit_rules_allow_paths(tmp_path: Path) -> None:
    source = RuleSource("user", tmp_path, tmp_path)
    rules, problems = parse_rules(["Write(a)", "NotebookEdit(own)"], "allow", source)
    assert len(rules) == 2
    assert problems == ["user settings: `Write(a)` allows nothing. Write `Edit(a)`."]
    assert not matches("Write(a)", tmp_path / "a", tmp_path, tool="Write")
    assert matches("Write(a)", tmp_path / "a", tmp_path, tool="Write", behavior="deny")
    assert not matches("Write(a)", tmp_path / "a", tmp_path, tool="Edit", behavior="deny")


def test_every_path_of_a_call_must_be_allowed(tmp_path: Path) -> None:
    source = RuleSource("user", tmp_path, tmp_path)
    one = parse_rule("Edit(a)", "allow", source)
    two = parse_rule("Edit(b)", "allow", source)
    targets = (path_target(tmp_path / "a"), path_target(tmp_path / "b"))
    assert RuleSet([one]).find_allow(("Move",), targets) is None
    assert RuleSet([one, two]).find_allow(("Move",), targets) == one


def named(kind: Any, value: str, rule: str, tool: str) -> bool:
    source = RuleSource("user", Path("/"), Path("/"))
    rules = RuleSet([parse_rule(rule, "allow", source)])
    return rules.find_allow((tool,), (RuleTarget(kind=kind, value=value),)) is not None


@pytest.mark.parametrize(
    ("kind", "tool", "rule", "value", "wanted"),
    [
        ("name", "Skill", "Skill(review)", "review", True),
        ("name", "Skill", "Skill(review)", "review-pr", False),
        ("name", "Skill", "Skill(review *)", "review", True),
        ("name", "Skill", "Skill(review:*)", "review", True),
        ("name", "Skill", "Skill(review:*)", "review-pr", True),
        ("name", "Skill", "Skill(review:*)", "review:pr", True),
        ("name", "Skill", "Skill(review:*)", "reviewer", False),
        ("command", "Bash", "Bash(ls *)", "ls", True),
        ("command", "Bash", "Bash(ls *)", "ls -la", True),
        ("command", "Bash", "Bash(ls *)", "lsof", False),
        ("command", "Bash", "Bash(ls*)", "lsof", True),
        ("command", "Bash", "Bash(git:* push)", "git:x push", True),
        ("command", "Bash", "Bash(npm run test:*)", "npm run test", True),
        ("command", "Bash", "Bash(npm run test:*)", "npm run tests", False),
        ("command", "Bash", "Bash(git log)", "git log; id", False),
        ("domain", "WebFetch", "WebFetch(domain:Example.org)", "example.ORG", True),
        ("domain", "WebFetch", "WebFetch(domain:*.example.org)", "a.b.example.org", True),
        ("domain", "WebFetch", "WebFetch(domain:*.example.org)", "example.org", False),
        ("domain", "WebFetch", "WebFetch(domain:*.example.org)", "badexample.org", False),
        ("domain", "WebFetch", "WebFetch(domain:a*.org)", "abc.org", True),
        ("domain", "WebFetch", "WebFetch(domain:a*.org)", "a.evil.org", False),
        ("tag", "NotebookEdit", "NotebookEdit(own)", "own", True),
        ("tag", "NotebookEdit", "NotebookEdit(own)", "cell:tag=draft", False),
        ("name", "mcp__db__query", "mcp__db", "x", True),
        ("name", "mcp__db__query", "mcp__db__*", "x", True),
        ("name", "mcp__dbx__query", "mcp__db", "x", False),
    ],
)
def test_names_commands_and_hosts(
    kind: str, tool: str, rule: str, value: str, wanted: bool
) -> None:
    assert named(kind, value, rule, tool) is wanted


def test_an_allow_rule_may_not_leave_the_tool_open(tmp_path: Path) -> None:
    source = RuleSource("user", tmp_path, tmp_path)
    for text in ("*", "mcp__*"):
        with pytest.raises(SettingsError, match="names its tool in full"):
            parse_rule(text, "allow", source)
        deny = parse_rule(text, "deny", source)
        assert RuleSet([deny]).find("deny", ("mcp__db__query",), ()) == deny


names = st.text(
    st.characters(codec="utf-8", exclude_characters="/\0", exclude_categories=("Cc", "Cf", "Cs")),
    min_size=1,
    max_size=12,
).filter(lambda name: name not in {".", ".."} and name.strip() == name)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(names, min_size=1, max_size=3), other=names)
def test_an_escaped_path_matches_itself_and_no_sibling(
    tmp_path: Path, parts: list[str], other: str
) -> None:
    path = "/".join(parts)
    try:
        rule = parse_rule_text(f"Edit(./{escape_pattern(path)})")
    except SettingsError as error:
        # Line and paragraph separators have no place in a rule; the call is asked each time.
        assert "one line" in str(error)  # noqa: PT017
        return
    assert matches(str(rule), os.path.join(tmp_path, path), tmp_path)  # noqa: PTH118
    sibling = "/".join([*parts[:-1], other])
    if other != parts[-1]:
        assert not matches(str(rule), os.path.join(tmp_path, sibling), tmp_path)  # noqa: PTH118


@given(st.text(max_size=60))
def test_any_text_is_a_rule_or_a_settings_error(text: str) -> None:
    try:
        rule = parse_rule(text, "deny", RuleSource("user", Path("/"), Path("/")))
    except SettingsError:
        return
    assert parse_rule_text(str(rule)) == rule.text


def test_a_pattern_may_begin_above_the_folder(tmp_path: Path) -> None:
    (work := tmp_path / "a" / "work").mkdir(parents=True)
    for rule in ("Read(../secrets/**)", "Read(./../secrets/**)", "Read(../../a/secrets/**)"):
        target = tmp_path / "a" / "secrets" / "key"
        assert matches(rule, target, work, behavior="deny"), rule
        assert not matches(rule, work / "secrets" / "key", work, behavior="deny"), rule


@pytest.mark.parametrize("name", ["deploy", "project:deploy", "user-2:deploy"])
@pytest.mark.parametrize("spec", ["deploy", "Deploy", "ｄｅｐｌｏｙ", "deploy *", "deploy:*"])
def test_a_denied_skill_is_denied_however_it_is_named(tmp_path: Path, name: str, spec: str) -> None:
    source = RuleSource("user", tmp_path, tmp_path)
    target = RuleTarget(kind="name", value=name)
    assert parse_rule(f"Skill({spec})", "deny", source).matches_target(("Skill",), target)
    assert parse_rule(f"Skill({spec})", "ask", source).matches_target(("Skill",), target)
    if name != "deploy":
        assert not parse_rule(f"Skill({spec})", "allow", source).matches_target(("Skill",), target)


def test_on_disks_that_fold_case_a_letter_in_two_parts_is_that_letter(tmp_path: Path) -> None:
    source = RuleSource("user", tmp_path, tmp_path)
    rule = parse_rule("Read(caf\u00e9.txt)", "deny", source, casefold=True)
    target = RuleTarget(kind="path", value=str(tmp_path / "CAFE\u0301.txt"), access="read")
    assert rule.matches_target(("Read",), target)
