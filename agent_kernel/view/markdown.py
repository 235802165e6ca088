"""A run as Markdown: what a saved notebook shows without a kernel (SPEC N5).

GitHub, nbconvert and Jupyter render it. Text of the model passes ``safe_markdown``; everything else
is written as plain text. The result is bounded, and secrets are removed by ``scrub``.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from html import escape

from agent_kernel.view import words
from agent_kernel.view.characters import one_line
from agent_kernel.view.safe_markdown import code_block, plain, sanitise
from agent_kernel.view.story import Aside, Call, Item, Said, State, Story, Thought, tell
from agent_kernel.vocabulary import (
    CellPreview,
    CodePreview,
    CommandPreview,
    DiffPreview,
    Preview,
    RunEnd,
)
from agent_kernel.wire import RunSnapshot

MAX_BYTES = 256 * 1024
_CAPS = (60_000, 8_000, 1_500, 300)

MARKS: dict[State, str] = {
    "ok": "●",
    "error": "✕",
    "denied": "○",
    "cancelled": "■",
    "running": "◐",
    "waiting": "◌",
}
"""The shape of a state: colour is never the only sign."""

STATE_WORDS: dict[State, str] = {
    "ok": "",
    "error": "failed",
    "denied": "denied",
    "cancelled": "interrupted",
    "running": "running",
    "waiting": "not started",
}

_ASIDES = {"info": "", "warning": "Note: ", "error": "Error: "}


def _same(text: str) -> str:
    return text


def render(
    snapshot: RunSnapshot,
    *,
    limit: int = MAX_BYTES,
    scrub: Callable[[str], str] = _same,
) -> str:
    """The run as Markdown of at most ``limit`` bytes of UTF-8.

    Long parts lose their middle first; if that is not enough, steps in the middle are counted
    instead of shown.
    """
    story = tell(snapshot.events)
    for cap in _CAPS:
        parts = [part for item in story.items if (part := _item(item, cap, scrub))]
        text = _join([*parts, *_ending(story, scrub)])
        if _size(text) <= limit:
            return text
    ending = _ending(story, scrub)
    head, tail = parts[: len(parts) // 2], parts[len(parts) // 2 :]
    while head or tail:
        (head.pop if len(head) >= len(tail) else lambda: tail.pop(0))()
        left_out = len(parts) - len(head) - len(tail)
        middle = f"*… {words.count(left_out, 'step')} not shown …*"
        text = _join([*head, middle, *tail, *ending])
        if _size(text) <= limit:
            return text
    return _join(ending)


def _size(text: str) -> int:
    return len(text.encode("utf-8"))


def _join(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n"


def cut(text: str, cap: int) -> str:
    """Head and tail of a long text, with a line that says what is missing."""
    if len(text) <= cap:
        return text
    head, tail = text[: cap * 2 // 3], text[-(cap // 3) :]
    gone = len(text) - len(head) - len(tail)
    return f"{head}\n… {gone:,} characters not shown …\n{tail}"


def _item(item: Item, cap: int, scrub: Callable[[str], str]) -> str:
    match item:
        case Said():
            return sanitise(cut(scrub(item.text), cap))
        case Thought():
            time = f" · {words.seconds(item.seconds)}" if item.seconds is not None else ""
            body = sanitise(cut(scrub(item.text), cap))
            return _folded(f"Thinking{time}", body) if body else ""
        case Call():
            return _call(item, cap, scrub)
        case Aside():
            quote = f": {plain(one_line(scrub(item.quote), 400))}" if item.quote else ""
            text = plain(one_line(scrub(item.text), 600))
            return f"*{_ASIDES[item.level]}{text}*{quote}"


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def _call(call: Call, cap: int, scrub: Callable[[str], str]) -> str:
    def safe(text: str, limit: int = 200) -> str:
        return plain(one_line(scrub(text), limit))

    verb, subject = safe(call.verb or call.tool), safe(call.subject)
    facts = [safe(call.fact)] if call.fact else []
    if state := STATE_WORDS[call.state]:
        facts.insert(0, f"<b>{state}</b>")
    if call.answer:
        facts.append(safe(call.answer, 400))
    if call.duration_ms >= 50:
        facts.append(words.seconds(call.duration_ms / 1000))
    line = f"{MARKS[call.state]} <b>{verb}</b>" + (f" {subject}" if subject else "")
    line = " · ".join([line, *facts])
    body = [shown for shown in (_preview(call.preview, cap, scrub),) if shown]
    if call.state == "error" and "\n" in (error := scrub(call.error_text()).strip()):
        body.append(code_block(cut(error, min(cap, 8_000)), "text"))
    return _folded(line, "\n\n".join(body)) if body else line


def _preview(preview: Preview | None, cap: int, scrub: Callable[[str], str]) -> str:
    def block(text: str, language: str) -> str:
        return code_block(cut(scrub(text), cap), language)

    match preview:
        case CommandPreview():
            return block(preview.command, "bash")
        case CodePreview():
            return block(preview.code, preview.language)
        case DiffPreview():
            return block(diff_text(preview.old or "", preview.new), "diff")
        case CellPreview() if preview.old is not None and preview.new is not None:
            return block(diff_text(preview.old, preview.new), "diff")
        case CellPreview() if (preview.new or preview.old) is not None:
            source = preview.new if preview.new is not None else preview.old or ""
            return block(source, "python" if preview.cell_type == "code" else "markdown")
        case _:
            return ""


def diff_text(old: str, new: str) -> str:
    """Changed lines with a little around them, in the form every diff viewer colours."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++")))


def _ending(story: Story, scrub: Callable[[str], str]) -> list[str]:
    if story.end is None:
        return ["*This turn had not ended when the notebook was saved.*"]
    parts = []
    if sentence := words.ENDS[story.end]:
        mark = "■" if words.is_interrupt(story.end) else "✕"
        if story.end in {RunEnd.MAX_TURNS, RunEnd.BUDGET_SPENT, RunEnd.HOOK_STOPPED}:
            mark = "■"
        detail = plain(one_line(scrub(story.detail), 600))
        parts.append(f"{mark} <b>{escape(sentence)}</b>" + (f" · {detail}" if detail else ""))
    parts.append(f"<sub>{plain(end_line(story))}</sub>")
    return parts


def end_line(story: Story) -> str:
    """The one grey line at the end of a turn."""
    return words.end_line(
        model="offline script" if story.offline else story.model,
        turns=story.turns,
        usage=story.usage,
        cost_usd=story.cost_usd,
        duration_ms=story.duration_ms,
    )
