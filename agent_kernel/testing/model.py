"""A scripted ``ModelClient`` without a server, and what every client must do.

Most tests want the real client against the scripted server (``agent_kernel.model.scripted``); this
one is for parts that should be tested with no socket at all.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from agent_kernel.errors import ModelErrorKind
from agent_kernel.messages import (
    AssistantContent,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    Usage,
)
from agent_kernel.model_types import (
    ApiUserMessage,
    Capabilities,
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
from agent_kernel.protocols import ModelClient
from agent_kernel.wire import ModelStatus

Reply = Sequence[AssistantContent] | ReplyFailed | None


class ScriptedModel:
    """Gives the replies in order: blocks, a failure, or None, which is silence without end."""

    def __init__(self, *replies: Reply, model: str = "scripted") -> None:
        self._replies = list(replies)
        self._model = model
        self.requests: list[ModelRequest] = []
        self.closed = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyEvent, None]:
        """The next reply, a text block in two pieces."""
        self.requests.append(request)
        reply = self._replies.pop(0) if self._replies else [TextBlock(text="No reply is left.")]
        try:
            if isinstance(reply, ReplyFailed):
                yield reply
                return
            name = f"msg_{len(self.requests)}"
            yield ReplyStarted(message_id=name, model=request.model)
            if reply is None:
                await asyncio.Event().wait()
                return
            for index, block in enumerate(reply):
                for event in _pieces(index, block):
                    yield event
                yield ReplyBlock(index=index, block=block)
            calls = any(isinstance(block, ToolUseBlock) for block in reply)
            yield ReplyFinished(stop_reason="tool_use" if calls else "end_turn", usage=Usage())
        finally:
            self.closed += 1

    async def capabilities(self, model: str) -> Capabilities:
        return Capabilities(thinking=True, known=model == self._model)

    async def status(self) -> ModelStatus:
        return ModelStatus(model=self._model, offline=True)

    async def close(self) -> None:
        return None


def _pieces(index: int, block: AssistantContent) -> Sequence[ReplyEvent]:
    match block:
        case TextBlock(text=text):
            half = len(text) // 2
            parts = [part for part in (text[:half], text[half:]) if part]
            return [ReplyText(index=index, text=part) for part in parts]
        case ThinkingBlock(thinking=text):
            return [ReplyThinking(index=index, text=text)]
        case ToolUseBlock(id=name):
            raw = ToolUseBlock.model_dump_json(block, include={"input"})[len('{"input":') : -1]
            return [
                ReplyToolStarted(index=index, tool_use_id=name, name=block.name),
                ReplyToolInput(index=index, tool_use_id=name, partial_json=raw),
            ]
        case _:
            return []


def check_reply(events: Sequence[ReplyEvent]) -> None:
    """Assert what is true of every reply, whole or failed, of every client."""
    assert events, "a reply has at least one event"
    finals = [event for event in events if isinstance(event, ReplyFinished | ReplyFailed)]
    assert finals == [events[-1]], "one final event, and it is the last"
    if isinstance(events[0], ReplyFailed):
        return
    assert isinstance(events[0], ReplyStarted), "a reply that began says so first"
    said: dict[int, str] = {}
    done: set[int] = set()
    for event in events[1:-1]:
        match event:
            case ReplyText(index=index, text=text) | ReplyThinking(index=index, text=text):
                assert index not in done, "nothing is added to a block that is complete"
                said[index] = said.get(index, "") + text
            case ReplyToolStarted(index=index) | ReplyToolInput(index=index):
                assert index not in done, "nothing is added to a block that is complete"
            case ReplyBlock(index=index, block=block):
                assert index not in done, "a block is complete once"
                done.add(index)
                if isinstance(block, TextBlock):
                    assert said.get(index, "") == block.text, "the pieces make the block"
                if isinstance(block, ThinkingBlock):
                    assert said.get(index, "") == block.thinking, "the pieces make the block"
            case _:
                raise AssertionError(f"{event.type} inside a reply")
    if isinstance(events[-1], ReplyFinished):
        assert set(said) <= done, "a reply that ended whole left no block open"


class ModelClientConformance(ABC):
    """What holds for every ``ModelClient``. Subclass it in a test module; name it ``Test…``."""

    @abstractmethod
    def client_that_says(self, *replies: Reply) -> ModelClient:
        """A client whose model gives these replies, one after the other."""

    async def _reply(self, client: ModelClient) -> list[ReplyEvent]:
        return [event async for event in client.stream(a_request())]

    async def test_a_text_comes_in_pieces_and_then_whole(self) -> None:
        client = self.client_that_says([TextBlock(text="Good morning.")])
        events = await self._reply(client)
        check_reply(events)
        blocks = [event.block for event in events if isinstance(event, ReplyBlock)]
        assert blocks == [TextBlock(text="Good morning.")]
        await client.close()

    async def test_a_tool_call_is_announced_before_its_input_is_complete(self) -> None:
        call = ToolUseBlock(id="toolu_1", name="Read", input={"file_path": "a", "limit": 2})
        client = self.client_that_says([TextBlock(text="I look."), call])
        events = await self._reply(client)
        check_reply(events)
        kinds = [event.type for event in events if getattr(event, "index", 0) == 1]
        assert kinds[0] == "reply_tool_started"
        assert kinds[-1] == "reply_block"
        blocks = [event.block for event in events if isinstance(event, ReplyBlock)]
        assert blocks[1] == call
        await client.close()

    async def test_a_failure_is_an_event_and_the_next_call_works(self) -> None:
        failure = ReplyFailed(kind=ModelErrorKind.OVERLOADED, message="busy", status=529)
        client = self.client_that_says(failure, [TextBlock(text="Now.")])
        events = await self._reply(client)
        check_reply(events)
        assert events == [failure]
        check_reply(await self._reply(client))
        await client.close()

    async def test_a_cancelled_reply_raises_nothing_else_and_the_next_call_works(self) -> None:
        client = self.client_that_says(None, [TextBlock(text="Still here.")])
        began = asyncio.Event()

        async def read() -> None:
            async for _ in client.stream(a_request()):
                began.set()

        task = asyncio.create_task(read())
        await began.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        check_reply(await self._reply(client))
        await client.close()

    async def test_a_reply_that_is_left_early_can_be_closed(self) -> None:
        client = self.client_that_says([TextBlock(text="Long story.")], [TextBlock(text="Next.")])
        stream = client.stream(a_request())
        assert isinstance(stream, AsyncGenerator)
        async with aclosing(stream):
            assert isinstance(await anext(stream), ReplyStarted)
        check_reply(await self._reply(client))
        await client.close()

    async def test_status_and_capabilities_can_be_asked_before_any_call(self) -> None:
        client = self.client_that_says()
        assert (await client.status()).model
        assert (await client.capabilities("a-model-nobody-knows")).context_window > 0
        await client.close()


def a_request(text: str = "hello", *, model: str = "claude-sonnet-5-5") -> ModelRequest:
    """A request with one user text."""
    return ModelRequest(model=model, messages=(ApiUserMessage(content=(TextBlock(text=text),)),))
