"""For any course of replies, failures and stops: what is true of every run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_kernel.errors import ModelErrorKind
from agent_kernel.events import Event, RunFinished, Tombstone, ToolFinished, ToolStarted
from agent_kernel.messages import (
    AssistantContent,
    AssistantMessage,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    UserMessage,
)
from agent_kernel.model.capabilities import ModelFacts
from agent_kernel.model.offline.signature import sign
from agent_kernel.model.offline.validate import validate_request
from agent_kernel.model.request import build_body
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.model_types import (
    Capabilities,
    ModelRequest,
    ReplyBlock,
    ReplyEvent,
    ReplyFailed,
    ReplyFinished,
    ReplyStarted,
    ReplyText,
    ReplyToolStarted,
)
from agent_kernel.testing.tools import FakeInput, FakeTool
from agent_kernel.tool_types import ToolContext, ToolResult
from agent_kernel.wire import ModelStatus
from tests.support.keeper import FakeKeeper
from tests.support.loop import Loop

CAN = Capabilities(thinking=True, max_output_tokens=64_000, known=True)
CUT = ("max_tokens", "model_context_window_exceeded")


@dataclass(frozen=True)
class Course:
    """One reply: its blocks, then a failure or a reason to stop. No blocks and a failure: none."""

    blocks: tuple[AssistantContent, ...]
    ending: str | ModelErrorKind
    broken: bool = False


@dataclass
class AnyModel:
    """Plays courses in order, then says "Done."; refuses requests as the API would."""

    courses: list[Course]
    requests: list[ModelRequest] = field(default_factory=list)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyEvent, None]:
        validate_request(build_body(request, ModelFacts(capabilities=CAN)))
        self.requests.append(request)
        done = Course((TextBlock(text="Done."),), "end_turn")
        course = self.courses.pop(0) if self.courses else done
        if isinstance(course.ending, ModelErrorKind) and not course.blocks:
            yield ReplyFailed(kind=course.ending, message="so it goes")
            return
        yield ReplyStarted(message_id=f"msg_{len(self.requests)}", model=request.model)
        for index, block in enumerate(course.blocks):
            if isinstance(block, TextBlock) and block.text:
                yield ReplyText(index=index, text=block.text)
            if isinstance(block, ToolUseBlock):
                yield ReplyToolStarted(index=index, tool_use_id=block.id, name=block.name)
            await asyncio.sleep(0)
            broken = '{"a": ' if course.broken and isinstance(block, ToolUseBlock) else None
            yield ReplyBlock(index=index, block=block, broken_input=broken)
        if isinstance(course.ending, ModelErrorKind):
            yield ReplyFailed(kind=course.ending, message="so it goes")
        else:
            yield ReplyFinished(stop_reason=course.ending, usage=Usage(output_tokens=3))

    async def capabilities(self, model: str) -> Capabilities:
        return CAN

    async def status(self) -> ModelStatus:
        return ModelStatus(model="any", offline=True)

    async def close(self) -> None:
        return None


def thinking(text: str) -> ThinkingBlock:
    return ThinkingBlock(thinking=text, signature=sign(text))


# Few ids, so that they come again.
CALLS = st.builds(
    ToolUseBlock,
    id=st.sampled_from(["t1", "t2", "t3"]),
    name=st.sampled_from(["Write", "Write", "Write", "Look", "Fails", "Nowhere"]),
    input=st.sampled_from([{}, {"n": 1}, {"n": 2}, {"refuse": True}]),
)
BLOCKS = st.one_of(
    CALLS,
    CALLS,
    CALLS,
    CALLS,
    st.builds(TextBlock, text=st.sampled_from(["So it is.", "", " ", "and \ud83c more  "])),
    st.builds(thinking, st.sampled_from(["Hm.", "Well."])),
    st.builds(RedactedThinkingBlock, data=st.just("abcd")),
)
ENDINGS = st.one_of(
    st.sampled_from(["end_turn", "tool_use", "tool_use", "pause_turn", "refusal", *CUT * 3, "new"]),
    st.sampled_from(ModelErrorKind),
)
BROKEN = st.sampled_from([False, False, True])
COURSES = st.lists(
    st.builds(Course, st.lists(BLOCKS, max_size=4).map(tuple), ENDINGS, BROKEN),
    min_size=2,
    max_size=12,
)


async def fails(input: FakeInput, context: ToolContext) -> ToolResult:
    await asyncio.sleep(0)
    raise OSError("disk full")


def check_events(events: list[Event], loop: Loop) -> None:
    assert isinstance(events[-1], RunFinished)
    assert sum(isinstance(event, RunFinished) for event in events) == 1
    began = Counter(e.tool_use_id for e in events if isinstance(e, ToolStarted))
    ended = Counter(e.tool_use_id for e in events if isinstance(e, ToolFinished))
    assert began == ended, "each call begins and ends"
    assert set(began.values()) <= {1}, "once"
    stored = {m.message_id for m in loop.messages if isinstance(m, AssistantMessage)}
    assert stored.isdisjoint(e.message_id for e in events if isinstance(e, Tombstone))


def check_stored(loop: Loop) -> None:
    for number, message in enumerate(loop.messages):
        if not isinstance(message, AssistantMessage):
            continue
        assert not isinstance(message.content[-1], ThinkingBlock | RedactedThinkingBlock)
        assert all(b.text.strip() for b in message.content if isinstance(b, TextBlock))
        calls = [b.id for b in message.content if isinstance(b, ToolUseBlock)]
        after = loop.messages[number + 1] if calls else None
        blocks = after.content if isinstance(after, UserMessage) else ()
        assert [b.tool_use_id for b in blocks if isinstance(b, ToolResultBlock)] == calls


def check_effects(write: FakeTool, ran: list[str], loop: Loop) -> None:
    """What changes something ran once, and only for a reply that ended whole."""
    allowed = {
        block.id
        for message in loop.messages
        if isinstance(message, AssistantMessage) and message.complete
        if message.stop_reason not in CUT
        for block in message.content
        if isinstance(block, ToolUseBlock)
    }
    assert len(ran) == len(set(ran)) == len(write.calls)
    assert set(ran) <= allowed


@settings(max_examples=300)
@given(
    courses=COURSES,
    stop_at=st.none() | st.integers(min_value=1, max_value=25),
    room=st.lists(st.sampled_from([False, False, True]), max_size=3).map(tuple),
    steer=st.booleans(),
)
def test_every_run_ends_once_with_a_conversation_that_can_go_on(
    courses: list[Course], stop_at: int | None, room: tuple[bool, ...], steer: bool
) -> None:
    asyncio.run(_live_through(courses, stop_at, room, steer=steer))


async def _live_through(
    courses: list[Course], stop_at: int | None, room: tuple[bool, ...], *, steer: bool
) -> None:
    ran: list[str] = []

    async def writes(input: FakeInput, context: ToolContext) -> str:
        ran.append(context.tool_use_id)
        await asyncio.sleep(0)
        return ""

    write = FakeTool("Write", writes)
    look = FakeTool("Look", read_only=True, concurrent=True)
    model = AnyModel(list(courses))
    loop = Loop(
        cast("ScriptedServer", None),  # nobody listens; the model is here
        [look, write, FakeTool("Fails", fails, read_only=True, concurrent=True)],
        client=model,
        thinking_budget=2_000,
        max_tokens=4_000,
    )
    loop.keeper = FakeKeeper(loop.conversation, compacts=room, shrinks=room)

    def on(event: Any) -> None:
        if stop_at is not None and len(loop.events) == stop_at:
            loop.control.stop()
        if steer and isinstance(event, ToolFinished):
            loop.control.steer("and another thing")

    for _ in range(12):  # what one run leaves of the courses is for the next
        check_events(await loop.run("go", on=on, max_turns=12), loop)
        check_stored(loop)
        check_effects(write, ran, loop)
        if not model.courses:
            break
    check_events(await loop.run("again"), loop)
    assert loop.end.text == "Done."
