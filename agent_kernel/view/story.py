"""A run as what a reader sees: events folded into an ordered list of items.

Every rendering of a finished run is a function of a ``Story``, so they cannot tell it differently.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from agent_kernel import events as ev
from agent_kernel.messages import ResultContent, TextBlock, Usage
from agent_kernel.view import words
from agent_kernel.vocabulary import Preview, RunEnd, ToolStatus

State = ToolStatus | Literal["waiting", "running"]


@dataclass
class Said:
    """Text of the model: Markdown nobody has checked."""

    message_id: str
    index: int
    text: str


@dataclass
class Thought:
    message_id: str
    index: int
    text: str
    seconds: float | None = None


@dataclass
class Call:
    """One tool call as a line: state, verb, subject, one fact, time."""

    tool_use_id: str
    message_id: str = ""
    tool: str = ""
    verb: str = ""
    subject: str = ""
    state: State = "running"
    fact: str = ""
    input: dict[str, JsonValue] = field(default_factory=dict)
    content: tuple[ResultContent, ...] = ()
    preview: Preview | None = None
    duration_ms: int = 0
    asked: str = ""
    answer: str = ""

    def error_text(self) -> str:
        """What the tool said when it failed."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextBlock))


@dataclass
class Aside:
    """One line of the product itself: a notice, a skill, a queued message, a withdrawal."""

    text: str
    level: Literal["info", "warning", "error"] = "info"
    quote: str = ""


Item = Said | Thought | Call | Aside


@dataclass
class Story:
    prompt: str = ""
    model: str = ""
    mode: str = "default"
    offline: bool = False
    items: list[Item] = field(default_factory=list)
    end: RunEnd | None = None
    detail: str = ""
    answer: str = ""
    turns: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = None
    duration_ms: int = 0
    _calls: dict[str, Call] = field(default_factory=dict)

    def _call(self, tool_use_id: str) -> Call:
        call = self._calls.get(tool_use_id)
        if call is None:
            call = self._calls[tool_use_id] = Call(tool_use_id)
            self.items.append(call)
        return call

    def hear(self, event: ev.Event) -> None:
        """Take in one event; sub-agents are told by their own lines only."""
        if event.agent_id != "main":
            return
        match event:
            case ev.RunStarted():
                self.prompt, self.mode = event.prompt, event.mode
                self.model, self.offline = event.model, event.offline
            case ev.MessageStarted():
                self.turns = max(self.turns, event.turn)
            case ev.TextDelta():
                last = self.items[-1] if self.items else None
                if isinstance(last, Said) and (last.message_id, last.index) == (
                    event.message_id,
                    event.index,
                ):
                    last.text += event.text
                else:
                    self.items.append(Said(event.message_id, event.index, event.text))
            case ev.ThinkingDelta():
                last = self.items[-1] if self.items else None
                if isinstance(last, Thought) and (last.message_id, last.index) == (
                    event.message_id,
                    event.index,
                ):
                    last.text += event.text
                    last.seconds = event.seconds if event.seconds is not None else last.seconds
                else:
                    self.items.append(
                        Thought(event.message_id, event.index, event.text, event.seconds)
                    )
            case ev.ToolUseStarted():
                call = self._call(event.tool_use_id)
                call.message_id, call.tool = event.message_id, event.tool
                call.verb = call.verb or event.tool
                call.state = "waiting"
            case ev.ToolStarted():
                call = self._call(event.tool_use_id)
                call.tool, call.verb, call.subject = event.tool, event.verb, event.subject
                call.input, call.state = event.input, "running"
            case ev.ToolFinished():
                call = self._call(event.tool_use_id)
                call.state, call.fact, call.content = event.status, event.fact, event.content
                call.duration_ms = event.duration_ms
                call.preview = event.preview or call.preview
            case ev.PermissionRequested():
                call = self._call(event.tool_use_id)
                call.asked = event.title
                call.preview = call.preview or event.preview
            case ev.PermissionResolved():
                self._call(event.tool_use_id).answer = resolved_words(event)
            case ev.SkillStarted():
                who = "You ran" if event.by == "you" else "Used"
                self.items.append(Aside(f"{who} the skill {event.name}", quote=event.args))
            case ev.AgentStarted():
                self.items.append(Aside(f"Sub-agent: {event.description or event.agent_type}"))
            case ev.Notice():
                self.items.append(Aside(event.text, event.level))
            case ev.PromptTaken():
                self.items.append(Aside("You added", quote=event.text))
            case ev.Compacted():
                self.items.append(
                    Aside(
                        "The conversation was summarised: "
                        f"{words.tokens(event.tokens_before)} to "
                        f"{words.tokens(event.tokens_after)} tokens"
                    )
                )
            case ev.Tombstone():
                self._withdraw(event)
            case ev.UsageReported():
                self.model = event.model or self.model
            case ev.RunFinished():
                self.end, self.detail, self.answer = event.end, event.detail, event.text
                self.turns, self.usage = event.turns, event.usage
                self.cost_usd, self.duration_ms = event.cost_usd, event.duration_ms
                for call in self._calls.values():
                    if call.state in {"running", "waiting"}:
                        call.state = "cancelled"
            case _:
                pass

    def _withdraw(self, event: ev.Tombstone) -> None:
        kept = [
            item
            for item in self.items
            if isinstance(item, Aside) or item.message_id != event.message_id
        ]
        if len(kept) != len(self.items):
            self.items = kept
            self.items.append(Aside(f"Withdrawn: {event.reason}", "warning"))


def resolved_words(event: ev.PermissionResolved) -> str:
    """``Allowed once by you`` and what it saved or why it was refused."""
    if event.by == "stop":
        return "Not answered: the run was stopped"
    who = "by you" if event.by == "you" else "by the declared policy"
    text = f"{words.RESOLVED[event.decision]} {who}"
    if event.rule and event.decision in {"allow_session", "allow_always"}:
        text += f" · rule {event.rule}"
    if event.reason:
        text += f" · {event.reason}"
    return text


def tell(events: Iterable[ev.Event]) -> Story:
    """The story of a run, from its events in order."""
    story = Story()
    for event in events:
        story.hear(event)
    return story
