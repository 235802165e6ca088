"""Scripts for the agent of the browser tests, and what a person sees and presses of it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, expect

from agent_kernel.model.scripted import ScriptedServer
from tests.browser.lab import Lab


def ask(prompt: str) -> str:
    """The source of an agent's cell."""
    return f"%%agent\n{prompt}"


def call(tool: str, **input: Any) -> dict[str, Any]:
    """A call of a tool, as scripts have it."""
    return {"tool": tool, "input": input}


def python(code: str) -> dict[str, Any]:
    return call("Python", code=code)


def insert(source: str, **more: Any) -> dict[str, Any]:
    return call("NotebookEdit", edit_mode="insert", new_source=source, **more)


def gate(name: str) -> dict[str, Any]:
    """The reply waits here until the test says ``model.release(name)``."""
    return {"wait_for": name}


def rule(prompt: str, *steps: Any) -> dict[str, Any]:
    """Replies to a prompt, one per step: a text, a call, or a list of parts."""
    made = []
    for step in steps:
        parts = step if isinstance(step, list) else [step]
        made.append([{"text": part} if isinstance(part, str) else part for part in parts])
    return {"contains": prompt, "steps": made}


def questions(where: Locator) -> Locator:
    """The open questions in a turn, a cell or the panel."""
    return where.get_by_role("alertdialog")


def answer(where: Locator, button: str) -> None:
    """Press a button of the only open question there."""
    questions(where).get_by_role("button", name=button, exact=True).click()


def ended(turn: Locator, end: str = "completed") -> None:
    """Wait for a turn to end, and in this way."""
    expect(turn).to_have_attribute("data-end", end)


def run(lab: Lab, index: int, end: str = "completed") -> Locator:
    """Run an agent's cell that asks nothing, to its end."""
    lab.run(index)
    ended(lab.turn(index), end)
    return lab.turn(index)


def unfold(where: Locator) -> None:
    """Open everything that opens."""
    closed = where.locator(".ak-fold-button[aria-expanded=false]")
    while closed.count():
        closed.first.click()


def interrupt(lab: Lab) -> None:
    """The stop button of the notebook's toolbar."""
    lab.notebook.get_by_role("button", name="Interrupt the kernel").click()


def composer(panel: Locator) -> Locator:
    return panel.get_by_role("combobox", name="Message to the agent")


def prompt(panel: Locator, text: str) -> None:
    """Type into the panel and press Enter."""
    composer(panel).fill(text)
    composer(panel).press("Enter")


def outputs(lab: Lab, index: int) -> Locator:
    """The single outputs of a cell."""
    return lab.cell(index).locator(".jp-OutputArea-output")


def printed(lab: Lab, index: int) -> Locator:
    """What a cell's code printed; the turn beside it shows code that names the same words."""
    return lab.cell(index).locator("[data-mime-type='application/vnd.jupyter.stdout']")


def results(model: ScriptedServer) -> list[dict[str, Any]]:
    """The last message of the newest request: what came out of the calls before it."""
    content: list[dict[str, Any]] = model.requests[-1]["messages"][-1]["content"]
    return content
