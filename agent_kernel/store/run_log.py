"""The recorded events of one run, deltas joined: the state that every view is a function of."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from dataclasses import dataclass, field

from agent_kernel.events import (
    Event,
    PermissionRequested,
    PermissionResolved,
    RunFinished,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolProgress,
)
from agent_kernel.vocabulary import CellOutput, RunEnd
from agent_kernel.wire import RunSnapshot

Key = tuple[str, str, str, int]


@dataclass
class _Entry:
    """One event, or several joined; ``parts`` keeps joining linear for long streams."""

    event: Event
    parts: list[str] = field(default_factory=list)
    outputs: list[CellOutput] = field(default_factory=list)


class Backlog:
    """Events that a reader has not taken yet; a slow one gets deltas joined, as the log has them.

    For one event loop. Events keep their order; a joined delta carries the ``seq`` of its last
    part.
    """

    PATIENCE = 64
    """So many events may wait before deltas are joined."""

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque()
        self._closed = False
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, event: Event) -> None:
        key = _key(event)
        last = self._entries[-1] if len(self._entries) >= self.PATIENCE else None
        if last is None or key is None or _key(last.event) != key:
            last = _Entry(event)
            self._entries.append(last)
        _add(last, event)
        self._wake.set()

    def close(self) -> None:
        """Nothing follows."""
        self._closed = True
        self._wake.set()

    async def take(self) -> Event | None:
        """The next event, as soon as there is one; None at the end."""
        while not self._entries:
            if self._closed:
                return None
            self._wake.clear()
            await self._wake.wait()
        return _joined(self._entries.popleft())


class RunLog:
    """Records stamped events in order. Thread-safe.

    Deltas of one block and the progress of one call become one event at the place of the first,
    with the ``seq`` and ``at`` of the last. Progress texts are lines: they are joined by newlines.
    """

    def __init__(self, run_id: str, *, session_id: str = "", cell_id: str | None = None) -> None:
        self.run_id = run_id
        self._session_id = session_id
        self._cell_id = cell_id
        self._lock = threading.Lock()
        self._entries: list[_Entry] = []
        self._open: dict[Key, _Entry] = {}
        self._seq = 0
        self._end: RunEnd | None = None

    @property
    def seq(self) -> int:
        """Of the last event recorded."""
        return self._seq

    @property
    def end(self) -> RunEnd | None:
        """How the run ended; None while it is on."""
        return self._end

    def record(self, event: Event) -> None:
        """Keep a stamped event."""
        with self._lock:
            self._seq = max(self._seq, event.seq)
            if isinstance(event, RunFinished) and event.agent_id == "main":
                self._end = event.end
            key = _key(event)
            entry = self._open.get(key) if key else None
            if entry is None:
                entry = _Entry(event)
                self._entries.append(entry)
                if key:
                    self._open[key] = entry
            _add(entry, event)

    def snapshot(self) -> RunSnapshot:
        """All of it as a value that is stored and sent."""
        with self._lock:
            return RunSnapshot(
                run_id=self.run_id,
                session_id=self._session_id,
                cell_id=self._cell_id,
                events=tuple(_joined(entry) for entry in self._entries),
                seq=self._seq,
                end=self._end,
            )

    def pending(self) -> tuple[PermissionRequested, ...]:
        """The questions nobody has answered yet, oldest first."""
        with self._lock:
            events = [entry.event for entry in self._entries]
        done = {e.request_id for e in events if isinstance(e, PermissionResolved)}
        return tuple(
            e for e in events if isinstance(e, PermissionRequested) and e.request_id not in done
        )


def _key(event: Event) -> Key | None:
    match event:
        case TextDelta() | ThinkingDelta():
            return (event.type, event.agent_id, event.message_id, event.index)
        case ToolInputDelta() | ToolProgress():
            return (event.type, event.agent_id, event.tool_use_id, 0)
        case _:
            return None


def _add(entry: _Entry, event: Event) -> None:
    entry.event = event
    match event:
        case TextDelta() | ThinkingDelta():
            entry.parts.append(event.text)
        case ToolInputDelta():
            entry.parts.append(event.partial_json)
        case ToolProgress():
            if event.text:
                entry.parts.append(event.text)
            entry.outputs.extend(event.outputs)
        case _:
            pass


def _joined(entry: _Entry) -> Event:
    event = entry.event
    match event:
        case TextDelta() | ThinkingDelta():
            if len(entry.parts) > 1:
                entry.parts = ["".join(entry.parts)]
            return event.model_copy(update={"text": "".join(entry.parts)})
        case ToolInputDelta():
            if len(entry.parts) > 1:
                entry.parts = ["".join(entry.parts)]
            return event.model_copy(update={"partial_json": "".join(entry.parts)})
        case ToolProgress():
            entry.outputs = _join_streams(entry.outputs)
            text = "\n".join(part.removesuffix("\n") for part in entry.parts)
            return event.model_copy(update={"text": text, "outputs": tuple(entry.outputs)})
        case _:
            return event


def _join_streams(outputs: list[CellOutput]) -> list[CellOutput]:
    """Neighbouring outputs of the same stream as one, as a notebook shows them."""
    joined: list[CellOutput] = []
    texts: list[str] = []
    for output in outputs:
        last = joined[-1] if joined else None
        same = (
            last is not None
            and output.output_type == last.output_type == "stream"
            and output.name == last.name
        )
        if last is not None and texts and not same:
            joined[-1] = last.model_copy(update={"text": "".join(texts)})
            texts = []
        if not same:
            joined.append(output)
        if output.output_type == "stream":
            texts.append(output.text or "")
    if joined and texts:
        joined[-1] = joined[-1].model_copy(update={"text": "".join(texts)})
    return joined
