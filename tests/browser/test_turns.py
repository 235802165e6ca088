"""Turns in a cell of the open notebook: streaming, approvals, edits of the live document."""

from __future__ import annotations

from playwright.sync_api import expect

from agent_kernel.model.scripted import ScriptedServer
from tests.browser.lab import Lab, LabServer


def test_text_appears_in_the_cell_before_the_stream_has_ended(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    model.script(
        [
            {
                "contains": "tell me slowly",
                "steps": [
                    [
                        {"text": "The first half."},
                        {"wait_for": "slow"},
                        {"text": "The second half."},
                    ]
                ],
            }
        ]
    )
    lab_server.write_notebook("slow.ipynb", ["%%agent\ntell me slowly"])
    lab.open("slow.ipynb")
    lab.run(0)
    expect(lab.turn(0)).to_contain_text("The first half.")
    expect(lab.prompt(0)).to_have_text("[*]:")
    expect(lab.turn(0)).not_to_contain_text("The second half.")
    lab.screenshot("streaming")
    model.release("slow")
    expect(lab.turn(0)).to_contain_text("The second half.")
    expect(lab.prompt(0)).to_have_text("[1]:")


def test_allow_once_clicked_while_the_cell_runs_makes_the_new_cell_and_the_file_is_valid(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    insert = {"edit_mode": "insert", "cell_type": "code", "new_source": "answer = 6 * 7\nanswer"}
    model.script(
        [
            {
                "contains": "add a cell that multiplies",
                "steps": [
                    [{"text": "I add one."}, {"tool": "NotebookEdit", "input": insert}],
                    [{"wait_for": "added"}, {"text": "It is there."}],
                ],
            }
        ]
    )
    lab_server.write_notebook("allow.ipynb", ["%%agent\nadd a cell that multiplies", "'last'"])
    lab.open("allow.ipynb")
    lab.run(0)
    expect(lab.approval(0)).to_contain_text("answer = 6 * 7")
    lab.screenshot("asks")
    lab.answer(0, "Allow once")
    expect(lab.cell(1).locator(".cm-content")).to_contain_text("answer = 6 * 7")
    expect(lab.prompt(0)).to_have_text("[*]:")
    model.release("added")
    expect(lab.turn(0)).to_contain_text("It is there.")
    expect(lab.prompt(0)).to_have_text("[1]:")
    lab.save()
    saved = lab_server.read_notebook("allow.ipynb")
    assert [cell.source for cell in saved.cells][1:] == ["answer = 6 * 7\nanswer", "'last'"]
    assert saved.cells[1].metadata["agent_kernel"]["made"] is True
    assert saved.metadata["agent_kernel"]["session_id"]
    assert "It is there." in saved.cells[0].outputs[-1].data["text/markdown"]


def test_an_unsaved_edit_of_another_cell_survives_an_edit_of_the_agent(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    model.script(
        [
            {
                "contains": "double the third cell",
                "steps": [
                    [{"tool": "Read", "input": {"file_path": "unsaved.ipynb"}}],
                    [
                        {
                            "tool": "NotebookEdit",
                            "input": {"cell_id": "c2", "new_source": "y = 20"},
                        }
                    ],
                    [{"text": "Doubled."}],
                ],
            }
        ]
    )
    lab_server.write_notebook(
        "unsaved.ipynb", ["%%agent\ndouble the third cell", "x = 1", "y = 10"]
    )
    lab.open("unsaved.ipynb")
    lab.type_into(1, "x = 2  # typed, never saved")
    lab.run(0)
    lab.answer(0, "Allow once")
    expect(lab.turn(0)).to_contain_text("Doubled.")
    assert lab.sources()[1:3] == ["x = 2  # typed, never saved", "y = 20"]
    # The person's unsaved text was not saved behind their back.
    assert lab_server.read_notebook("unsaved.ipynb").cells[1].source == "x = 1"
    lab.save()
    saved = lab_server.read_notebook("unsaved.ipynb")
    assert [cell.source for cell in saved.cells][1:3] == ["x = 2  # typed, never saved", "y = 20"]


def test_a_cell_changed_between_read_and_write_is_refused_with_its_new_text(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    edit = {"cell_id": "c1", "new_source": "x = 'agent'"}
    model.script(
        [
            {
                "contains": "change the second cell",
                "steps": [
                    [{"tool": "Read", "input": {"file_path": "changed.ipynb"}}],
                    [{"wait_for": "changed"}, {"tool": "NotebookEdit", "input": edit}],
                    [{"text": "I see: {{result:-1}}"}],
                ],
            }
        ]
    )
    lab_server.write_notebook(
        "changed.ipynb", ["%%agent --mode acceptEdits\nchange the second cell", "x = 1"]
    )
    lab.open("changed.ipynb")
    lab.run(0)
    model.reached("changed")
    lab.type_into(1, "x = 'mine'")
    model.release("changed")
    expect(lab.turn(0)).to_contain_text("I see:")
    expect(lab.turn(0)).to_contain_text("x = 'mine'")
    assert lab.sources()[1] == "x = 'mine'"
