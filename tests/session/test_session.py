"""``AgentSession`` as its callers use it: stamped events, one run at a time, what is kept."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from agent_kernel import AgentSession
from agent_kernel.errors import SettingsError
from agent_kernel.events import (
    Event,
    Notice,
    PermissionRequested,
    RunFinished,
    RunStarted,
    TextDelta,
)
from agent_kernel.messages import UserMessage
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.testing.approver import ScriptedApprover
from agent_kernel.testing.store import MemoryStore
from agent_kernel.testing.tools import FakeGate, FakeInput, FakeTool
from agent_kernel.tool_types import ToolContext
from agent_kernel.vocabulary import RunEnd
from tests.support.session import Maker, run


async def test_a_run_is_stamped_in_order_from_started_to_finished(
    make: Maker, model_server: ScriptedServer
) -> None:
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    session = make(tools=())
    events = await run(session, "hi", cell_id="c1", notebook_path="a.ipynb", origin="cell")
    assert [event.type for event in events] == [
        "run_started",
        "message_started",
        "text_delta",
        "usage",
        "run_finished",
    ]
    assert [event.seq for event in events] == [1, 2, 3, 4, 5]
    assert {event.run_id for event in events} == {"run_1"}
    assert {event.at for event in events} == {1_000_000.0}
    first = events[0]
    assert isinstance(first, RunStarted)
    assert (first.cell_id, first.notebook_path, first.origin) == ("c1", "a.ipynb", "cell")
    assert first.offline is False


async def test_the_snapshot_is_what_was_told(make: Maker, model_server: ScriptedServer) -> None:
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    session = make(tools=())
    events = await run(session, "hi")
    snapshot = session.snapshot()
    assert snapshot.running is None
    (kept,) = snapshot.runs
    assert kept.events == tuple(events)
    assert kept.end is RunEnd.COMPLETED
    assert session.run_snapshot("run_1") == kept
    assert session.run_snapshot("nope") is None


async def test_sinks_are_told_everything_and_a_broken_one_breaks_nothing(
    make: Maker, model_server: ScriptedServer
) -> None:
    class Keeps:
        def __init__(self) -> None:
            self.events: list[Event] = []

        def emit(self, event: Event) -> None:
            self.events.append(event)

    class Breaks:
        def emit(self, event: Event) -> None:
            raise OSError("gone")

    model_server.script([{"contains": "hi", "reply": "Hello."}])
    keeps, late = Keeps(), Keeps()
    session = make(tools=(), sinks=(Breaks(), keeps))
    session.add_sink(late)
    events = await run(session, "hi")
    session.remove_sink(late)
    await run(session, "hi")
    assert keeps.events[: len(events)] == events
    assert late.events == events


async def test_a_second_run_at_the_same_time_is_refused_and_steering_is_the_way(
    make: Maker, model_server: ScriptedServer
) -> None:
    steps = [[{"text": "Wait. "}, {"wait_for": "steered"}]]
    model_server.script(
        [{"contains": "blue", "reply": "Blue."}, {"contains": "go", "steps": steps}]
    )
    session = make(tools=())
    assert session.steer("nobody listens") is False
    task = asyncio.create_task(run(session, "go"))
    await asyncio.to_thread(model_server.reached, "steered")
    assert session.running == "run_1"
    with pytest.raises(RuntimeError, match="A run is on"):
        await run(session, "other")
    with pytest.raises(RuntimeError, match="A run is on"):
        session.new()
    taken: list[bool] = []
    thread = threading.Thread(target=lambda: taken.append(session.steer("blue")))
    thread.start()
    await asyncio.to_thread(thread.join)
    assert taken == [True]
    model_server.release("steered")
    events = await task
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.text == "Blue."
    assert "prompt_taken" in [event.type for event in events]


async def test_stop_ends_the_run_and_a_stop_of_another_run_does_nothing(
    make: Maker, model_server: ScriptedServer
) -> None:
    steps = [[{"text": "One "}, {"wait_for": "never"}]]
    model_server.script(
        [{"contains": "again", "reply": "Yes."}, {"contains": "go", "steps": steps}]
    )
    session = make(tools=())
    assert await session.stop() is False
    task = asyncio.create_task(run(session, "go"))
    await asyncio.to_thread(model_server.reached, "never")
    assert await session.stop("run_9") is False
    assert await session.stop("run_1") is True
    assert session.running is None
    events = await task
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.end is RunEnd.ABORTED_STREAMING
    assert (await run(session, "again"))[-1].type == "run_finished"


async def test_leaving_the_loop_early_ends_the_run_and_it_is_recorded(
    make: Maker, model_server: ScriptedServer
) -> None:
    model_server.script([{"contains": "go", "steps": [[{"text": "One "}, {"wait_for": "never"}]]}])
    session = make(tools=())
    events = session.run("go")
    async for event in events:
        if isinstance(event, TextDelta):
            break
    await events.aclose()
    assert session.running is None
    (kept,) = session.snapshot().runs
    assert kept.end is RunEnd.ABORTED_STREAMING


async def test_a_pending_question_is_in_the_snapshot_until_it_is_answered(
    make: Maker, model_server: ScriptedServer
) -> None:
    model_server.script(
        [{"contains": "go", "steps": [[{"tool": "W", "id": "w", "input": {}}], "Done."]}]
    )
    seen: list[str] = []
    session = make(
        tools=(FakeTool("W"),), gate=FakeGate(default="ask"), approver=ScriptedApprover(["deny"])
    )
    async for event in session.run("go"):
        if isinstance(event, PermissionRequested):
            # The reader is behind the run, so the log knows the answer already or soon.
            seen.extend(e.type for e in session.snapshot().runs[0].events if "perm" in e.type)
    assert seen[0] == "permission_requested"
    assert session.snapshot().pending == ()


async def test_the_mode_can_change_while_a_run_is_on(
    make: Maker, model_server: ScriptedServer
) -> None:
    modes: list[str] = []

    async def work(input: FakeInput, context: ToolContext) -> str:
        modes.append(context.mode)
        session.set_mode("acceptEdits")
        return "ok"

    call = [{"tool": "W", "input": {}}]
    model_server.script([{"contains": "go", "steps": [call, call, "Done."]}])
    session = make(tools=(FakeTool("W", work),), gate=FakeGate())
    await run(session, "go", mode="plan")
    assert modes == ["plan", "acceptEdits"]
    assert session.mode == "acceptEdits"


async def test_a_mode_that_policy_forbids_is_refused(make: Maker) -> None:
    settings = make.server.settings(make.cwd, bypass_allowed=False)
    session = make(settings=settings, tools=())
    with pytest.raises(SettingsError):
        session.set_mode("bypassPermissions")
    with pytest.raises(SettingsError):
        await run(session, "go", mode="bypassPermissions")
    assert session.mode == "default"


async def test_an_empty_prompt_is_refused(make: Maker) -> None:
    with pytest.raises(ValueError, match="empty"):
        await run(make(tools=()), "  \n")


async def test_the_conversation_is_saved_and_another_session_goes_on_with_it(
    make: Maker, model_server: ScriptedServer
) -> None:
    model_server.script(
        [{"contains": "first", "reply": "One."}, {"contains": "second", "reply": "Two."}]
    )
    one = make(tools=())
    await run(one, "first")
    await one.close()
    two = make(tools=(), session_id=one.session_id)
    await run(two, "second")
    texts = [
        block["text"]
        for message in model_server.requests[-1]["messages"]
        for block in message["content"]
        if not block["text"].startswith("<system-reminder>")
    ]
    assert texts == ["first", "One.", "second"]
    assert two.snapshot().saved is True


async def test_a_store_that_cannot_write_is_told_once_and_the_run_goes_on(
    make: Maker, model_server: ScriptedServer
) -> None:
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    session = make(tools=(), store=MemoryStore(broken=True))
    events = await run(session, "hi") + await run(session, "hi")
    assert [e.code for e in events if isinstance(e, Notice)] == ["not_saved"]
    assert session.snapshot().saved is False
    assert [e.end for e in events if isinstance(e, RunFinished)] == [RunEnd.COMPLETED] * 2


async def test_a_home_that_cannot_be_written_does_not_stop_the_session(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    session = make(tools=(), settings=model_server.settings(tmp_path, home=tmp_path / "file"))
    assert session.snapshot().saved is False  # a page says so before the first prompt
    events = await run(session, "hi")
    assert [e.code for e in events if isinstance(e, Notice)] == ["not_saved"]
    assert session.snapshot().saved is False


async def test_a_new_conversation_knows_nothing_of_the_old_one(
    make: Maker, model_server: ScriptedServer
) -> None:
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    session = make(tools=())
    await run(session, "hi")
    old = session.session_id
    assert session.new() == session.session_id != old
    assert session.snapshot().runs == ()
    await run(session, "hi")
    assert len(model_server.requests[-1]["messages"]) == 1


async def test_a_fault_of_our_own_ends_the_run_for_views_and_is_raised(
    make: Maker, model_server: ScriptedServer
) -> None:
    class Broken(FakeGate):
        def apply(self, modifier: object) -> None:
            raise ZeroDivisionError("ours")

    session = make(tools=(), gate=Broken())
    with pytest.raises(ZeroDivisionError):
        await run(session, "hi")
    last = session.snapshot().runs[0].events[-1]
    assert isinstance(last, RunFinished)
    assert last.end is RunEnd.MODEL_ERROR
    assert session.running is None


def test_a_session_with_nothing_given_answers_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = AgentSession()
    finished = session.run_sync("Hello")
    assert finished.end is RunEnd.COMPLETED
    assert "not a model" in finished.text
    assert session.snapshot().model.offline is True
    # Its own loop lives on, so a second run reuses the client.
    assert session.run_sync("Hello").end is RunEnd.COMPLETED


def test_runs_from_several_event_loops_do_not_share_a_client(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    session = AgentSession(cwd=tmp_path, settings=model_server.settings(tmp_path), tools=())

    async def once() -> list[Event]:
        events = await run(session, "hi")
        await session.parts.close()
        return events

    for _ in range(2):
        assert asyncio.run(once())[-1].type == "run_finished"
    assert session.run_sync("hi").text == "Hello."


async def test_meta_text_and_reminders_are_marked_in_the_transcript(
    make: Maker, model_server: ScriptedServer
) -> None:
    steps = [[{"text": "One "}, {"wait_for": "never"}]]
    model_server.script([{"contains": "go", "steps": steps}])
    store = MemoryStore()
    session = make(tools=(), store=store)
    task = asyncio.create_task(run(session, "go"))
    await asyncio.to_thread(model_server.reached, "never")
    await session.stop()
    await task
    kept = [m for m in store.sessions[session.session_id] if isinstance(m, UserMessage)]
    assert [m.is_meta for m in kept] == [False, True]
