"""The turn in its cell: one display, updated once at the end (DESIGN 8, Views).

Three ways to show it, chosen by what the front end can do:

- ``page``: our page is there and draws the turn from its own store; the display holds who it is;
- ``widget``: no page, but widgets work; the widget is closed and replaced by its Markdown;
- ``text``: neither; the text is written to stdout as it comes.

``emit`` may be called on any thread, and what it displays belongs to the cell in which the view
was made: output goes where the context of the writing thread says.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any, Literal, Protocol

from agent_kernel import events as ev
from agent_kernel.view.mime import final_bundle, live_bundle
from agent_kernel.view.text import StreamingText
from agent_kernel.wire import TURN_MIME, RunSnapshot

Way = Literal["page", "widget", "text"]


class Publisher(Protocol):
    """Shows a bundle under an id, or replaces what was shown under it."""

    def __call__(self, data: dict[str, Any], *, display_id: str, update: bool) -> None: ...


class LiveWidget(Protocol):
    """What the view needs of :class:`agent_kernel.view.widget.TurnWidget`."""

    def bundle(self) -> dict[str, Any]: ...
    def push(self, event: ev.Event) -> None: ...
    def end(self) -> None: ...


def publish_display(data: dict[str, Any], *, display_id: str, update: bool) -> None:
    """``Publisher`` of the running IPython shell."""
    from IPython.display import publish_display_data

    publish_display_data(  # type: ignore[no-untyped-call]
        data, transient={"display_id": display_id}, update=update
    )


def write_stdout(text: str) -> None:
    """Write and flush: the stream of a cell is what ``sys.stdout`` is at that moment."""
    import sys

    sys.stdout.write(text)
    sys.stdout.flush()


def say(text: str) -> None:
    """One piece of text to the cell, on lines of its own."""
    write_stdout(text + "\n")


class TurnView:
    """An ``EventSink`` for one ``%%agent`` cell. Make it, and close it, on the cell's thread.

    ``snapshot`` gives the recorded run by its id; ``make_widget`` is called for the way "widget"
    when the run has started.
    """

    def __init__(
        self,
        way: Way,
        *,
        snapshot: Callable[[str], RunSnapshot | None],
        session_id: str = "",
        scrub: Callable[[str], str] = str,
        publish: Publisher = publish_display,
        write: Callable[[str], object] = write_stdout,
        make_widget: Callable[[ev.RunStarted], LiveWidget] | None = None,
    ) -> None:
        self._way: Way = "text" if way == "widget" and make_widget is None else way
        self._snapshot = snapshot
        self._session_id = session_id
        self._scrub = scrub
        self._publish = publish
        self._make_widget = make_widget
        self._widget: LiveWidget | None = None
        self._stream = StreamingText(write, scrub=scrub)
        self._started: ev.RunStarted | None = None
        self._finished = False
        self._lock = threading.RLock()
        self._context = contextvars.copy_context()

    @property
    def display_id(self) -> str:
        return f"agent-turn-{self._started.run_id}" if self._started else ""

    def emit(self, event: ev.Event) -> None:
        """Show one event. A view that fails must not end the run, so failures turn it to text."""
        with self._lock:
            if self._finished:
                return
            try:
                self._context.copy().run(self._show, event)
            except Exception:  # noqa: BLE001 - EventSink.emit never raises
                self._way = "text"

    def close(self) -> None:
        """Put the final form in place; also when the run broke off without its last event."""
        with self._lock:
            if not self._finished and self._started is not None:
                self._finish()
            self._finished = True

    def _show(self, event: ev.Event) -> None:
        if isinstance(event, ev.RunStarted) and self._started is None:
            self._started = event
            self._begin(event)
        elif self._widget is not None:
            self._widget.push(event)
        elif self._way == "text":
            self._stream.emit(event)
        if (
            isinstance(event, ev.RunFinished)
            and self._started is not None
            and event.run_id in ("", self._started.run_id)
        ):
            self._finish()
            self._finished = True

    def _begin(self, started: ev.RunStarted) -> None:
        if self._way == "text":
            self._stream.emit(started)
            return
        data = live_bundle(started, session_id=self._session_id)
        if self._way == "widget" and self._make_widget is not None:
            self._widget = self._make_widget(started)
            del data[TURN_MIME]
            data = {**self._widget.bundle(), **data}
        self._publish(data, display_id=self.display_id, update=False)

    def _finish(self) -> None:
        if self._widget is not None:
            self._widget.end()
            self._widget = None
        if self._way == "text" or self._started is None:
            return
        run_id = self._started.run_id
        snapshot = self._snapshot(run_id) or RunSnapshot(run_id=run_id, events=(self._started,))
        data = final_bundle(snapshot, scrub=self._scrub)
        self._publish(data, display_id=self.display_id, update=True)
