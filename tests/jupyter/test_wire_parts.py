"""Paging, JSON-RPC, joined events, pacing: the parts of the wire without a kernel."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_kernel import wire
from agent_kernel.errors import WireError, WireTimeout
from agent_kernel.events import (
    Event,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolProgress,
)
from agent_kernel.jupyter import comm, extension
from agent_kernel.jupyter.agent_thread import AgentThread
from agent_kernel.jupyter.feed import EventFeed
from agent_kernel.jupyter.pacing import BURST, PacedSender
from agent_kernel.jupyter.paging import JsonObject, Unpacker, pack
from agent_kernel.jupyter.rpc import Method, Peer
from agent_kernel.store.run_log import RunLog
from agent_kernel.vocabulary import CellOutput, RunEnd
from agent_kernel.wire import EventParams

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300)
LIMIT = 5_000


@given(st.lists(st.fixed_dictionaries({"id": TEXT, "params": st.dictionaries(TEXT, TEXT)})))
def test_what_is_packed_comes_out_the_same_and_no_message_is_over_the_limit(
    objects: list[Any],
) -> None:
    unpacker = Unpacker()
    got: list[object] = []
    for data, _ in pack(objects, limit=LIMIT):
        assert len(json.dumps(data).encode()) <= LIMIT
        got += unpacker.unpack(json.loads(json.dumps(data)))
    assert got == objects


@pytest.mark.parametrize("data", [None, 5, [], "x", {"page": 3, "pages": 2}, {"page": "a"}])
def test_what_is_no_message_is_a_value_error(data: object) -> None:
    with pytest.raises(ValueError, match=r"message|page"):
        Unpacker().unpack(data)


class Wire:
    """Two peers joined back to back, with what went over the wire."""

    def __init__(self, methods: dict[str, Method]) -> None:
        self.sent: list[JsonObject] = []
        self.lost = False
        self.server = Peer(send=self._to_client, methods=methods)
        self.client = Peer(send=self._to_server, methods={})

    def _to_client(self, objects: Sequence[JsonObject]) -> None:
        self.sent += objects
        if not self.lost:
            for data, _ in pack(objects):
                self.client.receive(json.loads(json.dumps(data)))

    def _to_server(self, objects: Sequence[JsonObject]) -> None:
        for data, _ in pack(objects):
            self.server.receive(json.loads(json.dumps(data)))


async def _echo(params: wire.PromptParams) -> wire.PromptResult:
    return wire.PromptResult(run_id=params.text)


ECHO = {"prompt": Method(wire.PromptParams, _echo)}


async def test_a_request_is_answered_also_when_it_needs_several_pages() -> None:
    both = Wire(ECHO)
    long = "λ" * 600_000
    answer = await both.client.request("prompt", wire.PromptParams(text=long), timeout=5)
    assert answer["run_id"] == long


async def test_an_answer_that_does_not_come_is_a_timeout() -> None:
    both = Wire(ECHO)
    both.lost = True
    with pytest.raises(WireTimeout):
        await both.client.request("prompt", wire.PromptParams(text="x"), timeout=0.01)


async def test_a_request_sent_again_gets_the_same_answer_and_acts_once() -> None:
    calls: list[str] = []

    async def count(params: wire.PromptParams) -> wire.PromptResult:
        calls.append(params.text)
        return wire.PromptResult(run_id=str(len(calls)))

    both = Wire({"prompt": Method(wire.PromptParams, count)})
    request = {"jsonrpc": "2.0", "id": "a", "method": "prompt", "params": {"text": "x"}}
    for _ in range(3):
        both.server.receive(request)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert calls == ["x"]
    results = [item.get("result") for item in both.sent]
    assert results == [{"run_id": "1", "queued": False}] * 3


async def test_a_fault_in_a_handler_is_an_error_answer() -> None:
    async def broken(_params: None) -> wire.OkResult:
        raise RuntimeError("oh")

    both = Wire({"ping": Method(None, broken)})
    with pytest.raises(WireError) as failed:
        await both.client.request("ping", None, timeout=5)
    assert (failed.value.code, str(failed.value)) == (wire.INTERNAL_ERROR, "RuntimeError: oh")


def nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(inner) | st.dictionaries(TEXT, inner)


@given(st.recursive(st.none() | st.booleans() | TEXT, nested))
def test_nothing_a_page_sends_raises(data: object) -> None:
    async def feed() -> None:
        Wire(ECHO).server.receive(data)

    asyncio.run(feed())


async def test_a_closed_peer_fails_what_waits_and_what_comes_later() -> None:
    peer = Peer(send=lambda _objects: None, methods={})
    waiting = asyncio.ensure_future(peer.request("ping", None, timeout=60))
    await asyncio.sleep(0)
    peer.close()
    with pytest.raises(WireError):
        await waiting
    with pytest.raises(WireError):
        await peer.request("ping", None, timeout=60)


# --- The feed ----------------------------------------------------------------


def stamped(events: Sequence[Event]) -> list[Event]:
    return [
        event.model_copy(update={"run_id": "r", "seq": number})
        for number, event in enumerate(events, 1)
    ]


def started() -> Event:
    return RunStarted(prompt="p", model="m", mode="default")


def test_deltas_are_joined_and_say_which_they_were() -> None:
    thread = AgentThread()
    sent: list[EventParams] = []
    ended = threading.Event()

    def take(params: Sequence[EventParams]) -> None:
        sent.extend(params)
        if isinstance(params[-1].event, RunFinished):
            ended.set()

    feed = EventFeed(thread, take)
    text = "The quick brown fox. " * 500
    deltas = [TextDelta(message_id="m", index=0, text=char) for char in text]
    outputs = [
        ToolProgress(
            tool_use_id="t",
            outputs=(CellOutput(output_type="stream", name="stdout", text=str(n)),),
        )
        for n in range(50)
    ]
    events = stamped([started(), *deltas, *outputs, RunFinished(end=RunEnd.COMPLETED)])
    log = RunLog("r")
    for event in events:
        log.record(event)
        feed.emit(event)
    assert ended.wait(10)
    thread.stop()
    told = "".join(p.event.text for p in sent if isinstance(p.event, TextDelta))
    assert told == text
    assert len(sent) < len(events) / 10
    # A reader can tell joining from loss: each push begins where the one before it ended.
    expected = 1
    for params in sent:
        assert (params.first or params.seq) == expected
        expected = params.seq + 1
    assert expected == len(events) + 1
    size = sum(len(params.model_dump_json()) for params in sent)
    assert size <= 2 * len(text) + 5_000
    joined = RunLog("r")
    for params in sent:
        joined.record(params.event)
    assert joined.snapshot().events == log.snapshot().events


def test_emitting_never_waits_for_the_loop() -> None:
    thread = AgentThread()
    release = threading.Event()
    thread.call_soon(release.wait, 10)  # the loop is busy
    feed = EventFeed(thread, lambda _params: None)
    for event in stamped([started()] * 1000):
        feed.emit(event)
    release.set()
    thread.stop()


async def test_a_long_answer_is_spread_over_time_in_order() -> None:
    sent: list[JsonObject] = []
    sender = PacedSender(sent.append)
    for number in range(4):
        sender.put({"n": number}, BURST // 2)
    assert [item["n"] for item in sent] == [0, 1]
    sender.close()


# --- The thread --------------------------------------------------------------


def test_a_loop_that_was_closed_is_built_anew() -> None:
    thread = AgentThread()

    async def value() -> int:
        return 5

    assert thread.submit(value()).result(5) == 5
    before = thread.generation
    thread.call_soon(thread.loop.stop)
    for _ in range(500):
        if not thread._is_healthy():
            break
        threading.Event().wait(0.01)
    assert thread.submit(value()).result(5) == 5
    assert thread.generation == before + 1
    thread.stop()


def test_cancelling_the_future_cancels_the_task() -> None:
    thread = AgentThread()
    began, ended = threading.Event(), threading.Event()

    async def wait() -> None:
        try:
            began.set()
            await asyncio.sleep(60)
        finally:
            ended.set()

    future = thread.submit(wait())
    assert began.wait(5)
    future.cancel()
    assert ended.wait(5)
    thread.stop()


def test_the_targets_are_those_of_the_wire() -> None:
    assert (comm.SESSION_TARGET, comm.BELL_TARGET) == (wire.SESSION_TARGET, wire.BELL_TARGET)
    assert extension.SESSION_TARGET == wire.SESSION_TARGET
