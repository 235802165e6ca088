"""A conversation goes on in another process: what is remembered, what is shown, who may write."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_kernel.errors import StoreError
from agent_kernel.events import Notice, RunFinished, RunStarted, ToolFinished
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.system import RandomIds
from agent_kernel.testing.store import MemoryStore
from agent_kernel.testing.tools import FakeGate, FakeTool
from agent_kernel.vocabulary import RunEnd
from tests.support.session import Maker, run

SCRIPT = [
    {"contains": "first", "reply": "One."},
    {"contains": "second", "reply": "Two."},
    {"contains": "other", "reply": "Three."},
    {"contains": "use it", "steps": [[{"tool": "W", "id": "w1", "input": {}}], "Used."]},
]


@pytest.fixture(autouse=True)
def script(model_server: ScriptedServer) -> None:
    model_server.script(SCRIPT)


def said(body: dict[str, Any]) -> list[str]:
    """The texts of a request that are no reminders."""
    texts = [
        block.get("text", block["type"])
        for message in body["messages"]
        for block in message["content"]
    ]
    return [text for text in texts if not text.startswith("<system-reminder>")]


def fresh(make: Maker, **parts: Any) -> Any:
    """A session with ids of its own, as another process has them."""
    return make(ids=RandomIds(), **{"tools": (), **parts})


async def test_resume_brings_back_the_messages_and_the_turns_as_they_were_shown(
    make: Maker, model_server: ScriptedServer
) -> None:
    one = fresh(make, tools=(FakeTool("W"),), gate=FakeGate())
    await run(one, "first")
    await run(one, "use it")
    shown = one.snapshot().runs
    await one.close()

    two = fresh(make)
    assert two.snapshot().runs == ()
    assert two.resume(one.session_id) == one.session_id
    again = two.snapshot()
    assert again.session_id == one.session_id
    assert [run.run_id for run in again.runs] == [run.run_id for run in shown]
    assert [run.end for run in again.runs] == [RunEnd.COMPLETED, RunEnd.COMPLETED]
    assert [e for e in again.runs[1].events if isinstance(e, ToolFinished)] == [
        e for e in shown[1].events if isinstance(e, ToolFinished)
    ]
    assert two.run_snapshot(shown[0].run_id) == again.runs[0]
    await run(two, "second")
    assert said(model_server.requests[-1]) == [
        "first", "One.", "use it", "tool_use", "tool_result", "Used.", "second",
    ]  # fmt: skip
    assert len(two.snapshot().runs) == 3


async def test_a_session_made_for_an_id_shows_its_turns_at_once(make: Maker) -> None:
    one = fresh(make)
    await run(one, "first")
    await one.close()
    two = fresh(make, session_id=one.session_id)
    assert [run.events[0] for run in two.snapshot().runs] == [
        run.events[0] for run in one.snapshot().runs
    ]


async def test_continue_takes_the_newest_and_an_id_may_be_cut_short(make: Maker) -> None:
    one = fresh(make)
    await run(one, "first")
    await one.close()
    two = fresh(make)
    assert two.resume() == one.session_id
    two.new()
    assert two.resume(one.session_id[:8]) == one.session_id
    with pytest.raises(StoreError, match="no session 's_nowhere'"):
        two.resume("s_nowhere")
    with pytest.raises(StoreError, match="no session"):
        two.resume("../../etc/passwd")
    assert two.session_id == one.session_id


async def test_without_another_session_there_is_nothing_to_continue(make: Maker) -> None:
    session = fresh(make)
    with pytest.raises(StoreError, match="no other session"):
        session.resume()
    await run(session, "first")
    with pytest.raises(StoreError, match="no other session"):
        session.resume()


async def test_a_session_in_use_is_resumed_as_a_copy_with_a_notice(
    make: Maker, model_server: ScriptedServer
) -> None:
    one = fresh(make)
    await run(one, "first")
    two = fresh(make)
    copied = two.resume(one.session_id)
    assert copied != one.session_id
    assert len(two.snapshot().runs) == 1
    events = await run(two, "second")
    assert [e.code for e in events if isinstance(e, Notice)] == ["session_opened"]
    assert said(model_server.requests[-1]) == ["first", "One.", "second"]
    await run(one, "other")
    assert said(model_server.requests[-1]) == ["first", "One.", "other"]


async def test_a_fork_goes_on_by_itself_and_leaves_the_original_alone(
    make: Maker, model_server: ScriptedServer
) -> None:
    session = fresh(make)
    await run(session, "first")
    original = session.session_id
    copied = session.fork()
    assert copied != original
    await run(session, "second")
    assert [run.session_id for run in session.snapshot().runs] == [copied, copied]
    assert session.resume(original) == original
    await run(session, "other")
    assert said(model_server.requests[-1]) == ["first", "One.", "other"]
    titles = {summary.session_id: summary.title for summary in session.sessions()}
    assert titles == {original: "first", copied: "first"}


async def test_a_session_that_ended_in_mid_run_is_told_from_its_messages(make: Maker) -> None:
    one = fresh(make, tools=(FakeTool("W"),), gate=FakeGate())
    await run(one, "first")
    await run(one, "use it")
    store = one.parts.store
    path = store.path(one.session_id)
    await one.close()
    # As if the kernel had been killed after the call, before its result.
    lines = path.read_bytes().splitlines(keepends=True)
    called = next(number for number, line in enumerate(lines) if b'"tool_use"' in line)
    path.write_bytes(b"".join(lines[: called + 1]))
    runs = path.with_suffix("") / "runs.jsonl"
    runs.write_bytes(runs.read_bytes().splitlines(keepends=True)[0])

    two = fresh(make)
    two.resume(one.session_id)
    kept, told = two.snapshot().runs
    assert kept.end is RunEnd.COMPLETED
    started = told.events[0]
    assert isinstance(started, RunStarted)
    assert started.prompt == "use it"
    assert [e.status for e in told.events if isinstance(e, ToolFinished)] == ["cancelled"]
    last = told.events[-1]
    assert isinstance(last, RunFinished)
    assert (last.end, last.detail) == (RunEnd.ABORTED_TOOLS, "The kernel ended during this turn.")
    assert [event.seq for event in told.events] == list(range(1, told.seq + 1))


async def test_nothing_is_resumed_or_forked_while_a_run_is_on(
    make: Maker, model_server: ScriptedServer
) -> None:
    waits = [[{"text": "Wait. "}, {"wait_for": "never"}]]
    model_server.script([*SCRIPT, {"contains": "go", "steps": waits}])
    session = fresh(make)
    await run(session, "first")
    task = asyncio.create_task(run(session, "go"))
    await asyncio.to_thread(model_server.reached, "never")
    for change in (session.resume, session.fork):
        with pytest.raises(RuntimeError, match="A run is on"):
            change()
    await session.stop()
    await task


async def test_the_mode_of_a_resumed_session_is_the_stricter_one(make: Maker) -> None:
    one = fresh(make)
    await run(one, "first", mode="plan")
    planned = one.session_id
    one.new()
    await run(one, "second", mode="bypassPermissions")
    loose = one.session_id
    await one.close()
    two = fresh(make)
    two.resume(loose)
    assert two.mode == "default"
    two.resume(planned)
    assert two.mode == "plan"


async def test_a_finished_run_is_kept_as_it_was_shown(make: Maker) -> None:
    store = MemoryStore()
    session = fresh(make, store=store)
    await run(session, "first")
    assert store.kept[session.session_id] == list(session.snapshot().runs)
