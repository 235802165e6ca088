"""The stop button ends a run wherever it is, and the kernel is as good as before."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from agent_kernel.model.scripted import ScriptedServer
from tests.browser.agent import (
    answer,
    ask,
    call,
    ended,
    gate,
    interrupt,
    outputs,
    printed,
    python,
    questions,
    rule,
    run,
)
from tests.browser.lab import Lab, LabServer

SLEEPS = "import time\nprint('asleep')\ntime.sleep(600)"
CHILD = "import subprocess\nchild = subprocess.Popen(['sleep', '600'])\nprint('child', child.pid)\n"


def stopped(lab: Lab, index: int, end: str) -> None:
    """The turn has ended, and its cell: what is run before that is dropped with a failed cell."""
    ended(lab.turn(index), end)
    expect(lab.prompt(index)).to_have_text(re.compile(r"\[\d+\]:"))


def test_the_stop_button_ends_a_run_in_mid_stream_at_a_question_and_in_every_tool(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    model.script(
        [
            rule("stop me in mid stream", ["Begun. ", gate("never")]),
            rule("stop me while I sleep", python(SLEEPS), "Never said."),
            rule("stop me in a cell", call("RunCell", cell_id="c6"), "Never said."),
            rule("stop me with a child", python(CHILD + "child.wait()"), "Never said."),
            rule("stop me at a question", python("asked = 1"), "Never said."),
            rule("are you well", "Quite well."),
        ]
    )
    lab_server.write_notebook(
        "stop.ipynb",
        [
            ask("stop me in mid stream"),
            ask("stop me while I sleep"),
            ask("stop me in a cell"),
            ask("stop me with a child"),
            ask("stop me at a question"),
            ask("are you well"),
            SLEEPS,
            "child.poll() is not None, 'asked' in dir()",
        ],
    )
    lab.open("stop.ipynb")

    lab.run(0)
    expect(lab.turn(0)).to_contain_text("Begun.")
    interrupt(lab)
    stopped(lab, 0, "aborted_streaming")
    expect(lab.turn(0)).to_contain_text("Stopped by you")

    lab.run(1)
    answer(lab.turn(1), "Allow once")
    expect(printed(lab, 1)).to_have_text("asleep\n")
    interrupt(lab)
    stopped(lab, 1, "aborted_tools")

    lab.run(2)
    answer(lab.turn(2), "Allow once")
    expect(printed(lab, 6)).to_have_text("asleep\n")
    interrupt(lab)
    stopped(lab, 2, "aborted_tools")
    expect(outputs(lab, 6).last).to_contain_text("KeyboardInterrupt")

    lab.run(3)
    answer(lab.turn(3), "Allow once")
    expect(printed(lab, 3)).to_contain_text("child")
    interrupt(lab)
    stopped(lab, 3, "aborted_tools")

    lab.run(4)
    expect(questions(lab.turn(4))).to_be_visible()
    interrupt(lab)
    stopped(lab, 4, "aborted_tools")
    expect(questions(lab.turn(4))).to_have_count(0)
    expect(lab.turn(4)).to_contain_text("Not answered: the turn was stopped")

    expect(run(lab, 5)).to_contain_text("Quite well.")
    lab.run(7)
    expect(outputs(lab, 7)).to_have_text("(True, False)")


def test_the_panels_stop_ends_a_program_that_code_of_the_agent_waits_for(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    begins = "import os, subprocess\nprint('begun')\n"
    model.script(
        [
            rule("wait for a child", python(begins + "subprocess.run(['sleep', '600'])"), "No."),
            rule("wait for a shell", python(begins + "os.system('sleep 600')"), "No."),
            rule("say that you are well", "Quite well."),
        ]
    )
    lab_server.write_notebook(
        "panelstop.ipynb",
        [ask("wait for a child"), ask("wait for a shell"), ask("say that you are well")],
    )
    lab.open("panelstop.ipynb")
    panel = lab.open_panel()
    for index in range(2):
        lab.run(index)
        answer(panel, "Allow once")
        expect(printed(lab, index)).to_have_text("begun\n")
        panel.locator(".ak-composer").get_by_role("button", name="Stop").click()
        stopped(lab, index, "aborted_tools")
    expect(run(lab, 2)).to_contain_text("Quite well.")
