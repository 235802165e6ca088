"""Runs told again from their messages: for what was not kept, as after a kernel was killed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from agent_kernel.events import (
    BaseEvent,
    Compacted,
    Event,
    MessageStarted,
    RunFinished,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
    ToolUseStarted,
    UsageReported,
)
from agent_kernel.messages import (
    AssistantMessage,
    CompactBoundary,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    UserMessage,
    text_of,
)
from agent_kernel.store.lines import RunLine, no_collection
from agent_kernel.vocabulary import RunEnd
from agent_kernel.wire import RunSnapshot

MOST = 200
CUT_SHORT = "The kernel ended during this turn."


def runs_of(
    kept: Sequence[RunLine], messages: Sequence[Message], session_id: str
) -> tuple[RunSnapshot, ...]:
    """The kept runs, and then what the messages after them tell. At most 200, the newest."""
    start = 0
    if kept:
        last = kept[-1].until
        found = (i for i in range(len(messages) - 1, -1, -1) if messages[i].uuid == last)
        start = next(found, len(messages) - 1) + 1
    with no_collection():
        told = _told(messages[start:], session_id)
    whole = [line.run.model_copy(update={"session_id": session_id}) for line in kept]
    return (*whole, *told)[-MOST:]


def _told(messages: Sequence[Message], session_id: str) -> list[RunSnapshot]:
    """The newest of them; older ones would not be shown."""
    begins = [index for index, message in enumerate(messages) if is_prompt(message)][-MOST:]
    ends = [*begins[1:], len(messages)][: len(begins)]
    return [
        _Retelling(session_id).of(messages[begin:end])
        for begin, end in zip(begins, ends, strict=True)
    ]


def is_prompt(message: Message) -> bool:
    """Whether a person's words begin here."""
    return (
        isinstance(message, UserMessage)
        and not message.is_meta
        and message.source_tool_use_id is None
        and any(isinstance(block, TextBlock) for block in message.content)
    )


@dataclass
class _Retelling:
    session_id: str
    events: list[Event] = field(default_factory=list)
    open_calls: dict[str, None] = field(default_factory=dict)
    usage: Usage = Usage()
    turns: int = 0
    text: str = ""
    is_cut: bool = True

    def of(self, messages: Sequence[Message]) -> RunSnapshot:
        """One run: the prompt and what followed it."""
        self._run_id = f"run_{messages[0].uuid}"
        for message in messages:
            self._at = _seconds(message.timestamp)
            match message:
                case UserMessage():
                    self._user(message)
                case AssistantMessage():
                    self._assistant(message)
                case CompactBoundary() if message.trigger != "cut":
                    self._tell(
                        Compacted(
                            trigger=message.trigger,
                            tokens_before=message.tokens_before,
                            tokens_after=0,
                        )
                    )
                case _:
                    pass
        for call in list(self.open_calls):
            self._tell(ToolFinished(tool_use_id=call, status="cancelled", fact="not finished"))
        end = RunEnd.ABORTED_TOOLS if self.is_cut else RunEnd.COMPLETED
        self._tell(
            RunFinished(
                end=end,
                turns=self.turns,
                text=self.text,
                detail=CUT_SHORT if self.is_cut else "",
                usage=self.usage,
            )
        )
        return RunSnapshot(
            run_id=self._run_id,
            session_id=self.session_id,
            events=tuple(self.events),
            seq=len(self.events),
            end=end,
        )

    def _tell(self, event: BaseEvent) -> None:
        stamp = {"run_id": self._run_id, "seq": len(self.events) + 1, "at": self._at}
        self.events.append(event.model_copy(update=stamp))  # type: ignore[arg-type]

    def _user(self, message: UserMessage) -> None:
        if not self.events:
            prompt = text_of(message.content)
            self._tell(RunStarted(prompt=prompt, model="", mode="default", origin="python"))
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                self.open_calls.pop(block.tool_use_id, None)
                self._tell(
                    ToolFinished(
                        tool_use_id=block.tool_use_id,
                        status="error" if block.is_error else "ok",
                        content=block.content,
                    )
                )

    def _assistant(self, message: AssistantMessage) -> None:
        self.turns += 1
        self.usage += message.usage
        self.text = text_of(message.content)
        name = message.message_id
        calls = [block for block in message.content if isinstance(block, ToolUseBlock)]
        self.is_cut = bool(calls) or not message.complete
        self._tell(MessageStarted(message_id=name, model=message.model, turn=self.turns))
        for index, block in enumerate(message.content):
            match block:
                case TextBlock():
                    self._tell(TextDelta(message_id=name, index=index, text=block.text))
                case ThinkingBlock(thinking=thought) if thought:
                    self._tell(ThinkingDelta(message_id=name, index=index, text=thought))
                case ToolUseBlock():
                    self.open_calls[block.id] = None
                    self._tell(
                        ToolUseStarted(
                            message_id=name, index=index, tool_use_id=block.id, tool=block.name
                        )
                    )
                    self._tell(
                        ToolStarted(
                            tool_use_id=block.id,
                            tool=block.name,
                            verb=block.name,
                            input=block.input,
                        )
                    )
                case _:
                    pass
        self._tell(UsageReported(message_id=name, model=message.model, usage=message.usage))


def _seconds(timestamp: str) -> float:
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except ValueError:
        return 0.0
