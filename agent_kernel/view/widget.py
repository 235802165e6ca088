"""The same turn as an ipywidget, for front ends without our page (VS Code, Colab, a bare server).

Import this only when it is about to be shown: ipywidgets and anywidget are slow to import. A
widget's state is sent to every page and saved with the notebook, so nothing secret is put in it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from agent_kernel.events import (
    Event,
    PermissionRequested,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
)
from agent_kernel.wire import RunSnapshot, SkillsResult

STATIC = Path(__file__).parent / "static"
SCRIPT = STATIC / "widget.js"
STYLE = STATIC / "widget.css"
_INTERVAL = 1 / 15  # seconds between pushes

Request = Callable[[str, dict[str, Any]], object]
"""Gets ``(method, params)`` of the page; may be called on any thread and must not block."""


def is_built() -> bool:
    """Whether the page's half is in this installation."""
    return SCRIPT.is_file()


class AgentWidget(anywidget.AnyWidget):
    """Common part: one bundle draws both kinds."""

    kind = traitlets.Unicode("turn").tag(sync=True)
    run_id = traitlets.Unicode("").tag(sync=True)
    initial = traitlets.Unicode("").tag(sync=True)

    def __init__(self, *, request: Request | None = None, **traits: Any) -> None:
        # Text, not a path: a path makes anywidget watch the file from a thread of its own.
        self._esm = SCRIPT.read_text(encoding="utf-8")
        self._css = STYLE.read_text(encoding="utf-8") if STYLE.is_file() else ""
        self._request = request
        super().__init__(**traits)
        self.on_msg(self._on_message)

    def _on_message(self, _widget: object, content: object, _buffers: object) -> None:
        if not isinstance(content, dict) or content.get("type") != "request":
            return
        method, params = content.get("method"), content.get("params")
        if isinstance(method, str):
            self.requested(method, params if isinstance(params, dict) else {})

    def requested(self, method: str, params: dict[str, Any]) -> None:
        if self._request is not None:
            self._request(method, params)

    def bundle(self) -> dict[str, Any]:
        """The widget's own part of a mime bundle."""
        made = self._repr_mimebundle_()
        data = made[0] if isinstance(made, tuple) else made
        return {key: value for key, value in (data or {}).items() if not key.startswith("text/")}


class TurnWidget(AgentWidget):
    """One run, live. ``push`` and ``end`` may be called on any thread."""

    def __init__(
        self,
        run_id: str,
        *,
        snapshot: Callable[[], RunSnapshot | None],
        pending: Callable[[], Sequence[PermissionRequested]],
        request: Request,
        initial: RunSnapshot | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._pending = pending
        self._waiting: list[Event] = []
        self._timer: threading.Timer | None = None
        self._guard = threading.Lock()
        super().__init__(
            request=request,
            kind="turn",
            run_id=run_id,
            initial=initial.model_dump_json() if initial else "",
        )

    def requested(self, method: str, params: dict[str, Any]) -> None:
        if method == "snapshot":
            self.send_snapshot()
        else:
            super().requested(method, params)

    def send_snapshot(self) -> None:
        """The whole run so far, for a view that has just been drawn or that missed something."""
        if (snapshot := self._snapshot()) is not None:
            self.send(
                {
                    "type": "snapshot",
                    "snapshot": snapshot.model_dump(mode="json"),
                    "pending": [request.model_dump(mode="json") for request in self._pending()],
                }
            )

    def push(self, event: Event) -> None:
        """Send an event soon; deltas of one block are joined, so text costs few messages."""
        with self._guard:
            join(self._waiting, event)
            if self._timer is None:
                self._timer = threading.Timer(_INTERVAL, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Send what waits."""
        with self._guard:
            self._timer = None
            events, self._waiting = self._waiting, []
        if events and self.comm is not None:
            self.send({"type": "events", "events": [e.model_dump(mode="json") for e in events]})

    def end(self) -> None:
        """Send the rest and leave the page: a closed widget costs no reload anything."""
        with self._guard:
            if self._timer is not None:
                self._timer.cancel()
        self.flush()
        self.close()


class SkillsWidget(AgentWidget):
    """The list of skills with a button that runs one."""

    def __init__(self, skills: SkillsResult, *, request: Request) -> None:
        super().__init__(request=request, kind="skills", initial=skills.model_dump_json())


def join(waiting: list[Event], event: Event) -> None:
    """Append, joining text with the delta before it of the same block or call."""
    last = waiting[-1] if waiting else None
    if last is None or _block(event) is None or _block(event) != _block(last):
        waiting.append(event)
    elif isinstance(event, ToolInputDelta) and isinstance(last, ToolInputDelta):
        text = last.partial_json + event.partial_json
        waiting[-1] = event.model_copy(update={"partial_json": text})
    elif isinstance(event, TextDelta | ThinkingDelta) and isinstance(
        last, TextDelta | ThinkingDelta
    ):
        waiting[-1] = event.model_copy(update={"text": last.text + event.text})


def _block(event: Event) -> tuple[str, str, str, int] | None:
    """What a delta adds to; None for what is no delta."""
    match event:
        case TextDelta() | ThinkingDelta():
            return (event.type, event.agent_id, event.message_id, event.index)
        case ToolInputDelta():
            return (event.type, event.agent_id, event.tool_use_id, 0)
        case _:
            return None
