"""Text of models, tools and files that would like to be markup, a link to a command or a script."""

from __future__ import annotations

import html
import json
from typing import Any

from playwright.sync_api import Locator, expect

from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.wire import TURN_MIME
from tests.browser.agent import answer, ask, ended, python, questions, rule, unfold
from tests.browser.lab import Lab, LabServer

IMAGE = '<img src="x" onerror="window.hacked = 1">'
COMMAND = (
    '<button data-commandlinker-command="notebook:delete-cell" '
    'data-commandlinker-args="{}">Click</button>'
)
SCRIPT = '<script>window.hacked = 2</script><iframe srcdoc="<script>top.hacked = 3</script>">'
LINK = "[a link](javascript:window.hacked=4) and ![](http://127.0.0.1:9/spy.png)"
HOSTILE = f"{IMAGE}\n\n{COMMAND}\n\n{SCRIPT}\n\n{LINK}\n"
NAME = "<img src=x onerror=window.hacked=5>.ipynb"


def unharmed(lab: Lab, where: Locator, cells: list[str]) -> None:
    """Nothing became an element, nothing ran, and what can be clicked does nothing."""
    expect(where).to_contain_text('onerror="window.hacked')
    assert where.locator("[onerror], [data-commandlinker-command], script, iframe").count() == 0
    assert where.locator("a[href^='javascript']").count() == 0
    assert where.locator("img[src^='http']").count() == 0
    for text in ("Click", "a link"):
        for found in where.get_by_text(text, exact=True).all():
            found.click()
    assert lab.page.evaluate("window.hacked") is None
    assert lab.sources() == cells


def test_hostile_text_of_the_model_and_of_its_tools_executes_nothing(
    lab: Lab, lab_server: LabServer, model: ScriptedServer
) -> None:
    code = f"hostile = {HOSTILE!r}\nprint(hostile)\nhostile"
    model.script(
        [rule("be hostile", [{"thinking": HOSTILE}, HOSTILE, python(code)], f"End. {HOSTILE}")]
    )
    cells = [ask("be hostile"), "'last'"]
    lab_server.write_notebook(NAME, cells)
    asked: list[str] = []
    lab.page.on("request", lambda request: asked.append(request.url))
    lab.open(NAME.replace("<", "%3C").replace(">", "%3E"))
    panel = lab.open_panel()
    lab.run(0)
    expect(questions(lab.turn(0))).to_be_visible()
    for view in (lab.turn(0), panel):
        unharmed(lab, view, cells)
    answer(panel, "Allow once")
    ended(lab.turn(0))
    for view in (lab.turn(0), panel.locator(".ak-turn")):
        unfold(view)
        unharmed(lab, view, cells)
    expect(panel).to_contain_text("onerror=window.hacked=5")
    lab.screenshot("hostile")
    assert [url for url in asked if "spy.png" in url] == []

    # The Markdown that other viewers show, drawn by JupyterLab's own renderer.
    lab.save()
    saved = lab_server.read_notebook(NAME)
    turn = saved.cells[0].outputs[0]
    del turn["data"][TURN_MIME]
    (lab_server.root / "markdown.ipynb").write_text(json.dumps(saved), "utf-8")
    lab.open("markdown.ipynb")
    unharmed(lab, lab.cell(0).locator(".jp-RenderedMarkdown"), cells)


def test_a_hostile_turn_in_a_file_executes_nothing_and_its_question_has_no_buttons(
    lab: Lab, lab_server: LabServer
) -> None:
    stamp: dict[str, Any] = {"run_id": "run", "agent_id": "main", "at": 1.0}
    request = {
        "type": "permission_requested", "request_id": HOSTILE, "nonce": "n", "tool_use_id": "t",
        "tool": HOSTILE, "title": HOSTILE, "reason": HOSTILE, "where": HOSTILE,
        "preview": {"kind": "code", "code": HOSTILE, "language": HOSTILE},
        "suggestions": [{"rule": HOSTILE, "destination": "session"}],
    }  # fmt: skip
    tool = {
        "type": "tool_started", "tool_use_id": "t", "tool": HOSTILE, "verb": HOSTILE,
        "subject": HOSTILE, "input": {HOSTILE: HOSTILE}, "preview": None,
    }  # fmt: skip
    output = {"output_type": "display_data", "metadata": {}, "data": {"text/html": HOSTILE}}
    events: list[dict[str, Any]] = [
        {"type": "run_started", "prompt": HOSTILE, "model": HOSTILE, "mode": "default"},
        {"type": "message_started", "message_id": "m", "model": HOSTILE, "turn": 1},
        {"type": "text_delta", "message_id": "m", "index": 0, "text": HOSTILE},
        tool,
        {"type": "tool_progress", "tool_use_id": "t", "text": HOSTILE, "outputs": [output]},
        request,
        {"type": "notice", "level": "warning", "code": HOSTILE, "text": HOSTILE},
        {"type": "no_such_event", "text": HOSTILE},
        {"type": "text_delta", "message_id": 7, "index": "no", "text": {"not": "text"}},
    ]
    data = {
        "version": 1, "run_id": "run", "session_id": HOSTILE, "cell_id": HOSTILE, "seq": 99,
        "end": None,
        "events": [{**stamp, **event, "seq": seq} for seq, event in enumerate(events, 1)],
    }  # fmt: skip
    path = lab_server.write_notebook("file.ipynb", ["'agent'"], kernel="python3")
    notebook = json.loads(path.read_text("utf-8"))
    turn = {TURN_MIME: data, "text/plain": "a turn", "text/markdown": html.escape("a turn")}
    notebook["cells"][0]["outputs"] = [
        {"output_type": "display_data", "metadata": {}, "data": turn}
    ]
    path.write_text(json.dumps(notebook), "utf-8")
    lab.open("file.ipynb")
    unfold(lab.turn(0))
    lab.screenshot("file")
    unharmed(lab, lab.turn(0), ["'agent'"])
    expect(questions(lab.turn(0))).to_have_count(0)
    expect(lab.turn(0).get_by_role("button", name="Allow once")).to_have_count(0)
