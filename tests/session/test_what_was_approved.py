"""What a person allowed is what runs: the world may change while they think (CASES 125)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_kernel.events import Notice, PermissionRequested, ToolFinished
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.permissions.gate import Gate
from agent_kernel.protocols import ApprovalAnswer
from agent_kernel.settings.rules import RuleSource, parse_rule
from agent_kernel.testing.notebook import FakeNotebook, cell
from agent_kernel.vocabulary import Decision
from tests.support.session import Maker, run


class Meanwhile:
    """An approver that lets something happen before it allows."""

    def __init__(self, happens: Callable[[], object], answer: ApprovalAnswer | None = None) -> None:
        self._happens = happens
        self._answer = answer or ApprovalAnswer(decision="allow_once")
        self.asked: list[PermissionRequested] = []

    def can_ask(self) -> bool:
        return True

    async def ask(self, request: PermissionRequested) -> ApprovalAnswer:
        self.asked.append(request)
        self._happens()
        return self._answer


def calls(*inputs: dict[str, Any]) -> list[Any]:
    return [
        *([{"tool": one.pop("tool"), "id": f"t{n}", "input": one}] for n, one in enumerate(inputs)),
        "Done.",
    ]


async def last_status(session: Any) -> tuple[str, str]:
    done = [event for event in await run(session, "go") if isinstance(event, ToolFinished)]
    return done[-1].status, str(done[-1].content)


@pytest.fixture
def notebook(tmp_path: Path) -> FakeNotebook:
    return FakeNotebook(
        [cell("a1", "one"), cell("b22", "two"), cell("c3", "three")],
        path=str(tmp_path / "n.ipynb"),
    )


@pytest.mark.parametrize(
    ("tool", "wanted"), [("NotebookEdit", "cell-1"), ("RunCell", "cell-1"), ("RunCell", "b2")]
)
async def test_a_short_name_of_a_cell_cannot_come_to_mean_another_one(
    make: Maker, model_server: ScriptedServer, notebook: FakeNotebook, wanted: str, tool: str
) -> None:
    edit = {"new_source": "changed"} if tool == "NotebookEdit" else {}
    steps = calls(
        {"tool": "Read", "file_path": "n.ipynb"}, {"tool": tool, "cell_id": wanted, **edit}
    )
    model_server.script([{"contains": "go", "steps": steps}])

    def move() -> None:
        notebook.cells.reverse()
        notebook.cells.insert(0, notebook.cells.pop())
        notebook.cells.append(cell("b2", "two"))

    approver = Meanwhile(move)
    status, text = await last_status(make(notebook=notebook, approver=approver))
    assert status == "denied"
    assert "changed after it was shown" in text
    assert [one.source for one in notebook.cells] == ["one", "three", "two", "two"]
    assert notebook.ran == []


async def test_cells_that_come_and_go_above_do_not_undo_an_approval(
    make: Maker, model_server: ScriptedServer, notebook: FakeNotebook
) -> None:
    steps = calls(
        {"tool": "Read", "file_path": "n.ipynb"},
        {"tool": "NotebookEdit", "cell_id": "b22", "new_source": "changed"},
    )
    model_server.script([{"contains": "go", "steps": steps}])
    approver = Meanwhile(lambda: notebook.cells.insert(0, cell("new", "zero")))
    assert (await last_status(make(notebook=notebook, approver=approver)))[0] == "ok"
    assert [one.source for one in notebook.cells] == ["zero", "one", "changed", "three"]


async def test_a_folder_turned_into_a_link_does_not_lead_a_write_elsewhere(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()

    def swap() -> None:
        (tmp_path / "out").rmdir()
        (tmp_path / "out").symlink_to(tmp_path / "elsewhere")

    steps = calls({"tool": "Write", "file_path": "out/a.txt", "content": "x"})
    model_server.script([{"contains": "go", "steps": steps}])
    assert (await last_status(make(approver=Meanwhile(swap))))[0] == "denied"
    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_a_mode_or_rule_that_came_meanwhile_still_forbids(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    gate = Gate(cwd=tmp_path)

    def forbid() -> None:
        source = RuleSource("session", tmp_path, tmp_path)
        gate._rules.add(parse_rule("Edit(*.txt)", "deny", source))

    steps = calls({"tool": "Write", "file_path": "a.txt", "content": "x"})
    model_server.script([{"contains": "go", "steps": steps}])
    status, text = await last_status(make(gate=gate, approver=Meanwhile(forbid)))
    assert status == "denied"
    assert "The deny rule `Edit(*.txt)`" in text
    session = make(approver=Meanwhile(lambda: session.set_mode("plan")))
    assert (await last_status(session))[0] == "denied"
    assert not (tmp_path / "a.txt").exists()


async def test_a_skill_that_changed_meanwhile_grants_nothing_new(
    make: Maker, model_server: ScriptedServer, own_home: Path
) -> None:
    file = own_home / ".claude" / "skills" / "greet" / "SKILL.md"
    file.parent.mkdir(parents=True)
    text = "---\ndescription: hello\nallowed-tools: {}\n---\nHello.\n"
    file.write_text(text.format("Read"))
    steps = calls({"tool": "Skill", "skill": "greet"})
    model_server.script([{"contains": "go", "steps": steps}])
    approver = Meanwhile(lambda: file.write_text(text.format("Read, Python, Write")))
    assert (await last_status(make(approver=approver)))[0] == "denied"


async def test_what_was_allowed_for_a_session_is_asked_again_in_the_next(
    make: Maker, model_server: ScriptedServer
) -> None:
    write = {"tool": "Write", "file_path": "a.txt", "content": "x"}
    again = [{"tool": "Read", "file_path": "a.txt"}, dict(write)]
    model_server.script(
        [
            {"contains": "go", "steps": calls(dict(write), *[dict(one) for one in again])},
            {"contains": "more", "steps": calls(*again)},
        ]
    )
    approver = Meanwhile(lambda: None, ApprovalAnswer(decision="allow_session"))
    session = make(approver=approver)
    await run(session, "go")
    assert len(approver.asked) == 1
    session.new()
    await run(session, "more")
    assert len(approver.asked) == 2


@pytest.mark.parametrize("tool", ["NotebookEdit", "RunCell"])
@pytest.mark.parametrize("cell_id", ["a1", "zzz"])
async def test_what_a_rule_wants_asked_is_not_quoted_instead_of_asking(
    make: Maker,
    model_server: ScriptedServer,
    notebook: FakeNotebook,
    tmp_path: Path,
    tool: str,
    cell_id: str,
) -> None:
    notebook.cells[0] = cell("a1", "secret_plan()")
    source = RuleSource("user", tmp_path, tmp_path)
    gate = Gate([parse_rule("Read(*.ipynb)", "ask", source)], cwd=tmp_path)
    edit = {"new_source": "x"} if tool == "NotebookEdit" else {}
    model_server.script(
        [{"contains": "go", "steps": calls({"tool": tool, "cell_id": cell_id, **edit})}]
    )
    approver = Meanwhile(lambda: None, ApprovalAnswer(decision="deny"))
    status, text = await last_status(make(notebook=notebook, gate=gate, approver=approver))
    assert status == "denied"
    assert "secret_plan" not in text


@pytest.mark.parametrize(
    ("clicked", "came", "kept"),
    [("allow_session", "user", 0), ("allow_always", "session", 1), ("allow_always", "user", 1)],
)
async def test_what_was_clicked_says_how_long_a_rule_is_kept(
    make: Maker,
    model_server: ScriptedServer,
    own_home: Path,
    clicked: Decision,
    came: Any,
    kept: int,
) -> None:
    steps = calls({"tool": "Write", "file_path": "a.txt", "content": "x"})
    model_server.script([{"contains": "go", "steps": steps}])
    answer = ApprovalAnswer(decision=clicked, destination=came)
    session = make(approver=Meanwhile(lambda: None, answer))
    events = await run(session, "go")
    assert not [event for event in events if isinstance(event, Notice)]
    assert len(list((own_home / ".agent_kernel").glob("rules/*.json"))) == kept
