"""An ordinary kernel with the extension, and several notebooks with kernels of their own."""

from __future__ import annotations

from playwright.sync_api import expect

from agent_kernel.model.scripted import ScriptedServer
from tests.browser.agent import (
    answer,
    ask,
    composer,
    ended,
    outputs,
    prompt,
    python,
    questions,
    rule,
)
from tests.browser.lab import Lab, LabServer


def test_an_ordinary_kernel_becomes_the_agents_by_load_ext(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    model.script([rule("bind in an ordinary kernel", python("ordinary = 7"), "Bound.")])
    lab_server.write_notebook(
        "loadext.ipynb",
        ["%load_ext agent_kernel", ask("bind in an ordinary kernel"), "ordinary", "%skill"],
        kernel="python3",
    )
    lab.open("loadext.ipynb")
    panel = lab.open_panel()
    expect(panel.get_by_role("button", name="Turn on here")).to_be_visible()
    lab.run(0)
    # The kernel rings, and the page answers by itself.
    expect(composer(panel)).to_be_visible()
    lab.run(1)
    answer(lab.turn(1), "Allow once")
    ended(lab.turn(1))
    expect(panel).to_contain_text("Bound.")
    lab.run(2)
    expect(outputs(lab, 2)).to_have_text("7")
    lab.run(3)
    expect(lab.cell(3).locator(".ak-root")).to_be_visible()
    lab.screenshot("skills")


def test_what_was_turned_on_in_the_panel_is_on_again_after_a_restart(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    model.script([rule("are you here", "I am here."), rule("are you back", "I am back.")])
    lab_server.write_notebook("restart.ipynb", ["x = 1"], kernel="python3")
    lab.open("restart.ipynb")
    panel = lab.open_panel()
    panel.get_by_role("button", name="Turn on here").click()
    prompt(panel, "are you here")
    expect(panel).to_contain_text("I am here.")
    lab.notebook.get_by_role("button", name="Restart the kernel", exact=True).click()
    lab.page.get_by_role("button", name="Confirm Kernel Restart").click()
    expect(panel).not_to_contain_text("I am here.")
    prompt(panel, "are you back")
    expect(panel).to_contain_text("I am back.")


def test_questions_of_two_notebooks_are_answered_each_in_its_own(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    for name in ("east", "west"):
        model.script([rule(f"go {name}", python(f"mine = '{name}'"), f"Went {name}.")])
        cells = [ask(f"go {name}"), "mine"]
        lab_server.write_notebook(f"{name}.ipynb", cells)
    waiting = lab.page.locator("[data-agent-kernel-pending]")
    lab.open("east.ipynb")
    panel = lab.open_panel()
    lab.run(0)
    expect(questions(panel)).to_contain_text("mine = 'east'")
    lab.page.get_by_role("listitem", name="west.ipynb").dblclick()
    expect(lab.cell(0).locator(".cm-content")).to_contain_text("go west")
    lab.wait_for_status("Idle")
    expect(questions(panel)).to_have_count(0)
    lab.run(0)
    expect(questions(panel)).to_contain_text("mine = 'west'")
    expect(waiting).to_have_attribute("data-agent-kernel-pending", "2")
    answer(panel, "Deny")
    ended(lab.turn(0))
    expect(waiting).to_have_attribute("data-agent-kernel-pending", "1")
    lab.run(1)
    expect(outputs(lab, 1)).to_contain_text("NameError")
    lab.page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text="east.ipynb").click()
    answer(panel, "Allow once")
    ended(lab.turn(0))
    expect(waiting).to_have_count(0)
    lab.run(1)
    expect(outputs(lab, 1)).to_have_text("'east'")
