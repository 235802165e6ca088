"""What a request says about where a script stands: whose text, which step, which results."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_AGENT = re.compile(r"<agent-type>\s*([\w:.-]+)\s*</agent-type>")


@dataclass(frozen=True)
class ToolOutcome:
    """A tool result of this turn; ``tool`` is the name of the call it answers."""

    tool: str
    text: str
    is_error: bool


@dataclass(frozen=True)
class Candidate:
    """A text a person wrote, and what has happened since.

    ``step`` counts the replies after it. ``steering``: it came beside tool results, in mid-turn.
    """

    text: str
    step: int
    outcomes: tuple[ToolOutcome, ...]
    latest: tuple[ToolOutcome, ...]
    steering: bool


@dataclass(frozen=True)
class Conversation:
    """``candidates``: newest text first, then those it may steer. ``everything``: newest first."""

    candidates: tuple[Candidate, ...]
    agent: str | None
    everything: tuple[str, ...]


def read_conversation(body: dict[str, Any]) -> Conversation:
    """Read a request; the server has validated its shape."""
    system = _text_of(body.get("system"))
    names: dict[str, str] = {}
    outcomes: list[ToolOutcome] = []
    latest: tuple[ToolOutcome, ...] = ()
    texts: list[tuple[str, int, int, bool]] = []
    everything: list[str] = []
    replies = 0
    for message in body.get("messages", ()):
        content = _blocks(message.get("content"))
        everything.extend(_searchable(block) for block in content)
        if message.get("role") == "assistant":
            replies += 1
            names.update({b["id"]: b["name"] for b in content if b.get("type") == "tool_use"})
            continue
        results = [block for block in content if block.get("type") == "tool_result"]
        start = len(outcomes)
        text = _REMINDER.sub("", "\n".join(_own_text(block) for block in content)).strip()
        for block in results:
            tool = names.get(str(block.get("tool_use_id")), "")
            failed = bool(block.get("is_error"))
            outcomes.append(ToolOutcome(tool, _text_of(block.get("content")), failed))
        latest = tuple(outcomes[start:])
        if text:
            texts.append((text, replies, len(outcomes), bool(results)))
    candidates = tuple(
        Candidate(text, replies - since, tuple(outcomes[first:]), latest, steering)
        for text, since, first, steering in reversed(texts)
    )
    agent = _AGENT.search(system)
    return Conversation(
        candidates=candidates,
        agent=agent.group(1) if agent else None,
        everything=(*reversed(everything), system),
    )


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or () if isinstance(block, dict)]


def _own_text(block: dict[str, Any]) -> str:
    return str(block.get("text", "")) if block.get("type") == "text" else ""


def _text_of(content: Any) -> str:
    return "\n".join(_own_text(block) for block in _blocks(content))


def _searchable(block: dict[str, Any]) -> str:
    return (
        _text_of(block.get("content")) if block.get("type") == "tool_result" else _own_text(block)
    )
