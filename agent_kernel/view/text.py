"""A run as plain text, at once or as it happens: for consoles, logs, plain readers."""

from __future__ import annotations

from collections.abc import Callable

from agent_kernel import events as ev
from agent_kernel.view import words
from agent_kernel.view.characters import calm, one_line
from agent_kernel.view.markdown import MARKS, MAX_BYTES, STATE_WORDS, cut, end_line
from agent_kernel.view.story import Aside, Call, Said, State, Story, Thought, resolved_words, tell
from agent_kernel.vocabulary import RunEnd
from agent_kernel.wire import RunSnapshot

_LONGEST_WORD = 1_000


def _same(text: str) -> str:
    return text


def render_text(
    snapshot: RunSnapshot, *, limit: int = MAX_BYTES, scrub: Callable[[str], str] = _same
) -> str:
    """The run as plain text of at most ``limit`` bytes of UTF-8."""
    story = tell(snapshot.events)
    parts: list[str] = []
    for item in story.items:
        match item:
            case Said():
                parts.append(calm(scrub(item.text)).strip())
            case Thought():
                time = f" · {words.seconds(item.seconds)}" if item.seconds is not None else ""
                parts.append(f"▸ Thinking{time}")
            case Call():
                parts.append(call_line(item, scrub))
            case Aside():
                parts.append(aside_line(item, scrub))
    text = "\n".join([*(part for part in parts if part), *end_lines(story, scrub)])
    # Four bytes is the most a character takes.
    return text if len(text.encode("utf-8", "replace")) <= limit else cut(text, limit // 4 - 60)


def call_line(call: Call, scrub: Callable[[str], str] = _same, *, with_answer: bool = True) -> str:
    """``● Edit cell below [3] · +6 lines``, and how it came to be allowed."""
    line = tool_line(
        call.state, call.verb or call.tool, call.subject, call.fact, call.duration_ms, scrub
    )
    answered = with_answer and call.answer
    return f"{line} · {one_line(scrub(call.answer), 400)}" if answered else line


def tool_line(
    state: State,
    verb: str,
    subject: str,
    fact: str,
    duration_ms: int,
    scrub: Callable[[str], str] = _same,
) -> str:
    head = f"{MARKS[state]} {one_line(scrub(verb))} {one_line(scrub(subject))}".rstrip()
    parts = [head, STATE_WORDS[state], one_line(scrub(fact))]
    if duration_ms >= 50:
        parts.append(words.seconds(duration_ms / 1000))
    return " · ".join(part for part in parts if part)


def aside_line(aside: Aside, scrub: Callable[[str], str] = _same) -> str:
    mark = {"info": "–", "warning": "!", "error": "✕"}[aside.level]
    text = one_line(scrub(aside.text), 600)
    return f"{mark} {text}" + (f": {one_line(scrub(aside.quote), 400)}" if aside.quote else "")


def end_lines(story: Story, scrub: Callable[[str], str] = _same) -> list[str]:
    """What the end was, if it needs saying, and the grey line."""
    if story.end is None:
        return []
    lines = []
    if sentence := words.ENDS[story.end]:
        detail = one_line(scrub(story.detail), 600)
        mark = "■" if words.is_interrupt(story.end) or story.end is RunEnd.MAX_TURNS else "✕"
        lines.append(f"{mark} {sentence}" + (f" · {detail}" if detail else ""))
    lines.append(end_line(story))
    return lines


class StreamingText:
    """An ``EventSink`` that writes a run as it happens.

    ``write`` gets pieces of text. Thinking is told by one line, the text of the model as it comes;
    a withdrawn message is told, since what was printed cannot be taken back.
    """

    def __init__(
        self, write: Callable[[str], object], *, scrub: Callable[[str], str] = _same
    ) -> None:
        self._write = write
        self._scrub = scrub
        self._story = Story()
        self._at_line_start = True
        self._thinking = False
        self._held = ""

    @property
    def story(self) -> Story:
        """The run as heard so far."""
        return self._story

    def emit(self, event: ev.Event) -> None:
        if event.agent_id != "main":
            return
        self._story.hear(event)
        try:
            self._tell(event)
        except OSError:
            # A console that went away is no reason to end the run.
            return

    def _out(self, text: str) -> None:
        if text:
            self._write(text)
            self._at_line_start = text.endswith("\n")

    def _line(self, text: str) -> None:
        self._thinking = False
        self._out(("" if self._at_line_start else "\n") + text + "\n")

    def _say(self, text: str) -> None:
        """The model's text up to the last whole word: a secret may come in two pieces."""
        text = self._held + text
        end = max(text.rfind(" "), text.rfind("\n")) + 1
        if len(text) - end > _LONGEST_WORD:
            end = len(text)
        self._held = text[end:]
        self._out(calm(self._scrub(text[:end])))

    def _tell(self, event: ev.Event) -> None:
        if self._held and not isinstance(event, ev.TextDelta):
            held, self._held = self._held, ""
            self._out(calm(self._scrub(held)))
        match event:
            case ev.TextDelta():
                self._thinking = False
                self._say(event.text)
            case ev.ThinkingDelta():
                if not self._thinking:
                    self._line("▸ Thinking")
                    self._thinking = True
            case ev.ToolFinished():
                call = next(
                    item
                    for item in self._story.items
                    if isinstance(item, Call) and item.tool_use_id == event.tool_use_id
                )
                # The answer was told when it was given.
                self._line(call_line(call, self._scrub, with_answer=False))
            case ev.PermissionRequested():
                self._line("? " + one_line(self._scrub(event.title.removesuffix("?")), 400))
            case ev.PermissionResolved():
                self._line(f"  {one_line(self._scrub(resolved_words(event)), 400)}")
            case ev.RunFinished():
                for line in end_lines(self._story, self._scrub):
                    self._line(line)
            case ev.Tombstone():
                self._line(f"! Withdrawn: {one_line(event.reason, 400)}")
            case ev.SkillStarted() | ev.AgentStarted() | ev.Notice() | ev.PromptTaken():
                last = self._story.items[-1]
                if isinstance(last, Aside):
                    self._line(aside_line(last, self._scrub))
            case _:
                pass
