"""Questions and their answers, in the cell and in the panel."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from agent_kernel.model.scripted import ScriptedServer
from tests.browser.agent import answer, ask, ended, outputs, python, questions, results, rule
from tests.browser.lab import Lab, LabServer

REFUSED = "The user did not allow this call. Do not try it another way without their word."


def test_deny_gives_the_model_a_refusal_and_the_turn_goes_on(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    model.script([rule("bind a secret name", [python("secret_name = 1")], "Then I will not.")])
    lab_server.write_notebook("deny.ipynb", [ask("bind a secret name"), "'secret_name' in dir()"])
    lab.open("deny.ipynb")
    lab.run(0)
    answer(lab.turn(0), "Deny")
    ended(lab.turn(0))
    expect(lab.turn(0)).to_contain_text("Then I will not.")
    expect(questions(lab.turn(0))).to_have_count(0)
    *_, asked, refused = model.requests[-1]["messages"]
    (called,) = asked["content"]
    assert (called["type"], called["name"]) == ("tool_use", "Python")
    assert refused == {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": called["id"],
                "content": [{"type": "text", "text": REFUSED}],
                "is_error": True,
                "cache_control": {"type": "ephemeral"},
            }
        ],
    }
    lab.run(1)
    expect(outputs(lab, 1)).to_have_text("False")


def test_an_approval_answered_in_the_panel_works_and_disappears_in_the_cell(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    model.script([rule("bind it from the panel", python("from_panel = 6 * 7"), "Bound.")])
    lab_server.write_notebook("panel.ipynb", [ask("bind it from the panel"), "from_panel"])
    lab.open("panel.ipynb")
    panel = lab.open_panel()
    lab.run(0)
    expect(questions(lab.turn(0))).to_contain_text("from_panel = 6 * 7")
    expect(questions(panel)).to_contain_text("from_panel = 6 * 7")
    lab.screenshot("asks")
    answer(panel, "Allow once")
    expect(questions(panel)).to_have_count(0)
    expect(questions(lab.turn(0))).to_have_count(0)
    for view in (lab.turn(0), panel.locator(".ak-turn")):
        ended(view)
        expect(view).to_contain_text("Allowed once by you")
        expect(view).to_contain_text("Bound.")
    assert results(model)[0].get("is_error", False) is False
    lab.run(1)
    expect(outputs(lab, 1)).to_have_text("42")


@pytest.mark.parametrize("place", ["cell", "panel"])
def test_single_keys_pressed_on_an_approval_do_nothing_to_cells(
    lab: Lab, lab_server: LabServer, model: ScriptedServer, place: str
) -> None:
    prompt = f"wait for a key in the {place}"
    model.script([rule(prompt, python("1"), "Done.")])
    cells = [ask(prompt), "first = 1", "second = 2"]
    name = f"keys-{place}.ipynb"
    lab_server.write_notebook(name, cells)
    lab.open(name)
    panel = lab.open_panel()
    lab.run(0)
    where: Locator = lab.turn(0) if place == "cell" else panel
    card = questions(where)
    # A question takes no answer in its first moment.
    expect(card.get_by_role("button", name="Allow once")).to_be_enabled()
    # Tab goes from a button to the next and to the exact text; a click stays where it was made.
    for focused in (
        card.get_by_role("button", name="Allow once"),
        card.get_by_role("button", name="Deny", exact=True),
        card.locator(".ak-approval-title"),
        card.locator(".ak-approval-what"),
    ):
        if focused.get_attribute("type") == "button":
            focused.focus()
            expect(focused).to_be_focused()
        else:
            focused.click()
        for key in ("d", "d", "a", "x", "b", "m", "0", "0", "Shift+M"):
            lab.page.keyboard.press(key)
        assert lab.sources() == cells
    expect(card).to_be_visible()
    assert [cell["cell_type"] for cell in lab.cells()] == ["code"] * 3
    lab.page.keyboard.press("Escape")
    ended(lab.turn(0))
    expect(lab.turn(0)).to_contain_text("Denied by you")
    assert lab.sources() == cells
