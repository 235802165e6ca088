"""The panel and a turn in JupyterLab, light and dark, narrow and wide: pictures to be looked at."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from agent_kernel.model.scripted import ScriptedServer
from tests.browser.agent import (
    answer,
    ask,
    call,
    composer,
    ended,
    insert,
    outputs,
    python,
    questions,
    rule,
    unfold,
)
from tests.browser.lab import Lab, LabServer

# Of an output or the panel, and what JupyterLab's frame takes beside an output then.
WIDTHS = {280: 116, 1400: 180}
HEIGHT = 1800
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
INTRODUCTION = """\
I'll look at the data first, then plot it.

1. `load` the file
2. group by **month**

| month | rows | median price |
|-------|-----:|-------------:|
| 2026-01 | 1,204 | 12.4 |
| 2026-02 | 987 | 13.1 |

```python
monthly = df.groupby("month")["price"].median()
```
"""
CODE = """\
prices = [12.4, 13.1, 11.8, 14.2]  # a line that is longer than a narrow panel is wide
median = sorted(prices)[len(prices) // 2]
print('median', median)
median
"""


def choose_theme(lab: Lab, theme: str) -> None:
    lab.page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })",
        THEMES[theme],
    )
    expect(lab.page.locator("body")).to_have_attribute("data-jp-theme-name", THEMES[theme])
    expect(lab.page.locator("#jupyterlab-splash")).to_have_count(0)
    is_light = str(theme == "light").lower()
    expect(lab.page.locator("body")).to_have_attribute("data-jp-theme-light", is_light)


def wait_for_width(part: Locator, width: int) -> None:
    """About: a scroll bar may come or go."""
    part.page.wait_for_function(
        "([node, width]) => Math.abs(node.getBoundingClientRect().width - width) < 20",
        arg=[part.element_handle(), width],
    )


def drag_panel(lab: Lab, panel: Locator, width: int) -> None:
    """Draw the panel's edge with the mouse."""
    box = panel.bounding_box()
    assert box is not None
    middle = box["y"] + 400
    lab.page.mouse.move(box["x"] - 2, middle)
    lab.page.mouse.down()
    lab.page.mouse.move(box["x"] - 2 + box["width"] - width, middle, steps=4)
    lab.page.mouse.up()
    wait_for_width(panel, width)


def fits(part: Locator) -> None:
    """Nothing of a part stands out at its side; what is wide scrolls in a box of its own."""
    outside = part.evaluate(
        """part => {
          const { left, right } = part.getBoundingClientRect();
          const scrolls = node => node !== part &&
            (getComputedStyle(node).overflowX !== 'visible' || scrolls(node.parentElement));
          return [...part.querySelectorAll('*')]
            .filter(node => !node.closest('.ak-sr') && !scrolls(node.parentElement))
            .filter(node => {
              const box = node.getBoundingClientRect();
              return box.width > 0 && (box.left < left - 1 || box.right > right + 1);
            })
            .map(node => node.className || node.tagName);
        }"""
    )
    assert outside == []


def test_panel_and_turn_look_right_in_both_themes_narrow_and_wide(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    model.script(
        [
            rule(
                "look at the prices",
                [{"thinking": "The file is small; reading it whole is fine."}, INTRODUCTION],
            ),
            rule(
                "work on the prices",
                [INTRODUCTION, call("Read", file_path="prices.csv"), python(CODE)],
                [insert("import matplotlib.pyplot as plt\nplt.plot(prices);\n")],
                [call("Read", file_path="nothing.csv"), "The median is **13.1**."],
                "Next I would look at the outliers.",
            ),
        ]
    )
    (lab_server.root / "prices.csv").write_text("month,price\n2026-01,12.4\n2026-02,13.1\n")
    lab_server.write_notebook("pictures.ipynb", [ask("work on the prices")])
    lab.open("pictures.ipynb")
    lab.page.wait_for_function("window.jupyterapp.restored.then(() => true)")
    lab.page.locator(".jp-SideBar.jp-mod-left [data-id='filebrowser']").click()
    expect(lab.page.locator("#jp-left-stack")).to_be_hidden()
    lab.run(0)
    turn = lab.turn(0)
    expect(questions(turn)).to_be_visible()
    panel = lab.page.locator("#agent-kernel-panel")
    for state in ("asks", "done"):
        if state == "done":
            answer(turn, "Allow once")
            expect(questions(turn)).to_contain_text("plt.plot")
            answer(turn, "Deny")
            ended(turn)
            unfold(turn)
        for theme in THEMES:
            choose_theme(lab, theme)
            for width, beside in WIDTHS.items():
                lab.page.set_viewport_size({"width": width + beside, "height": HEIGHT})
                wait_for_width(outputs(lab, 0).first, width)
                fits(turn)
                lab.screenshot(f"turn-{state}-{theme}-{width}")
        lab.page.set_viewport_size({"width": 1800, "height": HEIGHT})
        lab.open_panel()
        expect(composer(panel)).to_be_focused()
        lab.page.wait_for_function(
            "panel => panel.getBoundingClientRect().right > 1700", arg=panel.element_handle()
        )
        for width in WIDTHS:
            drag_panel(lab, panel, width)
            for theme in THEMES:
                choose_theme(lab, theme)
                fits(panel)
                lab.screenshot(f"panel-{state}-{theme}-{width}")
        lab.page.locator(".jp-SideBar.jp-mod-right [data-id='agent-kernel-panel']").click()
        expect(panel).to_be_hidden()
