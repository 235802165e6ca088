"""Properties of normalising, for any sequence of stored messages."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.context.boundary import snipped
from agent_kernel.context.normalise import (
    Normaliser,
    normalise,
)
from agent_kernel.context.text import reminder
from agent_kernel.messages import (
    AssistantMessage,
    AttachmentMessage,
    CompactBoundary,
    ImageBlock,
    Message,
    RedactedThinkingBlock,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    TombstoneMessage,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_kernel.model.offline.validate import validate_request
from agent_kernel.model_types import ApiAssistantMessage, ApiMessage, ApiUserMessage
from tests.support.messages import assistant, result, use, user

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0" + b"0" * 40).decode()

TEXTS = st.sampled_from(["", " ", "\n", "hi", "hi ", "\ud83c", reminder("note"), "go\u2028on"])
IDS = st.sampled_from(["a", "b", "call/0", ""])
IMAGES = st.builds(
    ImageBlock,
    media_type=st.sampled_from(["image/png", "image/webp"]),
    data=st.sampled_from([PNG, JPEG, "", "%%%", "AAAA"]),
)
RESULT_CONTENT = st.builds(TextBlock, text=TEXTS) | IMAGES
RESULTS = st.builds(
    ToolResultBlock,
    tool_use_id=IDS,
    content=st.lists(RESULT_CONTENT, max_size=3).map(tuple),
    is_error=st.booleans(),
)
USES = st.builds(
    ToolUseBlock,
    id=IDS,
    name=st.sampled_from(["Read", "a b", ""]),
    input=st.dictionaries(TEXTS, TEXTS, max_size=2),
)
THINKING = st.builds(
    ThinkingBlock, thinking=TEXTS, signature=st.sampled_from(["", "s"])
) | st.builds(RedactedThinkingBlock, data=st.just("d"))
UUIDS = st.sampled_from(["", "u1", "u2", "u3"])
MESSAGES = st.lists(
    st.one_of(
        st.builds(
            UserMessage,
            uuid=UUIDS,
            content=st.lists(st.builds(TextBlock, text=TEXTS) | IMAGES | RESULTS, max_size=4).map(
                tuple
            ),
            is_meta=st.booleans(),
        ),
        st.builds(
            AssistantMessage,
            uuid=UUIDS,
            message_id=st.sampled_from(["m1", "m2"]),
            content=st.lists(st.builds(TextBlock, text=TEXTS) | USES | THINKING, max_size=4).map(
                tuple
            ),
            complete=st.booleans(),
        ),
        st.builds(
            AttachmentMessage,
            uuid=UUIDS,
            kind=st.just("x"),
            content=st.lists(RESULT_CONTENT, max_size=2).map(tuple),
        ),
        st.builds(SystemMessage, uuid=UUIDS, text=TEXTS, is_command_output=st.booleans()),
        st.builds(TombstoneMessage, uuid=st.just(""), target_uuid=UUIDS),
        st.builds(CompactBoundary, uuid=st.just("")),
    ),
    max_size=12,
)


@given(MESSAGES)
def test_any_sequence_becomes_a_valid_request(messages: list[Message]) -> None:
    api = normalise(messages)
    body: dict[str, Any] = {
        "model": "m",
        "max_tokens": 1000,
        "messages": [_wire(message) for message in api],
    }
    last = api[-1]
    if isinstance(last, ApiAssistantMessage):  # the loop only asks after a user message
        body["messages"].append({"role": "user", "content": "go on"})
    _check(api)
    validate_request(body)


@given(MESSAGES)
def test_normalising_twice_is_the_same_as_once(messages: list[Message]) -> None:
    once = normalise(messages)
    again = normalise(
        UserMessage(uuid="", content=m.content)
        if isinstance(m, ApiUserMessage)
        else AssistantMessage(uuid="", message_id=f"n{i}", content=m.content)
        for i, m in enumerate(once)
    )
    assert again == once


@given(MESSAGES)
def test_message_by_message_is_the_same_as_all_at_once(messages: list[Message]) -> None:
    counted = snipped(messages)
    normaliser = Normaliser()
    for end, message in enumerate(counted, start=1):
        normaliser.add(message)
        assert normaliser.result() == normalise(counted[:end])


def test_what_is_settled_is_not_made_again() -> None:
    normaliser = Normaliser()
    for message in (user("go"), assistant(use("a")), user(result("a")), assistant("b", id="n")):
        normaliser.add(message)
    normaliser.add(user("more"))
    before = normaliser.result()
    normaliser.add(assistant("c", id="o"))
    normaliser.add(user("again"))
    assert [a is b for a, b in zip(before, normaliser.result(), strict=False)][:3] == [True] * 3


def _wire(message: ApiMessage) -> dict[str, Any]:
    dumped = message.model_dump(mode="json")
    for block in dumped["content"]:
        _image_source(block)
        for inner in block.get("content", ()) if block["type"] == "tool_result" else ():
            _image_source(inner)
    return dumped


def _image_source(block: dict[str, Any]) -> None:
    if block["type"] == "image":
        block["source"] = {
            "type": "base64",
            "media_type": block.pop("media_type"),
            "data": block.pop("data"),
        }


def _check(api: tuple[ApiMessage, ...]) -> None:
    """Our own reading of the rules, beside the server's."""
    assert api[0].role == "user"
    calls: list[str] = []
    seen: set[str] = set()
    for before, message in zip((None, *api), api, strict=False):
        assert before is None or before.role != message.role
        assert message.content
        if isinstance(message, ApiAssistantMessage):
            assert any(isinstance(b, TextBlock | ToolUseBlock) for b in message.content)
            calls = [b.id for b in message.content if isinstance(b, ToolUseBlock)]
            assert len(set(calls)) == len(calls)
            assert not seen & set(calls)
            seen |= set(calls)
        else:
            results = [b.tool_use_id for b in message.content if isinstance(b, ToolResultBlock)]
            assert results == calls
            head = message.content[: len(results)]
            assert all(isinstance(b, ToolResultBlock) for b in head)
            calls = []
        for block in message.content:
            assert not isinstance(block, TextBlock) or block.text.strip()
    assert calls == []
