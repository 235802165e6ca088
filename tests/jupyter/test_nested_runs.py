"""A run that a run has started: never looser than the one around it (CASES 128)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_kernel import AgentSession
from agent_kernel.events import Event, RunStarted
from agent_kernel.jupyter.agent_thread import AgentThread
from agent_kernel.jupyter.jobs import JobQueue
from agent_kernel.jupyter.runs import Order, Runs, Ticket
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.testing.tools import FakeGate, FakeInput, FakeTool
from agent_kernel.tool_types import ToolContext
from agent_kernel.vocabulary import PermissionMode
from tests.support.session import Maker


class Heard:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)

    @property
    def mode(self) -> PermissionMode:
        return next(event.mode for event in self.events if isinstance(event, RunStarted))


@pytest.fixture
async def make(model_server: ScriptedServer, tmp_path: Path) -> AsyncIterator[Maker]:
    maker = Maker(model_server, tmp_path)
    yield maker
    for session in maker.made:
        await session.close()


@pytest.mark.parametrize(
    ("outer", "session", "asked", "inner"),
    [
        ("default", "acceptEdits", None, "default"),
        ("default", "default", "bypassPermissions", "default"),
        ("acceptEdits", "default", "bypassPermissions", "acceptEdits"),
        ("dontAsk", "default", None, "dontAsk"),
        ("bypassPermissions", "default", "plan", "plan"),
        ("acceptEdits", "default", None, "default"),
    ],
)
async def test_a_cell_of_a_run_cannot_loosen_the_mode(
    make: Maker,
    model_server: ScriptedServer,
    outer: PermissionMode,
    session: PermissionMode,
    asked: PermissionMode | None,
    inner: PermissionMode,
) -> None:
    call = {"tool": "Cell", "input": {}}
    model_server.script(
        [{"contains": "outside", "steps": [[call], "Done."]}, {"contains": "inside", "reply": "Hi"}]
    )
    heard, gate = Heard(), FakeGate()

    async def cell(_input: FakeInput, _context: ToolContext) -> str:
        await runs.follow(Ticket(Order("inside", mode=asked), heard), beside=True)
        return "ran"

    main = make(mode=session, gate=gate, tools=[FakeTool("Cell", cell)])

    async def beside() -> AgentSession:
        return make(mode=main.mode, gate=gate, tools=[])

    runs = Runs(
        AgentThread(),
        JobQueue(on_interrupt=lambda: None),
        main_session=lambda: main,
        side_session=beside,
        prepare=lambda _session: None,
    )
    await runs.follow(Ticket(Order("outside", mode=outer), None))
    assert heard.mode == inner
    assert gate.applied[-1] is None


async def test_a_mode_the_person_sets_reaches_the_inner_run(
    make: Maker, model_server: ScriptedServer
) -> None:
    call = {"tool": "Cell", "input": {}}
    model_server.script(
        [
            {"contains": "outside", "steps": [[call], "Done."]},
            {"contains": "inside", "steps": [[{"tool": "Look", "input": {}}], "Done."]},
        ]
    )
    modes: list[PermissionMode] = []

    async def look(_input: FakeInput, context: ToolContext) -> str:
        runs.set_mode("plan")
        modes.append(inner.snapshot().mode)
        return "looked"

    async def cell(_input: FakeInput, _context: ToolContext) -> str:
        await runs.follow(Ticket(Order("inside"), None), beside=True)
        return "ran"

    gate = FakeGate()
    main = make(mode="acceptEdits", gate=gate, tools=[FakeTool("Cell", cell)])
    inner = make(mode="acceptEdits", gate=gate, tools=[FakeTool("Look", look)])

    async def beside() -> AgentSession:
        return inner

    runs = Runs(
        AgentThread(),
        JobQueue(on_interrupt=lambda: None),
        main_session=lambda: main,
        side_session=beside,
        prepare=lambda _session: None,
    )
    await runs.follow(Ticket(Order("outside"), None))
    assert modes == ["plan"]
