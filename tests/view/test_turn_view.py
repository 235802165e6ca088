"""The turn in its cell: displayed once, updated once, whatever happens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agent_kernel import events as ev
from agent_kernel.events import Event
from agent_kernel.view.turn_view import TurnView, Way
from agent_kernel.vocabulary import RunEnd
from agent_kernel.wire import TURN_MIME, RunSnapshot

STARTED = ev.RunStarted(run_id="r", prompt="p", model="m", mode="default", cell_id="c")
TEXT = ev.TextDelta(run_id="r", message_id="m", index=0, text="Hello")
ENDED = ev.RunFinished(run_id="r", end=RunEnd.COMPLETED, turns=1, duration_ms=2_000)


@dataclass
class Cell:
    """What a cell would show."""

    shown: list[tuple[bool, str, dict[str, Any]]] = field(default_factory=list)
    text: str = ""
    events: list[Event] = field(default_factory=list)

    def publish(self, data: dict[str, Any], *, display_id: str, update: bool) -> None:
        self.shown.append((update, display_id, data))

    def write(self, text: str) -> None:
        self.text += text

    def snapshot(self, run_id: str) -> RunSnapshot:
        last = self.events[-1]
        end = last.end if isinstance(last, ev.RunFinished) else None
        return RunSnapshot(run_id=run_id, events=tuple(self.events), end=end)

    def view(self, way: Way, **more: Any) -> TurnView:
        return TurnView(way, snapshot=self.snapshot, publish=self.publish, write=self.write, **more)

    def tell(self, view: TurnView, *events: Event) -> None:
        for event in events:
            self.events.append(event)
            view.emit(event)


class Widget:
    def __init__(self) -> None:
        self.pushed: list[Event] = []
        self.ended = 0

    def bundle(self) -> dict[str, Any]:
        return {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}}

    def push(self, event: Event) -> None:
        self.pushed.append(event)

    def end(self) -> None:
        self.ended += 1


def test_with_a_page_the_display_is_made_once_and_updated_once() -> None:
    cell = Cell()
    view = cell.view("page")
    cell.tell(view, STARTED, TEXT, TEXT, ENDED)
    view.close()
    assert [(update, name) for update, name, _ in cell.shown] == [
        (False, "agent-turn-r"),
        (True, "agent-turn-r"),
    ]
    assert len(cell.shown[0][2][TURN_MIME]["events"]) == 1
    assert len(cell.shown[1][2][TURN_MIME]["events"]) == 4
    assert "Hello" in cell.shown[1][2]["text/markdown"]
    assert cell.text == ""


def test_a_widget_gets_the_events_and_is_replaced_by_its_markdown() -> None:
    cell, widget = Cell(), Widget()
    view = cell.view("widget", make_widget=lambda started: widget)
    cell.tell(view, STARTED, TEXT, ENDED)
    view.close()
    first, last = cell.shown[0][2], cell.shown[1][2]
    assert set(first) == {
        "application/vnd.jupyter.widget-view+json",
        "text/markdown",
        "text/plain",
    }
    assert widget.pushed == [TEXT, ENDED]
    assert widget.ended == 1
    assert "application/vnd.jupyter.widget-view+json" not in last
    assert "Hello" in last["text/markdown"]


def test_without_both_the_text_is_streamed() -> None:
    cell = Cell()
    view = cell.view("text")
    cell.tell(view, STARTED, TEXT, ENDED)
    view.close()
    assert cell.shown == []
    assert cell.text == "Hello\nm · 1 turn · 2.0 s\n"


def test_a_run_that_broke_off_still_gets_its_final_form() -> None:
    cell = Cell()
    view = cell.view("page")
    cell.tell(view, STARTED, TEXT)
    view.close()
    view.close()
    assert [update for update, _, _ in cell.shown] == [False, True]
    assert "had not ended" in cell.shown[1][2]["text/markdown"]


def test_closing_before_anything_began_shows_nothing() -> None:
    cell = Cell()
    cell.view("page").close()
    assert cell.shown == []


def test_a_display_that_fails_does_not_end_the_run() -> None:
    cell = Cell()

    def broken(data: dict[str, Any], *, display_id: str, update: bool) -> None:
        raise RuntimeError("no display")

    view = TurnView("page", snapshot=cell.snapshot, publish=broken, write=cell.write)
    cell.tell(view, STARTED, TEXT, ENDED)
    view.close()
    assert "Hello" in cell.text
