"""What every implementation of a seam must pass; call these from your own tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agent_kernel.errors import StoreError
from agent_kernel.events import PermissionRequested
from agent_kernel.messages import TextBlock, UserMessage
from agent_kernel.protocols import (
    Approver,
    Blobs,
    Clock,
    Hooks,
    Ids,
    ReadState,
    SessionStore,
)
from agent_kernel.vocabulary import TextPreview
from agent_kernel.wire import RunSnapshot


def _message(text: str) -> UserMessage:
    return UserMessage(uuid=f"u-{text}", content=(TextBlock(text=text),))


def check_session_store(make: Callable[[], SessionStore]) -> None:
    """``make`` returns a store that sees what an earlier one of the same kind wrote."""
    store = make()
    store.check()
    assert store.list() == ()
    opened = store.open("first")
    assert opened.session_id == "first"
    assert opened.messages == ()
    store.append("first", _message("one"))
    store.append("first", _message("two"))
    assert [m.uuid for m in store.load("first")] == ["u-one", "u-two"]
    assert any(summary.session_id == "first" for summary in store.list())
    copy = store.fork("first")
    assert copy != "first"
    store.append(copy, _message("three"))
    assert [m.uuid for m in store.load("first")] == ["u-one", "u-two"]
    assert [m.uuid for m in store.load(copy)] == ["u-one", "u-two", "u-three"]
    run = RunSnapshot(run_id="run_1", session_id="first", seq=1)
    store.keep_run("first", run, until="u-two")
    assert store.runs("first", store.load("first")) == (run,)
    store.close(copy)
    store.close("first")
    store.close("first")
    again = make()
    reopened = again.open("first")
    assert [m.uuid for m in reopened.messages] == ["u-one", "u-two"]
    again.append("first", _message("four"))
    assert len(again.load("first")) == 3
    again.close("first")
    try:
        again.load("nowhere")
    except StoreError:
        pass
    else:
        raise AssertionError("load of an unknown session must raise StoreError")


async def check_blobs(blobs: Blobs) -> None:
    """A name is kept apart from others, whatever it holds."""
    one = await blobs.put("one.txt", b"1")
    two = await blobs.put("../two.txt", b"2")
    assert one != two
    assert one == await blobs.put("one.txt", b"1 again")


async def check_clock(clock: Clock) -> None:
    """Time does not run backwards, and sleeping lets others run."""
    before = clock.monotonic()
    ran = False

    async def other() -> None:
        nonlocal ran
        ran = True

    task = asyncio.create_task(other())
    await clock.sleep(0.001)
    await task
    assert ran
    assert clock.monotonic() >= before
    assert clock.now() > 0


def check_ids(ids: Ids) -> None:
    """Ids differ, and begin with what they are for."""
    made = [ids.new("run") for _ in range(100)]
    assert len(set(made)) == 100
    assert all(name.startswith("run_") for name in made)


def check_read_state(state: ReadState) -> None:
    """Remembers by key until told to forget."""
    assert state.digest("file:/a") is None
    state.remember("file:/a", "1")
    state.remember("file:/a", "2")
    assert state.digest("file:/a") == "2"
    state.remember("file:/c", "3")
    state.remember("file:/a", "2")
    assert list(state.recent()) == ["file:/a", "file:/c"]
    state.forget("file:/a")
    state.forget("file:/b")
    assert list(state.recent()) == ["file:/c"]
    assert state.digest("file:/a") is None


async def check_hooks(hooks: Hooks) -> None:
    """An event nobody listens to changes nothing."""
    outcome = await hooks.run("PreToolUse", {"tool_name": "NobodyListens"})
    assert outcome.block is None
    assert outcome.stop is None


async def check_approver_withdraws(approver: Approver) -> None:
    """Cancelling a question that nobody has answered ends it."""
    request = PermissionRequested(
        request_id="ask_1",
        nonce="nonce_1",
        tool_use_id="t",
        tool="W",
        title="W",
        preview=TextPreview(text="x"),
    )
    task = asyncio.ensure_future(approver.ask(request))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task}, timeout=1)
    assert task.cancelled()
