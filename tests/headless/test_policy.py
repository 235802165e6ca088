"""The declared policy: rules answer; all else is denied, naming the rule that would allow it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_kernel.errors import SettingsError
from agent_kernel.events import PermissionRequested
from agent_kernel.headless.policy import DeclaredPolicy
from agent_kernel.vocabulary import (
    CellPreview,
    CodePreview,
    CommandPreview,
    DiffPreview,
    Preview,
    RuleSuggestion,
)

HERE = Path("/project")


def decision(tool: str, preview: Preview, *allow: str) -> str:
    request = PermissionRequested(
        request_id="q", nonce="n", tool_use_id="t", tool=tool, title="?", preview=preview
    )
    return DeclaredPolicy(allow, HERE)(request).decision


CODE = CodePreview(code="1")
NEW = CellPreview(op="insert", new="1")
OLD = CellPreview(op="replace", cell_id="a", old="1", new="2")


def test_a_bare_rule_allows_its_tool_and_no_other() -> None:
    assert decision("Python", CODE, "Python") == "allow_once"
    assert decision("Python", CODE, "RunCell", "NotebookEdit") == "deny"
    assert decision("Python", CODE) == "deny"


def test_own_cells_may_be_allowed_alone() -> None:
    assert decision("NotebookEdit", NEW, "NotebookEdit(own)") == "allow_once"
    assert decision("NotebookEdit", OLD, "NotebookEdit(own)") == "deny"


def test_paths_are_those_of_the_notebooks_folder() -> None:
    inside = DiffPreview(path="/project/src/a.py", old="", new="x")
    outside = DiffPreview(path="/etc/passwd", old="", new="x")
    escaped = DiffPreview(path="/project/src/../../etc/passwd", old="", new="x")
    assert decision("Edit", inside, "Edit(src/**)") == "allow_once"
    assert decision("Write", inside, "Edit(src/**)") == "allow_once"
    assert decision("Edit", outside, "Edit(src/**)") == "deny"
    assert decision("Edit", escaped, "Edit(src/**)") == "deny"


@pytest.mark.parametrize("more", ["; id", "\nid", " | sh", " && id", " $(id)", " `id`", " <(id)"])
def test_nothing_rides_on_a_rule_for_a_command(more: str) -> None:
    assert decision("Bash", CommandPreview(command="git log -1"), "Bash(git log *)") == "allow_once"
    assert decision("Bash", CommandPreview(command=f"git log{more}"), "Bash(git log *)") == "deny"


def test_a_denial_names_the_rule_that_would_allow_it() -> None:
    request = PermissionRequested(
        request_id="q",
        nonce="n",
        tool_use_id="t",
        tool="NotebookEdit",
        title="?",
        preview=NEW,
        suggestions=(RuleSuggestion(rule="NotebookEdit(own)"),),
    )
    answer = DeclaredPolicy((), HERE)(request)
    assert "--allow 'NotebookEdit(own)'" in answer.reason
    assert answer.by == "policy"


def test_a_rule_that_cannot_be_read_is_said_before_anything_runs() -> None:
    with pytest.raises(SettingsError, match="bracket"):
        DeclaredPolicy(("Edit(src",), HERE)
