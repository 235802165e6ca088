"""The tools, the gate and the skills in a whole run, against the scripted server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from agent_kernel.events import PermissionRequested, ToolFinished
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.notebook.file import FileNotebook
from agent_kernel.protocols import ApprovalAnswer, CodeRun
from agent_kernel.testing.approver import ScriptedApprover
from agent_kernel.testing.notebook import FakeNamespace
from agent_kernel.vocabulary import CellOutput
from tests.support.session import Maker, run


def call(tool: str, name: str, **input: Any) -> dict[str, Any]:
    return {"tool": tool, "id": name, "input": input}


@pytest.fixture
def notebook(tmp_path: Path) -> FileNotebook:
    path = tmp_path / "n.ipynb"
    cells = [nbformat.v4.new_code_cell("x = 1", id="a1")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return FileNotebook(path, root=tmp_path)


def finished(events: list[Any]) -> list[tuple[str, str, str]]:
    return [
        (event.tool_use_id, event.status, event.fact)
        for event in events
        if isinstance(event, ToolFinished)
    ]


async def test_read_edit_and_run_go_through_the_gate(
    make: Maker, model_server: ScriptedServer, notebook: FileNotebook
) -> None:
    steps = [
        [call("Read", "t1", file_path="n.ipynb")],
        [call("NotebookEdit", "t2", cell_id="a1", new_source="x = 2")],
        [call("NotebookEdit", "t3", edit_mode="insert", new_source="y = x")],
        [call("NotebookEdit", "t4", edit_mode="insert", new_source="z = y")],
        [call("Python", "t5", code="x")],
        "Done.",
    ]
    model_server.script([{"contains": "go", "steps": steps}])
    out = CellOutput(output_type="execute_result", data={"text/plain": "2"})
    namespace = FakeNamespace(answers={"x": CodeRun(status="ok", outputs=(out,))})
    approver = ScriptedApprover(["allow_once", "allow_session", "deny"])
    session = make(notebook=notebook, namespace=namespace, approver=approver)
    events = await run(session, "go")
    asked = [event for event in events if isinstance(event, PermissionRequested)]
    assert [event.title for event in asked] == [
        "Edit cell 1?",
        "Add cell below cell 1?",
        "Run Python in your kernel?",
    ]
    assert finished(events)[:-1] == [
        ("t1", "ok", "1 cell"),
        ("t2", "ok", "+1 −1 lines"),
        ("t3", "ok", "+1 line"),
        ("t4", "ok", "+1 line"),
    ]
    assert finished(events)[-1][:2] == ("t5", "denied")
    assert namespace.ran == []
    assert [cell.source for cell in (await notebook.read()).cells] == ["x = 2", "y = x", "z = y"]


async def test_a_rule_that_does_not_fit_the_call_is_not_kept(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    steps = [
        [call("Write", "t1", file_path="a.txt", content="1")],
        [call("Write", "t2", file_path="b.txt", content="1")],
        "Done.",
    ]
    model_server.script([{"contains": "go", "steps": steps}])
    answer = ApprovalAnswer(decision="allow_always", rule="Edit(docs/**)", destination="local")
    session = make(approver=ScriptedApprover([answer, "allow_always"]))
    events = await run(session, "go")
    notices = [event.text for event in events if event.type == "notice"]
    assert notices == [
        (
            "The rule 'Edit(docs/**)' was not saved: it would not allow this call. "
            "The call was allowed once."
        )
    ]
    (saved,) = (session.settings.home / "rules").glob("*.json")
    assert '"Edit(/b.txt)"' in saved.read_text()
    assert (tmp_path / "a.txt").read_text() == "1"


async def test_with_nobody_to_ask_the_refusal_names_the_rule(
    make: Maker, model_server: ScriptedServer
) -> None:
    steps = [[call("Write", "t1", file_path="a.txt", content="1")], "I see."]
    model_server.script([{"contains": "go", "steps": steps}])
    await run(make(), "go")
    (result,) = model_server.requests[1]["messages"][-1]["content"]
    text = result["content"][0]["text"]
    assert text == (
        "No rule allows `Write` of a.txt. Nobody can be asked here. It would be allowed by an "
        "allow rule `Edit(./a.txt)` or the mode acceptEdits or the mode bypassPermissions."
    )


async def test_a_skill_the_model_calls_arrives_after_its_result(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    folder = tmp_path / ".claude" / "skills" / "greet"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\ndescription: say hello\n---\nGreet $ARGUMENTS warmly.\n")
    steps = [[call("Skill", "t1", skill="greet", args="Ada")], "Hello Ada."]
    model_server.script([{"contains": "go", "steps": steps}])
    await run(make(), "go")
    first, second = model_server.requests
    assert "- greet: say hello" in str(first["messages"])
    content = second["messages"][-1]["content"]
    assert content[0]["type"] == "tool_result"
    assert "<command-name>/greet</command-name>\\nGreet Ada warmly." in str(content)


async def test_a_skill_the_person_runs_is_the_prompt(
    make: Maker, model_server: ScriptedServer
) -> None:
    model_server.script([{"contains": "Explain this", "reply": "It is a sum."}])
    session = make()
    events = [event async for event in session.run("", command=("explain", "cell 3"))]
    assert "skill_started" in [event.type for event in events]
    text = str(model_server.requests[0]["messages"])
    assert "<command-name>/explain</command-name>" in text
    assert "Explain this to the person: cell 3" in text
