"""Front ends that know nothing of us: nbclient, a console, a page that draws widgets."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.view.widget import is_built
from tests.support.kernels import kernel

pytestmark = pytest.mark.kernel

WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    call = {"tool": "Python", "input": {"code": "1 + 1"}}
    server.script(
        [
            {"contains": "compute", "steps": [[call], "I could not."]},
            {"contains": "fail", "steps": [{"fault": {"status": 401, "times": 99}}]},
            {"matches": "[\\s\\S]*", "reply": "Plain **answer**."},
        ]
    )
    yield server
    server.stop()


def executed(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, folder: Path, *sources: str
) -> NotebookNode:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    cells = [new_code_cell("%load_ext agent_kernel"), *map(new_code_cell, sources)]
    notebook: NotebookNode = new_notebook(cells=cells)
    client = NotebookClient(notebook, timeout=60, kernel_name="python3")
    client.execute(cwd=str(folder))
    return notebook


def test_nbclient_runs_a_turn_as_text_and_a_question_is_a_denial_not_a_hang(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = executed(server, monkeypatch, tmp_path, "%%agent\nhello", "%%agent\ncompute it")
    first, second = ("".join(o["text"] for o in cell["outputs"]) for cell in made.cells[1:])
    assert "Plain **answer**." in first
    assert "denied" in second
    assert "I could not." in second
    tools = {tool["name"] for tool in server.requests[-1]["tools"]}
    assert "Python" in tools
    assert "RunCell" not in tools


def test_a_turn_that_fails_stops_nbclient(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(CellExecutionError, match="model_error: The model could not answer"):
        executed(server, monkeypatch, tmp_path, "%%agent\nfail", "1")


@pytest.mark.skipif(not is_built(), reason="`make extension` builds the widget's page half")
async def test_where_widgets_are_drawn_the_widget_is_replaced_by_its_markdown(
    server: ScriptedServer, tmp_path: Path
) -> None:
    env = {**server.environment, "JPY_SESSION_NAME": str(tmp_path / "a.ipynb")}
    messages: list[dict[str, Any]] = []
    async with kernel(
        tmp_path, python=sys.executable, env=env, agent=False, connect=False
    ) as notebook:
        await notebook.code("%load_ext agent_kernel")
        reply = await notebook.page.link.execute("%%agent\nhello", on_message=messages.append)
    assert reply["status"] == "ok"
    shown = [m for m in messages if m["msg_type"] in {"display_data", "update_display_data"}]
    assert [m["msg_type"] for m in shown] == ["display_data", "update_display_data"]
    first, last = (m["content"]["data"] for m in shown)
    assert WIDGET in first
    assert "text/markdown" in first
    assert WIDGET not in last
    assert "Plain **answer**." in last["text/markdown"]
    assert server.environment["ANTHROPIC_API_KEY"] not in str(messages)
