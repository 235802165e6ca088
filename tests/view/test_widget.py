"""The widget's feed: many deltas cost few messages and nothing gets lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.events import Event, TextDelta, ThinkingDelta, ToolFinished, ToolInputDelta
from agent_kernel.view import widget
from agent_kernel.view.widget import TurnWidget, join
from agent_kernel.wire import RunSnapshot

EVENTS = st.one_of(
    st.builds(TextDelta, message_id=st.sampled_from("mn"), index=st.integers(0, 1), text=st.text()),
    st.builds(ThinkingDelta, message_id=st.just("m"), index=st.just(0), text=st.text()),
    st.builds(ToolInputDelta, tool_use_id=st.sampled_from("tu"), partial_json=st.text()),
    st.builds(ToolFinished, tool_use_id=st.just("t"), status=st.just("ok")),
)


def told(events: list[Event]) -> list[tuple[str, str]]:
    """What a reader ends up with: neighbouring pieces of one block put together."""
    result: list[tuple[str, str]] = []
    for event in events:
        place: str = event.type
        text = ""
        match event:
            case TextDelta() | ThinkingDelta():
                place, text = f"{event.type}/{event.message_id}/{event.index}", event.text
            case ToolInputDelta():
                place, text = f"{event.type}/{event.tool_use_id}", event.partial_json
        if result and result[-1][0] == place and event.type != "tool_finished":
            result[-1] = (place, result[-1][1] + text)
        else:
            result.append((place, text))
    return result


@given(st.lists(EVENTS, max_size=12))
def test_joining_keeps_every_text_in_its_place(events: list[Event]) -> None:
    waiting: list[Event] = []
    for event in events:
        join(waiting, event)
    assert told(waiting) == told(events)
    assert len(waiting) == len(told(events))


def test_a_joined_delta_carries_the_seq_of_its_last_part() -> None:
    waiting: list[Event] = []
    for seq in (4, 5, 6):
        join(waiting, TextDelta(seq=seq, message_id="m", index=0, text=str(seq)))
    assert waiting == [TextDelta(seq=6, message_id="m", index=0, text="456")]


@pytest.mark.skipif(not widget.is_built(), reason="`make extension` builds the page's half")
def test_a_page_that_asks_gets_the_whole_run_and_its_clicks_are_passed_on() -> None:
    clicks: list[tuple[str, object]] = []
    sent: list[object] = []
    made = TurnWidget(
        "r",
        snapshot=lambda: RunSnapshot(run_id="r"),
        pending=lambda: (),
        request=lambda method, params: clicks.append((method, params)),
    )
    made.send = sent.append
    made._on_message(made, {"type": "request", "method": "snapshot", "params": {}}, [])
    made._on_message(made, {"type": "request", "method": "stop", "params": {"run_id": "r"}}, [])
    made._on_message(made, {"type": "request", "method": 3}, [])
    made._on_message(made, "nonsense", [])
    made.close()
    assert clicks == [("stop", {"run_id": "r"})]
    assert sent == [
        {
            "type": "snapshot",
            "snapshot": RunSnapshot(run_id="r").model_dump(mode="json"),
            "pending": [],
        }
    ]
