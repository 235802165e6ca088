"""A notebook names its conversation when it is saved, and a new kernel offers to go on with it."""

from __future__ import annotations

from playwright.sync_api import expect

from agent_kernel.model.scripted import ScriptedServer
from tests.browser.agent import ask, ended, rule
from tests.browser.lab import Lab, LabServer


def test_a_saved_notebook_is_offered_its_conversation_after_the_kernel_is_gone(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    model.script([rule("keep this", ["Kept."]), rule("go on then", ["Going on."])])
    lab_server.write_notebook("sessions.ipynb", [ask("keep this"), "%agent new"])
    lab.open("sessions.ipynb")
    panel = lab.open_panel()
    lab.run(0)
    ended(lab.turn(0))
    lab.save()
    named = lab_server.read_notebook("sessions.ipynb").metadata["agent_kernel"]["session_id"]
    assert named.startswith("s_")

    lab_server.stop_kernels()
    lab.open("sessions.ipynb")
    panel = lab.open_panel()
    offer = panel.locator(".ak-offer")
    expect(offer).to_contain_text("keep this")
    expect(panel.locator(".ak-turn")).to_have_count(0)
    lab.screenshot("offered")
    offer.get_by_role("button", name="Go on with it").click()
    expect(panel.locator(".ak-turn")).to_contain_text("Kept.")
    expect(offer).to_have_count(0)

    # What a cell does to the conversation, the panel hears.
    lab.run(1)
    expect(panel.locator(".ak-turn")).to_have_count(0)
