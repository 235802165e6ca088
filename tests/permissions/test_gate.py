"""Who decides a call, in which order, and what is said about it (SPEC A)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pydantic import JsonValue

from agent_kernel.errors import SettingsError
from agent_kernel.permissions.gate import Gate
from agent_kernel.permissions.protected import protected_part
from agent_kernel.settings.rules import Rule, RuleSource, parse_rule
from agent_kernel.testing.notebook import FakeNamespace, FakeNotebook, cell
from agent_kernel.tool_types import ContextModifier, Tool
from agent_kernel.vocabulary import PermissionMode, RuleSuggestion
from tests.support.tools import Bench


def bench(
    cwd: Path,
    *,
    allow: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
    mode: PermissionMode = "default",
    source: Literal["managed", "project", "user"] = "user",
) -> Bench:
    rules: list[Rule] = []
    for behavior, texts in (("deny", deny), ("ask", ask), ("allow", allow)):
        rules += [
            parse_rule(text, behavior, RuleSource(source, cwd, cwd))  # type: ignore[arg-type]
            for text in texts
        ]
    notebook = FakeNotebook([cell("a1", "x = 1", count=3)], path=str(cwd / "tour.ipynb"))
    return Bench(
        cwd,
        mode=mode,
        notebook=notebook,
        namespace=FakeNamespace(),
        gate=Gate(rules, cwd=cwd, homes=(cwd / "state",)),
    )


WRITE: dict[str, JsonValue] = {"file_path": "src/a.py", "content": "x"}


async def test_looking_never_asks_in_any_mode(tmp_path: Path) -> None:
    for mode in ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"):
        one = bench(tmp_path, mode=mode)
        assert (await one.decide("Read", file_path="a")).behavior == "allow"
        assert (await one.decide("Variables")).behavior == "allow"


async def test_what_changes_something_is_asked_with_the_narrowest_rules(tmp_path: Path) -> None:
    decision = await bench(tmp_path).decide("Write", **WRITE)
    assert decision.behavior == "ask"
    assert decision.reason == "No rule allows `Write` of src/a.py."
    assert decision.hint == (
        "It would be allowed by an allow rule `Edit(./src/a.py)` or the mode acceptEdits "
        "or the mode bypassPermissions."
    )
    assert decision.suggestions == (
        RuleSuggestion(rule="Edit(./src/a.py)", destination="session"),
        RuleSuggestion(rule="Edit(./src/a.py)", destination="local"),
    )


async def test_code_is_offered_for_the_session_only(tmp_path: Path) -> None:
    one = bench(tmp_path)
    for name, call in (("Python", {"code": "1"}), ("RunCell", {"cell_id": "a1"})):
        decision = await one.decide(name, **call)
        assert decision.behavior == "ask"
        assert decision.suggestions == (RuleSuggestion(rule=name, destination="session"),)


async def test_a_new_cell_suggests_own_cells_and_a_persons_cell_the_notebook(
    tmp_path: Path,
) -> None:
    one = bench(tmp_path)
    new = await one.decide("NotebookEdit", edit_mode="insert", new_source="y")
    assert [s.rule for s in new.suggestions] == ["NotebookEdit(own)", "NotebookEdit(own)"]
    theirs = await one.decide("NotebookEdit", cell_id="a1", new_source="y")
    assert [s.rule for s in theirs.suggestions] == ["Edit(./tour.ipynb)", "Edit(./tour.ipynb)"]


@pytest.mark.parametrize(
    ("mode", "write", "python"),
    [
        ("default", "ask", "ask"),
        ("acceptEdits", "allow", "ask"),
        ("plan", "deny", "deny"),
        ("dontAsk", "deny", "deny"),
        ("bypassPermissions", "allow", "allow"),
    ],
)
async def test_each_mode(tmp_path: Path, mode: PermissionMode, write: str, python: str) -> None:
    one = bench(tmp_path, mode=mode)
    assert (await one.decide("Write", **WRITE)).behavior == write
    assert (await one.decide("Python", code="1")).behavior == python
    edit = await one.decide("NotebookEdit", edit_mode="insert", new_source="y")
    assert edit.behavior == write


async def test_accepted_edits_end_at_the_working_folder(tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    (tmp_path / "work2").mkdir()
    (work / "out").symlink_to(tmp_path / "work2")
    one = bench(work, mode="acceptEdits")
    for path in ("../x", "../work2/x", "out/x", "/tmp/elsewhere/x"):
        assert (await one.decide("Write", file_path=path, content="")).behavior == "ask", path
    assert (await one.decide("Write", file_path="in/x", content="")).behavior == "allow"


async def test_deny_beats_ask_beats_allow_whatever_the_source(tmp_path: Path) -> None:
    rules = [
        parse_rule("Write", "allow", RuleSource("managed", tmp_path, tmp_path)),
        parse_rule("Edit(src/a.py)", "allow", RuleSource("managed", tmp_path, tmp_path)),
        parse_rule("Edit(src/**)", "ask", RuleSource("user", tmp_path, tmp_path)),
    ]
    one = Bench(tmp_path, gate=Gate(rules, cwd=tmp_path))
    decision = await one.decide("Write", **WRITE)
    assert (decision.behavior, decision.rule) == ("ask", "Edit(src/**)")
    assert decision.suggestions == ()
    deny = parse_rule("Edit(*.py)", "deny", RuleSource("session", tmp_path, tmp_path))
    one = Bench(tmp_path, gate=Gate([*rules, deny], cwd=tmp_path), mode="bypassPermissions")
    decision = await one.decide("Write", **WRITE)
    assert (decision.behavior, decision.rule) == ("deny", "Edit(*.py)")
    assert decision.reason == (
        "The deny rule `Edit(*.py)` (this session) forbids `Write` of src/a.py. "
        "No other rule lifts a deny rule; only the person can remove it."
    )


async def test_ask_rules_hold_even_where_everything_is_allowed(tmp_path: Path) -> None:
    one = bench(tmp_path, ask=("Python",), mode="bypassPermissions")
    assert (await one.decide("Python", code="1")).behavior == "ask"
    one = bench(tmp_path, ask=("Python",), allow=("Python",), mode="dontAsk")
    decision = await one.decide("Python", code="1")
    assert decision.behavior == "deny"
    assert decision.reason == (
        "The ask rule `Python` (user settings) wants you to be asked. The mode dontAsk denies "
        "what would be asked. Only removing that rule would allow it without a question."
    )


async def test_not_asking_says_which_rule_would_allow_it(tmp_path: Path) -> None:
    decision = await bench(tmp_path, mode="dontAsk").decide("Python", code="1")
    assert decision.reason == (
        "No rule allows `Python`. The mode dontAsk denies what would be asked. It would be "
        "allowed by an allow rule `Python` or the mode bypassPermissions."
    )


async def test_plan_mode_is_not_widened_by_allow_rules(tmp_path: Path) -> None:
    one = bench(tmp_path, allow=("Python", "Write"), mode="plan")
    assert (await one.decide("Python", code="1")).behavior == "deny"
    assert "The mode is plan" in (await one.decide("Write", **WRITE)).reason


async def test_a_read_deny_covers_reading_changing_and_links(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / "link").symlink_to(".env")
    one = bench(tmp_path, deny=("Read(.env)",), mode="bypassPermissions")
    for path in (".env", "./.env", "a/../.env", "link", str(tmp_path / ".env")):
        assert (await one.decide("Read", file_path=path)).behavior == "deny", path
        decision = await one.decide("Write", file_path=path, content="")
        assert decision.behavior == "deny", path


async def test_an_old_name_in_a_rule_means_the_tool(tmp_path: Path) -> None:
    assert (await bench(tmp_path, deny=("FileRead",)).decide("Read", file_path="a")).rule == "Read"
    one = bench(tmp_path, allow=("FileWrite",))
    assert (await one.decide("Write", **WRITE)).behavior == "allow"


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit", "sub/.git/config", ".GIT/config", ".vscode/tasks.json",
        ".claude/settings.json", ".bashrc", ".mcp.json", "pkg/.pre-commit-config.yaml",
        "state/trust.json", "STATE/trust.json", "link/config",
        ".ipython/profile_default/startup/x.py",
    ],
)  # fmt: skip
async def test_protected_places_are_never_changed_without_a_person(
    tmp_path: Path, path: str
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "link").symlink_to(".git")
    allowing = bench(tmp_path, allow=("Edit", "Edit(**)"), mode="acceptEdits")
    decision = await allowing.decide("Write", file_path=path, content="")
    assert decision.behavior == "ask"
    assert "protected place" in decision.reason
    assert decision.suggestions == ()
    silent = bench(tmp_path, allow=("Edit",), mode="dontAsk")
    assert (await silent.decide("Write", file_path=path, content="")).behavior == "deny"
    assert (await allowing.decide("Read", file_path=path)).behavior == "allow"


async def test_the_file_with_the_key_is_neither_read_nor_written(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "link").symlink_to("state/key.json")
    one = bench(tmp_path, allow=("Read", "Edit"), mode="bypassPermissions")
    for path in ("state/key.json", "./a/../state/key.json", "link"):
        assert (await one.decide("Read", file_path=path)).behavior == "deny", path
        assert (await one.decide("Write", file_path=path, content="")).behavior == "deny", path
    assert (await one.decide("Read", file_path="state/other.json")).behavior == "allow"


async def test_a_path_that_comes_in_by_another_way_is_judged_and_named_as_written(
    tmp_path: Path,
) -> None:
    (work := tmp_path / "work").mkdir()
    (tmp_path / "alias").symlink_to(work)
    other = str(tmp_path / "alias" / "a.txt")
    decision = await bench(work).decide("Write", file_path=other, content="")
    assert (decision.behavior, decision.reason) == ("ask", f"No rule allows `Write` of {other}.")
    accepting = bench(work, mode="acceptEdits")
    assert (await accepting.decide("Write", file_path=other, content="")).behavior == "allow"


def test_what_is_denied_or_asked_is_not_read_unasked(tmp_path: Path) -> None:
    one = bench(tmp_path, deny=("Read(.env)",), ask=("Read(./private/**)",))
    (tmp_path / "link.md").symlink_to(".env")
    for path in (".env", "a/.env", "link.md", "private/x"):
        assert not one.gate.may_read(tmp_path / path), path
    assert one.gate.may_read(tmp_path / "CLAUDE.md")
    assert not bench(tmp_path, ask=("Read",)).gate.may_read(tmp_path / "CLAUDE.md")


def test_ordinary_places_are_not_protected(tmp_path: Path) -> None:
    for path in ("a.py", ".gitignore", ".github/x.yml", ".claude/worktrees/x/a.py", "git/x"):
        assert protected_part(str(tmp_path / path)) is None, path


async def test_a_session_rule_is_remembered_and_answers_next_time(tmp_path: Path) -> None:
    one = bench(tmp_path)
    asked = await one.decide("Write", **WRITE)
    tool = one.tools["Write"]
    rule = asked.suggestions[0].rule
    assert await one.gate.proves(rule, tool, tool.parse_input(WRITE), one.context)
    one.gate.remember(rule, "session")
    assert (await one.decide("Write", **WRITE)).rule == "Edit(./src/a.py)"
    other = await one.decide("Write", file_path="src/b.py", content="x")
    assert other.behavior == "ask"


async def test_a_rule_that_would_not_allow_this_call_is_not_proven(tmp_path: Path) -> None:
    one = bench(tmp_path)
    tool = one.tools["Write"]
    parsed = tool.parse_input(WRITE)
    assert not await one.gate.proves("Edit(lib/**)", tool, parsed, one.context)
    assert not await one.gate.proves("Python", tool, parsed, one.context)
    with pytest.raises(SettingsError):
        await one.gate.proves("Edit(", tool, parsed, one.context)


async def test_what_a_skill_grants_ends_with_the_next_message(tmp_path: Path) -> None:
    one = bench(tmp_path, ask=("Edit(src/**)",))
    one.gate.apply(ContextModifier(allow=("Python", "Write", "Bash(broken")))
    assert (await one.decide("Python", code="1")).behavior == "allow"
    assert (await one.decide("Write", **WRITE)).behavior == "ask"
    one.gate.apply(None)
    assert (await one.decide("Python", code="1")).behavior == "ask"


async def test_a_hooks_allow_never_beats_a_deny_or_ask_rule(tmp_path: Path) -> None:
    one = bench(tmp_path, deny=("Write",), ask=("Python",))
    write, python, cell_tool = (one.tools[name] for name in ("Write", "Python", "RunCell"))
    context, gate = one.context, one.gate

    async def hooked(
        tool: Tool, call: dict[str, JsonValue], hook: Literal["allow", "ask", "deny"]
    ) -> str:
        parsed = tool.parse_input(call)
        return (await gate.decide(tool, parsed, context, hook=hook)).behavior

    assert await hooked(write, WRITE, "allow") == "deny"
    assert await hooked(python, {"code": "1"}, "allow") == "ask"
    assert await hooked(cell_tool, {"cell_id": "a1"}, "allow") == "allow"
    assert await hooked(cell_tool, {"cell_id": "a1"}, "deny") == "deny"


RULES = st.lists(
    st.tuples(
        st.sampled_from(["allow", "ask", "deny"]),
        st.sampled_from(["Write", "Edit", "Edit(src/**)", "Edit(*.py)", "Edit(docs/**)", "Python"]),
        st.sampled_from(["managed", "local", "project", "user", "session"]),
    ),
    max_size=6,
)


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=RULES)
async def test_the_strongest_matching_rule_decides_in_any_order(
    tmp_path: Path, written: list[tuple[Any, str, Any]]
) -> None:
    rules = [
        parse_rule(text, behavior, RuleSource(source, tmp_path, tmp_path))
        for behavior, text, source in written
    ]
    matching = {
        behavior for behavior, text, _ in written if text not in {"Edit(docs/**)", "Python"}
    }
    strongest = next((b for b in ("deny", "ask", "allow") if b in matching), "ask")
    for ordered in (rules, rules[::-1]):
        one = Bench(tmp_path, gate=Gate(ordered, cwd=tmp_path))
        assert (await one.decide("Write", **WRITE)).behavior == strongest


CALLS: list[tuple[str, dict[str, JsonValue]]] = [
    ("Write", WRITE),
    ("Edit", {"file_path": "src/../src/a.py", "old_string": "a", "new_string": "b"}),
    ("Read", {"file_path": "./src/a.py"}),
    ("NotebookEdit", {"edit_mode": "insert", "new_source": "y"}),
    ("RunCell", {"cell_id": "a1"}),
    ("Python", {"code": "1"}),
]
ANY_RULES = st.lists(
    st.tuples(
        st.sampled_from(["allow", "ask", "deny"]),
        st.sampled_from(
            [
                "Write", "Edit", "Read", "NotebookEdit", "RunCell", "Python", "NotebookEdit(own)",
                "Edit(src/**)", "Read(src/**)", "Read(*.ipynb)", "Edit(./tour.ipynb)", "FileEdit",
            ]
        ),
        st.sampled_from(["managed", "local", "project", "user", "session"]),
    ),
    max_size=5,
)  # fmt: skip


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    written=ANY_RULES,
    call=st.sampled_from(CALLS),
    mode=st.sampled_from(["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]),
    hook=st.sampled_from(["none", "allow", "ask", "deny"]),
    granted=st.booleans(),
)
async def test_no_mode_hook_or_grant_gets_past_a_rule_that_denies_or_asks(
    tmp_path: Path,
    written: list[tuple[Any, str, Any]],
    call: tuple[str, dict[str, JsonValue]],
    mode: PermissionMode,
    hook: Literal["none", "allow", "ask", "deny"],
    granted: bool,
) -> None:
    name, raw = call

    async def decide(rules: list[Rule], how: PermissionMode, said: Any, grant: bool) -> str:
        one = bench(tmp_path, mode=how)
        one.gate = Gate(rules, cwd=tmp_path)
        if grant:
            one.gate.apply(ContextModifier(allow=tuple(one.tools)))
        tool = one.tools[name]
        decision = await one.gate.decide(tool, tool.parse_input(raw), one.context, hook=said)
        return decision.behavior

    rules = [
        parse_rule(text, behavior, RuleSource(source, tmp_path, tmp_path))
        for behavior, text, source in written
    ]
    strict = [rule for rule in rules if rule.behavior != "allow"]
    alone = await decide(strict, "bypassPermissions", "none", False)
    everything = await decide(rules, mode, hook, granted)
    assert everything == await decide(rules[::-1], mode, hook, granted)
    if alone == "deny" or hook == "deny":
        assert everything == "deny"
    elif alone == "ask":
        assert everything != "allow"
    if mode == "dontAsk":
        assert everything != "ask"
    if mode == "plan" and name != "Read":
        assert everything != "allow"
