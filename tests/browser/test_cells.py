"""Code and cells that the agent runs: their outputs land where they belong."""

from __future__ import annotations

from playwright.sync_api import expect

from agent_kernel.model.scripted import ScriptedServer
from tests.browser.agent import answer, ask, call, ended, outputs, printed, python, results, rule
from tests.browser.lab import Lab, LabServer

DRAWS = "import matplotlib.pyplot as plt\nplt.plot([3, 1, 2]);\n"


def test_a_figure_drawn_by_agent_code_stays_in_its_cell_although_buttons_are_clicked(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    # The code stands still with an open figure until the test has written the file.
    waits = "import pathlib, time\nprint('drawn')\nwhile not pathlib.Path('go').exists():\n"
    model.script(
        [rule("draw slowly", python(DRAWS + waits + "    time.sleep(0.05)\n"), "There it is.")]
    )
    lab_server.write_notebook("figure.ipynb", [ask("draw slowly"), "'next'"])
    lab.open("figure.ipynb")
    panel = lab.open_panel()
    lab.run(0)
    answer(panel, "Allow once")
    expect(printed(lab, 0)).to_have_text("drawn\n")
    # Each of these is a message to the kernel while the figure is open.
    mode = panel.get_by_label("Mode")
    for chosen in ("plan", "acceptEdits", "default"):
        mode.select_option(chosen)
        expect(mode).to_have_value(chosen)
    panel.get_by_role("combobox", name="Message to the agent").fill("look at @")
    (lab_server.root / "go").write_text("")
    ended(lab.turn(0))
    expect(lab.cell(0).locator("img")).to_have_count(1)
    expect(lab.cell(0).locator(".jp-OutputArea-output.jp-RenderedImage img")).to_be_visible()
    kinds = [block["type"] for block in results(model)[0]["content"]]
    assert "image" in kinds
    lab.run(1)
    expect(outputs(lab, 1)).to_have_text("'next'")


def test_cells_run_by_the_agent_get_their_outputs_count_and_error(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    model.script(
        [
            rule(
                "run the two cells below",
                call("RunCell", cell_id="c1"),
                call("RunCell", cell_id="c2"),
                "One ran, one failed.",
            )
        ]
    )
    lab_server.write_notebook(
        "cells.ipynb",
        [
            ask("run the two cells below"),
            f"import sys\nprint('to stdout')\nprint('to stderr', file=sys.stderr)\n{DRAWS}40 + 2",
            "before = 1\nundefined_name",
            "before",
        ],
    )
    lab.open("cells.ipynb")
    lab.run(0)
    answer(lab.turn(0), "Allow for this session")
    ended(lab.turn(0))
    expect(lab.turn(0)).to_contain_text("One ran, one failed.")
    expect(printed(lab, 1)).to_have_text("to stdout\n")
    expect(lab.cell(1).locator(".jp-RenderedImage img")).to_have_count(1)
    expect(lab.cell(2)).to_contain_text("NameError")
    lab.screenshot("ran")
    kinds = [
        [out.get("name") or out.get("ename") or out["output_type"] for out in cell["outputs"]]
        for cell in lab.cells()[:3]
    ]
    assert kinds == [
        ["display_data"],
        ["stdout", "stderr", "execute_result", "display_data"],
        ["NameError"],
    ]
    first, second = (cell["execution_count"] for cell in lab.cells()[1:3])
    assert second == first + 1
    expect(lab.prompt(1)).to_have_text(f"[{first}]:")
    expect(lab.prompt(2)).to_have_text(f"[{second}]:")
    expect(lab.prompt(0)).to_have_text(f"[{second + 1}]:")
    seen = [block["type"] for block in model.requests[-2]["messages"][-1]["content"][0]["content"]]
    assert "image" in seen
    assert results(model)[0]["is_error"] is True
    lab.run(3)
    expect(outputs(lab, 3)).to_have_text("1")
    expect(lab.prompt(3)).to_have_text(f"[{second + 2}]:")
