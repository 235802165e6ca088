"""The page goes away in the middle of a run and comes back."""

from __future__ import annotations

from playwright.sync_api import expect

from agent_kernel.model.scripted import ScriptedServer
from tests.browser.agent import answer, ask, ended, gate, outputs, python, questions, rule
from tests.browser.lab import Lab, LabServer


def test_after_a_reload_the_turn_is_whole_its_question_open_and_its_end_in_the_cell(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    model.script(
        [
            rule(
                "survive a reload",
                ["Before the reload.", python("survived = 'yes'; print('done', survived)")],
                [gate("reload-late"), "After the reload."],
            )
        ]
    )
    lab_server.write_notebook("reload.ipynb", [ask("survive a reload"), "survived"])
    lab.open("reload.ipynb")
    panel = lab.open_panel()
    lab.run(0)
    expect(questions(lab.turn(0))).to_be_visible()
    lab.page.reload()
    panel = lab.open_panel()
    turn = panel.locator(".ak-turn")
    expect(turn).to_contain_text("survive a reload")
    expect(turn).to_contain_text("Before the reload.")
    expect(questions(panel)).to_contain_text("survived = 'yes'")
    lab.screenshot("reloaded")
    answer(panel, "Allow once")
    model.reached("reload-late")
    expect(turn).to_contain_text("Allowed once by you")
    model.release("reload-late")
    ended(turn)
    expect(turn).to_contain_text("After the reload.")
    ended(lab.turn(0))
    expect(lab.turn(0)).to_contain_text("After the reload.")
    expect(lab.turn(0)).to_have_count(1)
    expect(lab.prompt(0)).to_have_text("[1]:")
    lab.run(1)
    expect(outputs(lab, 1)).to_have_text("'yes'")
    lab.save()
    (cell, *_) = lab_server.read_notebook("reload.ipynb").cells
    assert cell.execution_count == 1
    turns = [out for out in cell.outputs if "text/markdown" in out.get("data", {})]
    assert len(turns) == 1
    markdown = turns[0].data["text/markdown"]
    assert "Before the reload." in markdown
    assert "After the reload." in markdown
    lab.open("reload.ipynb")
    expect(lab.turn(0)).to_contain_text("After the reload.")


def test_a_reload_in_mid_stream_loses_no_text(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    model.script(
        [rule("stream over a reload", ["One. ", gate("stream-reload"), "Two. ", "Three."])]
    )
    lab_server.write_notebook("midstream.ipynb", [ask("stream over a reload")])
    lab.open("midstream.ipynb")
    lab.run(0)
    expect(lab.turn(0)).to_contain_text("One.")
    lab.page.reload()
    panel = lab.open_panel()
    turn = panel.locator(".ak-turn")
    expect(turn).to_contain_text("One.")
    model.release("stream-reload")
    for view in (turn, lab.turn(0)):
        ended(view)
        expect(view).to_contain_text("One. Two. Three.")
