"""The bundle of a turn in a cell: our own type for the page, Markdown and text for everybody else.

While a run is on it holds only who the run is, because the page shows it from its store; when it
ended it holds the whole bounded log, so that a notebook reopened without a kernel shows the turn.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pydantic import JsonValue

from agent_kernel.events import RunFinished, RunStarted
from agent_kernel.view.markdown import MAX_BYTES, cut, render
from agent_kernel.view.text import render_text
from agent_kernel.wire import TURN_MIME, RunSnapshot

_CAPS = (60_000, 8_000, 1_500, 300, 80)
# What a finished run no longer needs: the call's input stands whole in ``tool_started``.
_TRANSIENT = frozenset({"tool_input_delta", "agent_progress"})


def _same(text: str) -> str:
    return text


def stored_snapshot(
    snapshot: RunSnapshot, *, limit: int = MAX_BYTES, scrub: Callable[[str], str] = _same
) -> dict[str, Any]:
    """The run as it may stand in a file: scrubbed, without nonces, at most ``limit`` bytes.

    Long strings lose their middle first, then pictures go, then events from the middle.
    """
    whole = snapshot.model_dump(mode="json", exclude_defaults=False)
    events = [event for event in whole["events"] if event["type"] not in _TRANSIENT]
    for cap in _CAPS:
        kept = [_trimmed(event, cap, scrub) for event in events]
        if _size(kept) <= limit - 1_000:
            return {**whole, "events": kept}
    while len(kept) > 2 and _size(kept) > limit - 1_000:
        middle = len(kept) // 2
        span = max(1, len(kept) // 8)
        del kept[max(1, middle - span) : min(len(kept) - 1, middle + span)]
    return {**whole, "events": kept}


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _trimmed(event: dict[str, Any], cap: int, scrub: Callable[[str], str]) -> dict[str, Any]:
    trimmed = {key: _value(value, cap, scrub) for key, value in event.items()}
    if trimmed.get("nonce"):
        trimmed["nonce"] = ""
    return trimmed


def _value(value: JsonValue, cap: int, scrub: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return cut(scrub(value), cap)
    if isinstance(value, list):
        return [_value(item, cap, scrub) for item in value]
    if isinstance(value, dict):
        if value.get("type") == "image" and len(str(value.get("data", ""))) > cap:
            return {"type": "text", "text": "[picture not stored]"}
        if "output_type" in value and isinstance(data := value.get("data"), dict):
            # Outputs of code stand as the cell's own outputs; here only their text is kept.
            short = {k: v for k, v in data.items() if len(json.dumps(v)) <= cap}
            value = {**value, "data": short or {"text/plain": "[output not stored]"}}
        return {key: _value(item, cap, scrub) for key, item in value.items()}
    return value


def live_bundle(started: RunStarted, *, session_id: str = "") -> dict[str, Any]:
    """What is displayed when a run starts."""
    snapshot = RunSnapshot(
        run_id=started.run_id,
        session_id=session_id,
        cell_id=started.cell_id,
        events=(started,),
        seq=started.seq,
    )
    return {
        TURN_MIME: snapshot.model_dump(mode="json"),
        "text/markdown": "*The turn is running.*",
        "text/plain": "The turn is running.",
    }


def final_bundle(
    snapshot: RunSnapshot, *, scrub: Callable[[str], str] = _same, limit: int = MAX_BYTES
) -> dict[str, Any]:
    """What stays in the cell: the log, the Markdown and the text, each of at most ``limit``."""
    return {
        TURN_MIME: stored_snapshot(snapshot, scrub=scrub, limit=limit),
        "text/markdown": render(snapshot, scrub=scrub, limit=limit),
        "text/plain": render_text(snapshot, scrub=scrub, limit=limit),
    }


def has_ended(snapshot: RunSnapshot) -> bool:
    return bool(snapshot.events) and isinstance(snapshot.events[-1], RunFinished)
