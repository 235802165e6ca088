"""The side panel: kernels without the extension, several notebooks, approvals out of sight."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from agent_kernel.model.scripted import ScriptedServer
from tests.browser.lab import Lab, LabServer

PYTHON = {"tool": "Python", "input": {"code": "seen = 41 + 1\nseen"}}


def asks_then_says(prompt: str, text: str, *tools: dict[str, Any]) -> list[dict[str, Any]]:
    """A rule whose turn calls the tools one after the other and then says a text."""
    return [{"contains": prompt, "steps": [*([tool] for tool in tools), [{"text": text}]]}]


def test_turn_on_here_then_a_prompt_adds_and_runs_a_cell_while_no_cell_is_running(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    insert = {"edit_mode": "insert", "cell_type": "code", "new_source": "print('from the panel')"}
    run = {"tool": "RunCell", "input": {"cell_id": "{{result:-1:[Aa]dded \\w+ cell `([^`]+)`}}"}}
    added = {"tool": "NotebookEdit", "input": insert}
    model.script(asks_then_says("add and run a cell", "It printed: {{result:-1}}", added, run))
    lab_server.write_notebook("ordinary.ipynb", ["x = 1"], kernel="python3")
    lab.open("ordinary.ipynb")
    panel = lab.open_panel()
    panel.get_by_role("button", name="Turn on here").click()
    composer = panel.locator("textarea").last
    expect(composer).to_be_enabled()
    lab.screenshot("on")
    composer.fill("add and run a cell")
    composer.press("Enter")
    for _ in range(2):
        card = panel.locator("[data-request-id]")
        card.get_by_role("button", name="Allow once", exact=True).click()
    expect(panel).to_contain_text("It printed:")
    expect(lab.cell(1).locator(".jp-OutputArea-output")).to_contain_text("from the panel")
    assert lab.sources()[:2] == ["x = 1", "print('from the panel')"]


def test_two_notebooks_at_once_do_not_mix(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    for name in ("left", "right"):
        model.script(
            [
                {
                    "contains": f"speak of {name}",
                    "steps": [[{"text": f"This is {name}."}, {"wait_for": f"{name} goes on"}]],
                }
            ]
        )
        lab_server.write_notebook(f"{name}.ipynb", [f"%%agent\nspeak of {name}"])
    lab.open("left.ipynb")
    panel = lab.open_panel()
    lab.run(0)
    expect(panel).to_contain_text("This is left.")
    lab.page.get_by_role("listitem", name="right.ipynb").dblclick()
    expect(lab.cell(0).locator(".cm-content")).to_contain_text("speak of right")
    lab.wait_for_status("Idle")
    lab.run(0)
    expect(panel).to_contain_text("This is right.")
    expect(panel).not_to_contain_text("This is left.")
    model.release("right goes on")
    expect(lab.prompt(0)).to_have_text("[1]:")
    lab.page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text="left.ipynb").click()
    expect(panel).to_contain_text("This is left.")
    expect(panel).not_to_contain_text("This is right.")
    expect(lab.prompt(0)).to_have_text("[*]:")
    model.release("left goes on")
    expect(lab.prompt(0)).to_have_text("[1]:")


def test_an_approval_out_of_sight_is_announced_counted_and_shown_on_request(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    model.script(asks_then_says("ask when I am away", "Done.", PYTHON))
    filler = ["\n".join(f"# line {n}" for n in range(60))] * 3
    lab_server.write_notebook("away.ipynb", ["%%agent\nask when I am away", *filler, "'last'"])
    lab.open("away.ipynb")
    lab.run(0)
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.content.scrollToItem(4)")
    toast = lab.page.locator(".Toastify__toast", has_text="approval")
    expect(toast).to_be_visible()
    expect(lab.page.locator("[data-agent-kernel-pending='1']")).to_have_count(1)
    lab.screenshot("announced")
    toast.get_by_role("button", name="Show").click()
    expect(lab.approval(0)).to_be_in_viewport()
    lab.answer(0, "Allow once")
    expect(lab.page.locator("[data-agent-kernel-pending]")).to_have_count(0)
    expect(lab.turn(0)).to_contain_text("Done.")
