"""``%agent compact``, ``context`` and ``clear`` in a real kernel, from cells and the panel."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agent_kernel import wire
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.vocabulary import RunEnd
from tests.support.kernels import Notebook, kernel

pytestmark = pytest.mark.kernel


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    server.script(
        [
            {"contains": "no longer fits and will", "reply": "<summary>We said hello.</summary>"},
            {"contains": "hello", "reply": "Hello to you."},
            {"contains": "go on", "reply": "Going on."},
        ]
    )
    yield server
    server.stop()


@pytest.fixture
async def notebook(tmp_path: Path, server: ScriptedServer) -> AsyncIterator[Notebook]:
    env = {**server.environment, "MPLCONFIGDIR": os.environ["MPLCONFIGDIR"]}
    env["JPY_SESSION_NAME"] = str(tmp_path / "notebook.ipynb")
    async with kernel(tmp_path, python=sys.executable, env=env) as notebook:
        yield notebook


async def ran(notebook: Notebook, source: str) -> str:
    cell = notebook.add(source)
    await notebook.run(cell)
    return notebook.text(cell)


async def command(notebook: Notebook, name: str, args: str = "") -> str:
    found = await notebook.page.request("command", wire.CommandParams(name=name, args=args))
    return str(found["text"])


async def test_the_conversation_is_summarised_and_goes_on(
    notebook: Notebook, server: ScriptedServer
) -> None:
    await notebook.run(notebook.agent("hello"))
    meter = await ran(notebook, "%agent context")
    assert "Your prompts" in meter
    assert "tokens that" in meter
    assert (await ran(notebook, "%agent compact the greeting")).startswith("Summarised: ")
    asked = server.requests[-1]["messages"][-1]["content"][-1]["text"]
    assert asked.endswith("the greeting")
    await notebook.run(notebook.agent("go on"))
    sent = str(server.requests[-1]["messages"])
    assert "We said hello." in sent
    assert "Hello to you." not in sent
    # The panel uses the same table; there a summary is a run that it shows.
    assert "tokens that" in await command(notebook, "context")
    since = notebook.mark()
    params = wire.CommandParams(name="compact", args="")
    found = await notebook.page.request("command", params)
    finished = await notebook.finished(since)
    assert finished.run_id == found["run_id"]
    assert finished.text.startswith("Summarised: ")


async def test_a_summary_asked_for_in_the_panel_can_be_stopped_there(
    notebook: Notebook, server: ScriptedServer
) -> None:
    await notebook.run(notebook.agent("hello"))
    step = {"wait_for": "held", "blocks": [{"text": "<summary>Late.</summary>"}]}
    server.script([{"contains": "no longer fits and will", "steps": [step]}])
    since = notebook.mark()
    await notebook.page.request("command", wire.CommandParams(name="compact", args=""))
    await asyncio.to_thread(server.reached, "held")
    assert "A run is on" in await command(notebook, "compact")
    await notebook.page.request("stop", wire.StopParams())
    finished = await notebook.finished(since)
    server.release("held")
    assert finished.end is RunEnd.ABORTED_STREAMING
    await notebook.run(notebook.agent("go on"))
    assert "Hello to you." in str(server.requests[-1]["messages"])


async def test_clear_begins_another_conversation_and_says_how_to_get_back(
    notebook: Notebook, server: ScriptedServer
) -> None:
    await notebook.run(notebook.agent("hello"))
    text = await ran(notebook, "%agent clear")
    assert text.startswith("Cleared")
    await notebook.run(notebook.agent("go on"))
    assert "hello" not in str(server.requests[-1]["messages"]).lower()
    back = next(line for line in text.splitlines() if line.startswith("%agent resume"))
    await ran(notebook, back.partition(" brings")[0])
    await notebook.run(notebook.agent("go on"))
    assert "Hello to you." in str(server.requests[-1]["messages"])
