"""A conversation outlives its kernel, even one that is killed; the notebook finds it again."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_kernel import wire, wire_sessions
from agent_kernel.errors import WireError
from agent_kernel.events import RunFinished, RunStarted, TextDelta, ToolFinished, UsageReported
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.vocabulary import RunEnd
from tests.support.kernels import Notebook, kernel

pytestmark = pytest.mark.kernel


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    server.script(
        [
            {"contains": "hello", "reply": "Hello to you."},
            {"contains": "go on", "reply": "Going on."},
            {
                "contains": "work",
                "steps": [
                    [{"text": "I look."}, {"tool": "Variables", "id": "look", "input": {}}],
                    [{"text": "Half of "}, {"wait_for": "never"}],
                ],
            },
        ]
    )
    yield server
    server.stop()


@asynccontextmanager
async def start(folder: Path, server: ScriptedServer, **options: Any) -> AsyncIterator[Notebook]:
    env = {**server.environment, "MPLCONFIGDIR": os.environ["MPLCONFIGDIR"]}
    env["JPY_SESSION_NAME"] = str(folder / "notebook.ipynb")
    async with kernel(folder, python=sys.executable, env=env, **options) as notebook:
        yield notebook


async def ask(notebook: Notebook, text: str) -> RunFinished:
    since = notebook.mark()
    await notebook.page.request("prompt", wire.PromptParams(text=text))
    return await notebook.finished(since)


async def snapshot(notebook: Notebook) -> wire.Snapshot:
    return wire.Snapshot.model_validate(
        await notebook.page.request("snapshot", wire.SnapshotParams())
    )


async def listed(notebook: Notebook) -> wire_sessions.SessionsResult:
    return wire_sessions.SessionsResult.model_validate(await notebook.page.request("sessions"))


async def resume(notebook: Notebook, session_id: str | None = None) -> wire_sessions.ResumeResult:
    params = wire_sessions.ResumeParams(session_id=session_id)
    return wire_sessions.ResumeResult.model_validate(await notebook.page.request("resume", params))


def pairs(body: dict[str, Any]) -> list[tuple[str, str]]:
    """The calls of a request with the ids of the results right behind them."""
    found = []
    messages = body["messages"]
    for message, after in zip(messages, [*messages[1:], {"content": []}], strict=True):
        calls = [b["id"] for b in message["content"] if b["type"] == "tool_use"]
        results = [b["tool_use_id"] for b in after["content"] if b["type"] == "tool_result"]
        found += list(zip(calls, results, strict=True))
    return found


async def test_a_killed_kernel_loses_nothing_that_the_page_had_been_told(
    server: ScriptedServer, tmp_path: Path
) -> None:
    async with start(tmp_path, server) as notebook:
        session_id = notebook.page.session_id
        await ask(notebook, "hello")
        since = notebook.mark()
        await notebook.page.request("prompt", wire.PromptParams(text="work"))
        await notebook.event(UsageReported, since=since)
        await notebook.event(ToolFinished, since=since)
        await notebook.event(TextDelta, lambda event: "Half" in event.text, since=since)
        process = notebook.manager.provisioner.process  # type: ignore[union-attr]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        notebook.page.on_comm_close()
        notebook.page.comm_subshell = None

    async with start(tmp_path, server, connect=False) as notebook:
        notebook.page.document.name_session(session_id)
        hello = await notebook.page.open()
        assert hello.snapshot.runs == ()
        assert hello.offered is not None
        assert (hello.offered.session_id, hello.offered.title) == (session_id, "hello")
        sessions = await listed(notebook)
        assert (sessions.own, sessions.current) == (session_id, hello.session_id)

        result = await resume(notebook)
        assert result.session_id == session_id
        assert "2 turns so far" in result.text
        await notebook.until(lambda: notebook.page.sessions_heard == [session_id])
        one, two = (await snapshot(notebook)).runs
        assert one.end is RunEnd.COMPLETED
        assert two.end is RunEnd.ABORTED_TOOLS
        kinds = [(event.type, getattr(event, "text", "")) for event in two.events]
        assert ("text_delta", "I look.") in kinds
        assert [e.status for e in two.events if isinstance(e, ToolFinished)] == ["ok"]

        assert (await ask(notebook, "go on")).text == "Going on."
        body = server.requests[-1]
        assert pairs(body) == [("look", "look")]
        roles = [message["role"] for message in body["messages"]]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
        again = await notebook.page.open()
        assert again.offered is None


async def test_the_cells_and_the_table_of_commands_resume_too(
    server: ScriptedServer, tmp_path: Path
) -> None:
    async with start(tmp_path, server) as notebook:
        first = notebook.page.session_id
        await ask(notebook, "hello")
        assert first in await notebook.code("%agent sessions")
        assert "names no conversation" in await notebook.code("%agent resume")
        text = await notebook.code("%agent fork")
        assert f"{first} stays as it is" in text
        copied = (await listed(notebook)).current
        assert copied != first
        await ask(notebook, "go on")
        assert "A new conversation" in await notebook.code("%agent new")
        assert f"Going on with {copied}: hello" in await notebook.code("%agent continue")
        assert len((await snapshot(notebook)).runs) == 2
        # Run again, the cell finds the conversation where it left it.
        for _ in range(2):
            reply = await notebook.run(notebook.add(f"%%agent --resume={first[:9]}\nhello"))
            assert reply["status"] == "ok"
            assert (await listed(notebook)).current == first
        assert len((await snapshot(notebook)).runs) == 3
        assert "3 turns written" in await notebook.code("%agent export talk.md")
        exported = (tmp_path / "talk.md").read_text("utf-8")
        assert exported.count("Hello to you.") == 3
        assert "exists already" in await _refused(notebook, "%agent export talk.md")
        assert "no session 's_nothing'" in await notebook.code("%agent resume s_nothing")
        reply = await notebook.run(notebook.add("%%agent --resume=s_nothing\nhello"))
        assert (reply["status"], reply["ename"]) == ("error", "UsageError")
        with pytest.raises(WireError, match="no session 's_nothing'"):
            await resume(notebook, "s_nothing")


async def _refused(notebook: Notebook, source: str) -> str:
    reply = await notebook.run(notebook.add(source))
    assert reply["status"] == "error"
    return str(reply["evalue"])


async def test_other_pages_hear_that_another_conversation_is_on(
    server: ScriptedServer, tmp_path: Path
) -> None:
    async with start(tmp_path, server) as notebook:
        await ask(notebook, "hello")
        first = notebook.page.session_id
        heard = notebook.page.sessions_heard
        await notebook.code("%agent new")
        await notebook.until(lambda: heard)
        assert heard == [(await listed(notebook)).current]
        await resume(notebook, first)
        await notebook.until(lambda: len(heard) == 2)
        assert heard[1] == first


async def test_a_copied_notebook_goes_on_with_a_copy_of_its_conversation(
    server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "notebook.ipynb").write_text("{}")
    async with start(tmp_path, server) as notebook:
        original = notebook.page.session_id
        await ask(notebook, "hello")
    (tmp_path / "copy.ipynb").write_text("{}")
    env = {**server.environment, "JPY_SESSION_NAME": str(tmp_path / "copy.ipynb")}
    async with kernel(
        tmp_path, python=sys.executable, env=env, connect=False, path="copy.ipynb"
    ) as notebook:
        notebook.page.document.name_session(original)
        await notebook.page.open()
        result = await resume(notebook)
        assert result.session_id != original
        assert "this notebook is a copy" in result.text
        (run,) = (await snapshot(notebook)).runs
        started = run.events[0]
        assert isinstance(started, RunStarted)
        assert started.prompt == "hello"


async def test_without_a_page_the_file_names_the_conversation(
    server: ScriptedServer, tmp_path: Path
) -> None:
    async with start(tmp_path, server) as notebook:
        session_id = notebook.page.session_id
        await ask(notebook, "hello")
    text = f'{{"metadata": {{"agent_kernel": {{"session_id": "{session_id}"}}}}}}'
    (tmp_path / "notebook.ipynb").write_text(text)
    async with start(tmp_path, server, connect=False) as notebook:
        assert f"Going on with {session_id}" in await notebook.code("%agent resume")
