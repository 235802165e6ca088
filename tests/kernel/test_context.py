"""``%agent compact``, ``context`` and ``clear`` in a real kernel, from cells and the panel."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agent_kernel import wire
from agent_kernel.model.scripted import ScriptedServer
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
    # The panel uses the same table.
    assert (await command(notebook, "compact")).startswith("Summarised: ")
    assert "tokens that" in await command(notebook, "context")


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
