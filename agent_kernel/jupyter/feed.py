"""Events on their way to the pages: joined where they can be, at most about 15 times a second."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent_kernel.events import (
    Event,
    PermissionRequested,
    RunFinished,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolProgress,
)
from agent_kernel.jupyter.agent_thread import AgentThread
from agent_kernel.vocabulary import CellOutput
from agent_kernel.wire import EventParams

INTERVAL = 1 / 15  # seconds between two pushes


_URGENT = (PermissionRequested, RunFinished)
"""Sent at once with what waits: a question, and the end, which comes before the cell's own."""


@dataclass(eq=False)
class _Waiting:
    """An event, or neighbours of one block joined. ``first`` is the seq of the first of them."""

    event: Event
    first: int
    texts: list[str] = field(default_factory=list)
    outputs: list[CellOutput] = field(default_factory=list)


class EventFeed:
    """An ``EventSink`` that never blocks. ``send`` is called on the agent loop."""

    def __init__(self, thread: AgentThread, send: Callable[[Sequence[EventParams]], None]) -> None:
        self._thread = thread
        self._send = send
        self._lock = threading.Lock()
        self._waiting: list[_Waiting] = []
        self._scheduled = False
        self._last = float("-inf")

    def emit(self, event: Event) -> None:
        with self._lock:
            last = self._waiting[-1] if self._waiting else None
            if last is not None and _block(last.event) == _block(event) is not None:
                last.event = event
                _add(last, event)
            else:
                entry = _Waiting(event, event.seq)
                _add(entry, event)
                self._waiting.append(entry)
            urgent = isinstance(event, _URGENT)
            if self._scheduled and not urgent:
                return
            self._scheduled = True
        self._thread.call_soon(self.flush if urgent else self._schedule)

    def flush(self) -> None:
        """Send what waits. On the agent loop; before a snapshot, so that nothing comes twice."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            self._scheduled = False
        self._last = self._thread.loop.time()
        if waiting:
            self._send([_params(entry) for entry in waiting])

    def _schedule(self) -> None:
        loop = self._thread.loop
        loop.call_at(max(loop.time(), self._last + INTERVAL), self.flush)


def _block(event: Event) -> tuple[str, ...] | None:
    match event:
        case TextDelta() | ThinkingDelta():
            return (event.type, event.run_id, event.agent_id, event.message_id, str(event.index))
        case ToolInputDelta() | ToolProgress():
            return (event.type, event.run_id, event.agent_id, event.tool_use_id)
        case _:
            return None


def _add(entry: _Waiting, event: Event) -> None:
    match event:
        case TextDelta() | ThinkingDelta():
            entry.texts.append(event.text)
        case ToolInputDelta():
            entry.texts.append(event.partial_json)
        case ToolProgress():
            if event.text:
                entry.texts.append(event.text)
            entry.outputs.extend(event.outputs)
        case _:
            pass


def _params(entry: _Waiting) -> EventParams:
    event = entry.event
    joined = event.seq != entry.first
    if joined:
        match event:
            case TextDelta() | ThinkingDelta():
                event = event.model_copy(update={"text": "".join(entry.texts)})
            case ToolInputDelta():
                event = event.model_copy(update={"partial_json": "".join(entry.texts)})
            case ToolProgress():
                # Progress texts are lines, as in the run's log.
                lines = "\n".join(text.removesuffix("\n") for text in entry.texts)
                event = event.model_copy(update={"text": lines, "outputs": _joined(entry.outputs)})
            case _:
                pass
    return EventParams(
        seq=event.seq, first=entry.first if joined else 0, run_id=event.run_id, event=event
    )


def _joined(outputs: list[CellOutput]) -> tuple[CellOutput, ...]:
    joined: list[CellOutput] = []
    texts: list[list[str]] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.output_type == output.output_type == "stream"
            and last.name == output.name
        ):
            texts[-1].append(output.text or "")
        else:
            joined.append(output)
            texts.append([output.text or ""])
    return tuple(
        output.model_copy(update={"text": "".join(parts)}) if len(parts) > 1 else output
        for output, parts in zip(joined, texts, strict=True)
    )
