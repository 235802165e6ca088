"""A turn in a saved notebook, where no kernel runs."""

from __future__ import annotations

import json
import subprocess
import sys

from playwright.sync_api import expect

from agent_kernel.model.scripted import ScriptedServer
from tests.browser.agent import answer, ask, ended, python, questions, rule
from tests.browser.lab import Lab, LabServer


def without_kernel(server: LabServer, name: str, copy: str) -> None:
    """A copy that says nothing of a kernel, as it might come from somebody else: not trusted."""
    notebook = json.loads((server.root / name).read_text("utf-8"))
    del notebook["metadata"]["kernelspec"]
    notebook["cells"][-1]["source"] = "# a copy"
    (server.root / copy).write_text(json.dumps(notebook), "utf-8")


def test_a_saved_turn_is_shown_without_a_kernel_and_its_markdown_in_html(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    model.script(
        [
            rule(
                "to be saved and shown",
                ["I try **two** things.", python("kept = 'first call'\nkept")],
                [python("never = 'second call'")],
                "One ran; the other you *denied*.",
            )
        ]
    )
    lab_server.write_notebook("saved.ipynb", [ask("to be saved and shown"), "kept"])
    lab.open("saved.ipynb")
    lab.run(0)
    answer(lab.turn(0), "Allow once")
    expect(lab.turn(0)).to_contain_text("Allowed once by you")
    expect(questions(lab.turn(0))).to_contain_text("second call")
    answer(lab.turn(0), "Deny")
    ended(lab.turn(0))
    lab.save()

    without_kernel(lab_server, "saved.ipynb", "copy.ipynb")
    lab.page.goto(f"{lab_server.url}/lab/tree/copy.ipynb?reset")
    lab.page.get_by_role("dialog").get_by_role("button", name="No Kernel").click()
    turn = lab.turn(0)
    ended(turn)
    for text in ("I try two things.", "One ran; the other you denied.", "Denied by you"):
        expect(turn).to_contain_text(text)
    expect(turn.locator("strong", has_text="two")).to_be_visible()
    expect(questions(turn)).to_have_count(0)
    expect(turn.get_by_role("button", name="Continue")).to_have_count(0)
    turn.get_by_role("button", name="Run Python").first.click()
    expect(turn).to_contain_text("kept = 'first call'")
    lab.screenshot("without-kernel")

    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "html", "saved.ipynb"],
        cwd=lab_server.root,
        env=lab_server.environment,
        check=True,
        capture_output=True,
    )
    lab.page.goto((lab_server.root / "saved.html").as_uri())
    body = lab.page.locator("body")
    for text in ("I try two things.", "One ran; the other you denied.", "second call"):
        expect(body).to_contain_text(text)
    expect(body.locator("strong", has_text="two")).to_be_visible()
    lab.screenshot("nbconvert")
