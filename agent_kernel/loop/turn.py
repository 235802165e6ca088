"""One model call, streamed: reply events become told events and, in the end, one message."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import cast

from agent_kernel.context.text import SurrogateJoiner, clean_object, clean_text
from agent_kernel.errors import ModelErrorKind
from agent_kernel.events import (
    Event,
    MessageStarted,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolUseStarted,
)
from agent_kernel.loop.conversation import Conversation
from agent_kernel.messages import (
    AssistantContent,
    AssistantMessage,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    Usage,
)
from agent_kernel.model_types import (
    ModelRequest,
    ReplyBlock,
    ReplyEvent,
    ReplyFailed,
    ReplyFinished,
    ReplyStarted,
    ReplyText,
    ReplyThinking,
    ReplyToolInput,
    ReplyToolStarted,
)
from agent_kernel.protocols import Clock, ModelClient

OnToolUse = Callable[[ToolUseBlock, str | None], None]


@dataclass
class Reply:
    """What has arrived of one reply. Filled while it streams, so that a cut leaves what there was.

    ``failure`` and ``finished`` exclude each other; neither is set while it streams.
    """

    message_id: str = ""
    model: str = ""
    blocks: dict[int, AssistantContent] = field(default_factory=dict)
    texts: dict[int, list[str]] = field(default_factory=dict)
    stop_reason: str | None = None
    usage: Usage = Usage()
    failure: ReplyFailed | None = None
    finished: bool = False

    @property
    def started(self) -> bool:
        """Whether anything of it was shown."""
        return bool(self.message_id)

    @property
    def tool_uses(self) -> tuple[ToolUseBlock, ...]:
        return tuple(
            block for _, block in sorted(self.blocks.items()) if isinstance(block, ToolUseBlock)
        )

    @property
    def text(self) -> str:
        """The text blocks so far, joined by blank lines."""
        return "\n\n".join(b.text for b in self._content() if isinstance(b, TextBlock)).strip()

    def _content(self) -> tuple[AssistantContent, ...]:
        blocks = dict(self.blocks)
        for index, parts in self.texts.items():
            if index not in blocks and (text := "".join(parts)).strip():
                blocks[index] = TextBlock(text=text)
        return tuple(block for _, block in sorted(blocks.items()))

    def message(self) -> AssistantMessage | None:
        """As it is stored; None if there is nothing that could be sent back."""
        content = list(self._content())
        # Thinking that nothing follows cannot be sent again.
        while content and isinstance(content[-1], ThinkingBlock | RedactedThinkingBlock):
            content.pop()
        if not content:
            return None
        return AssistantMessage(
            uuid="",
            message_id=self.message_id,
            model=self.model,
            content=tuple(content),
            stop_reason=self.stop_reason,
            usage=self.usage,
            complete=self.finished,
        )


class Turn:
    """Streams one request into a :class:`Reply`; ``on_tool_use`` hears of each complete call."""

    def __init__(
        self,
        number: int,
        *,
        clock: Clock,
        conversation: Conversation,
        tell: Callable[[Event], None],
        on_tool_use: OnToolUse,
    ) -> None:
        self.reply = Reply()
        self._number = number
        self._clock = clock
        self._conversation = conversation
        self._tell = tell
        self._on_tool_use = on_tool_use
        self._joiners: dict[int, SurrogateJoiner] = {}
        self._ids: dict[int, str] = {}
        self._thinking_since: dict[int, float] = {}

    async def stream(self, client: ModelClient, request: ModelRequest) -> Reply:
        """Returns the reply, whole or with its ``failure``; only cancellation raises."""
        # The adapter's stream is a generator; closing it at once closes the connection.
        events = client.stream(request)
        async with aclosing(cast("aclosing[None]", events)):  # type: ignore[type-var]
            async for event in events:
                self._take(event)
                if self.reply.failure is not None or self.reply.finished:
                    break
        if self.reply.failure is None and not self.reply.finished:
            self.reply.failure = ReplyFailed(
                kind=ModelErrorKind.CUT, message="The reply ended before it was complete."
            )
        return self.reply

    def _take(self, event: ReplyEvent) -> None:
        match event:
            case ReplyStarted():
                self._start(event.message_id, event.model, event.usage)
            case ReplyText():
                self._text(event.index, event.text)
            case ReplyThinking():
                self._thinking(event.index, event.text)
            case ReplyToolStarted():
                self._tool_started(event.index, event.tool_use_id, event.name)
            case ReplyToolInput():
                if event.partial_json:
                    self._tell(
                        ToolInputDelta(
                            tool_use_id=self._ids.get(event.index, event.tool_use_id),
                            partial_json=self._join(event.index, event.partial_json),
                        )
                    )
            case ReplyBlock():
                self._block(event)
            case ReplyFinished():
                self.reply.stop_reason = event.stop_reason
                self.reply.usage = event.usage
                self.reply.finished = True
            case ReplyFailed():
                self.reply.failure = event

    def _start(self, message_id: str, model: str, usage: Usage) -> None:
        if self.reply.started:
            return
        self.reply.message_id = self._conversation.unique(message_id, "msg")
        self.reply.model = model
        self.reply.usage = usage
        self._tell(MessageStarted(message_id=self.reply.message_id, model=model, turn=self._number))

    def _join(self, index: int, text: str) -> str:
        return self._joiners.setdefault(index, SurrogateJoiner()).feed(text)

    def _text(self, index: int, text: str) -> None:
        if text := self._join(index, text):
            self.reply.texts.setdefault(index, []).append(text)
            self._tell(TextDelta(message_id=self.reply.message_id, index=index, text=text))

    def _thinking(self, index: int, text: str) -> None:
        self._thinking_since.setdefault(index, self._clock.monotonic())
        if text := self._join(index, text):
            self._tell(ThinkingDelta(message_id=self.reply.message_id, index=index, text=text))

    def _tool_started(self, index: int, tool_use_id: str, name: str) -> None:
        self._ids[index] = self._conversation.unique(tool_use_id, "toolu")
        self._tell(
            ToolUseStarted(
                message_id=self.reply.message_id,
                index=index,
                tool_use_id=self._ids[index],
                tool=name,
            )
        )

    def _block(self, event: ReplyBlock) -> None:
        block = event.block
        match block:
            case TextBlock():
                text = clean_text(block.text)
                if not text.strip():  # an endpoint may send one and refuses it when it comes back
                    self.reply.texts.pop(event.index, None)
                    return
                if event.index not in self.reply.texts:
                    self._text(event.index, text)
                block = TextBlock(text=text)
            case ThinkingBlock() | RedactedThinkingBlock():
                self._thinking_done(event.index)
            case ToolUseBlock():
                if event.index not in self._ids:
                    self._tool_started(event.index, block.id, block.name)
                block = ToolUseBlock(
                    id=self._ids[event.index],
                    name=clean_text(block.name),
                    input=clean_object(block.input),
                )
        self.reply.blocks[event.index] = block
        if isinstance(block, ToolUseBlock):
            self._on_tool_use(block, event.broken_input)

    def _thinking_done(self, index: int) -> None:
        since = self._thinking_since.get(index)
        if since is not None:
            self._tell(
                ThinkingDelta(
                    message_id=self.reply.message_id,
                    index=index,
                    text="",
                    seconds=round(self._clock.monotonic() - since, 3),
                )
            )
