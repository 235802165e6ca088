"""The recorded run: deltas joined, in order, cheap, from any thread."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.events import (
    Event,
    PermissionRequested,
    PermissionResolved,
    RunFinished,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolProgress,
)
from agent_kernel.store.run_log import RunLog
from agent_kernel.vocabulary import CellOutput, RunEnd, TextPreview
from agent_kernel.wire import RunSnapshot


def log_of(*events: Event) -> RunLog:
    log = RunLog("r", session_id="s", cell_id="c")
    for seq, event in enumerate(events, 1):
        log.record(event.model_copy(update={"run_id": "r", "seq": seq}))
    return log


def text(words: str, index: int = 0) -> TextDelta:
    return TextDelta(message_id="m", index=index, text=words)


def test_deltas_of_a_block_are_one_event_with_the_seq_of_the_last() -> None:
    log = log_of(
        RunStarted(prompt="p", model="m", mode="default"),
        text("a"), ThinkingDelta(message_id="m", index=1, text="t"), text("b"), text("x", 2),
        ThinkingDelta(message_id="m", index=1, text="", seconds=2.5), text("c"),
    )  # fmt: skip
    snapshot = log.snapshot()
    assert [(e.type, e.seq, getattr(e, "text", "")) for e in snapshot.events] == [
        ("run_started", 1, ""),
        ("text_delta", 7, "abc"),
        ("thinking_delta", 6, "t"),
        ("text_delta", 5, "x"),
    ]
    thinking = snapshot.events[2]
    assert isinstance(thinking, ThinkingDelta)
    assert thinking.seconds == 2.5
    assert (snapshot.seq, snapshot.run_id, snapshot.cell_id) == (7, "r", "c")


def test_progress_of_a_call_is_joined_lines_and_streams() -> None:
    def out(name: str, words: str) -> CellOutput:
        return CellOutput(output_type="stream", name=name, text=words)  # type: ignore[arg-type]

    shown = CellOutput(output_type="display_data", data={"text/plain": "fig"})
    log = log_of(
        ToolProgress(tool_use_id="t", text="one"),
        ToolProgress(tool_use_id="t", outputs=(out("stdout", "a"), out("stdout", "b"))),
        ToolProgress(tool_use_id="t", text="two\n", outputs=(out("stderr", "!"), shown)),
        ToolProgress(tool_use_id="t", outputs=(out("stdout", "c"),)),
    )
    for _ in range(2):
        (event,) = log.snapshot().events
        assert isinstance(event, ToolProgress)
        assert event.text == "one\ntwo"
        assert [o.text or "fig" for o in event.outputs] == ["ab", "!", "fig", "c"]
    log.record(ToolProgress(tool_use_id="t", outputs=(out("stdout", "d"),), seq=9))
    (event,) = log.snapshot().events
    assert isinstance(event, ToolProgress)
    assert [o.text or "fig" for o in event.outputs] == ["ab", "!", "fig", "cd"]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.text(max_size=3)), max_size=30), st.data())
def test_a_snapshot_in_between_changes_nothing(parts: list[tuple[str, str]], data: st.DataObject
) -> None:  # fmt: skip
    events = [ToolInputDelta(tool_use_id=name, partial_json=piece) for name, piece in parts]
    cut = data.draw(st.integers(0, len(events)))
    log = log_of(*events[:cut])
    log.snapshot()
    for seq, event in enumerate(events[cut:], cut + 1):
        log.record(event.model_copy(update={"run_id": "r", "seq": seq}))
    assert log.snapshot() == log_of(*events).snapshot()
    joined = {e.tool_use_id: e.partial_json for e in log.snapshot().events
              if isinstance(e, ToolInputDelta)}  # fmt: skip
    assert joined == {n: "".join(p for m, p in parts if m == n) for n, _ in parts}


def test_pending_questions_are_those_without_an_answer() -> None:
    def ask(name: str) -> PermissionRequested:
        return PermissionRequested(
            request_id=name, nonce="n", tool_use_id="t", tool="W", title="W",
            preview=TextPreview(text="x"),
        )  # fmt: skip

    log = log_of(
        ask("1"), ask("2"), PermissionResolved(request_id="1", tool_use_id="t", decision="deny")
    )
    assert [request.request_id for request in log.pending()] == ["2"]


def test_the_end_is_that_of_the_main_agent_and_the_snapshot_survives_json() -> None:
    log = log_of(RunFinished(end=RunEnd.REFUSED, agent_id="a2"), text("x"))
    assert log.end is None
    log.record(RunFinished(end=RunEnd.COMPLETED, seq=3))
    snapshot = log.snapshot()
    assert snapshot.end is RunEnd.COMPLETED
    assert RunSnapshot.model_validate_json(snapshot.model_dump_json()) == snapshot
