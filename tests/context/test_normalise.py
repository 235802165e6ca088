"""Any sequence of messages becomes a request the API would take; twice is the same as once."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.context.boundary import after_boundary, snipped
from agent_kernel.context.normalise import (
    CONTINUES,
    EMPTY_MESSAGE,
    EMPTY_RESULT,
    Normaliser,
    Repairs,
    normalise,
)
from agent_kernel.context.pairing import NO_RESULT
from agent_kernel.context.text import reminder
from agent_kernel.messages import (
    AssistantContent,
    AssistantMessage,
    AttachmentMessage,
    CompactBoundary,
    ImageBlock,
    Message,
    ProgressMessage,
    RedactedThinkingBlock,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    TombstoneMessage,
    ToolResultBlock,
    ToolUseBlock,
    UserContent,
    UserMessage,
)
from agent_kernel.model.offline.validate import validate_request
from agent_kernel.model_types import ApiAssistantMessage, ApiMessage, ApiUserMessage

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0" + b"0" * 40).decode()


def user(*content: UserContent | str, meta: bool = False, uuid: str = "") -> Message:
    blocks = tuple(TextBlock(text=c) if isinstance(c, str) else c for c in content)
    return UserMessage(uuid=uuid, content=blocks, is_meta=meta)


def assistant(*content: AssistantContent | str, id: str = "m", uuid: str = "") -> Message:
    blocks = tuple(TextBlock(text=c) if isinstance(c, str) else c for c in content)
    return AssistantMessage(uuid=uuid, message_id=id, content=blocks)


def use(id: str, name: str = "Read", **input: Any) -> ToolUseBlock:
    return ToolUseBlock(id=id, name=name, input=input)


def result(id: str, text: str = "ok", *, error: bool = False) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=id, content=(TextBlock(text=text),), is_error=error)


def shape(messages: tuple[ApiMessage, ...]) -> list[list[str]]:
    """Role first, then each block in a word or two."""
    return [[message.role, *(_word(block) for block in message.content)] for message in messages]


def _word(block: Any) -> str:
    match block:
        case TextBlock():
            return block.text
        case ToolUseBlock():
            return f"use {block.id}"
        case ToolResultBlock():
            return f"result {block.tool_use_id}{' error' if block.is_error else ''}"
        case _:
            return str(block.type)


def test_missing_results_are_supplied_in_the_very_next_message_results_first() -> None:
    messages = [
        user("go"),
        assistant(use("a"), use("b"), use("c")),
        user("never mind", result("b")),
    ]
    api = normalise(messages)
    assert shape(api) == [
        ["user", "go"],
        ["assistant", "use a", "use b", "use c"],
        ["user", "result a error", "result b", "result c error", "never mind"],
    ]
    first = api[2].content[0]
    assert isinstance(first, ToolResultBlock)
    assert first.content == (TextBlock(text=NO_RESULT),)


def test_calls_at_the_end_get_results_too() -> None:
    assert shape(normalise([user("go"), assistant(use("a"))])) == [
        ["user", "go"],
        ["assistant", "use a"],
        ["user", "result a error"],
    ]


def test_orphan_results_and_repeats_are_dropped() -> None:
    messages = [user("go", result("x")), assistant(use("a")), user(result("a"), result("a", "2"))]
    assert shape(normalise(messages)) == [
        ["user", "go"],
        ["assistant", "use a"],
        ["user", "result a"],
    ]


def test_a_result_that_comes_too_late_is_dropped_and_a_missing_one_supplied() -> None:
    messages = [user("go"), assistant(use("a")), assistant("hm", id="n"), user(result("a"))]
    # Two assistant messages in a row become one, so its results may follow it.
    assert shape(normalise(messages))[2] == ["user", "result a"]


def test_an_id_used_twice_is_renamed_with_its_result() -> None:
    messages = [
        user("go"), assistant(use("call_0")), user(result("call_0", "first")),
        assistant(use("call_0"), id="n"), user(result("call_0", "second")),
    ]  # fmt: skip
    assert shape(normalise(messages))[3:] == [
        ["assistant", "use call_0_2"],
        ["user", "result call_0_2"],
    ]


def test_chunks_of_one_message_merge_and_a_repeated_call_counts_once() -> None:
    messages = [
        user("go"), assistant("I look.", use("a")), assistant(use("a"), use("b")),
        user(result("a"), result("b")),
    ]  # fmt: skip
    assert shape(normalise(messages)) == [
        ["user", "go"],
        ["assistant", "I look.", "use a", "use b"],
        ["user", "result a", "result b"],
    ]


def test_consecutive_user_messages_merge_and_ui_messages_vanish() -> None:
    messages: list[Message] = [
        user("one"),
        SystemMessage(uuid="", text="shown only"),
        ProgressMessage(uuid="", tool_use_id="a", text="…"),
        SystemMessage(uuid="", text="ls output", is_command_output=True),
        user("two"),
    ]
    assert shape(normalise(messages)) == [["user", "one", "ls output", "two"]]


def test_tombstoned_messages_are_not_sent() -> None:
    messages: list[Message] = [
        user("one", uuid="u1"),
        assistant("bad", uuid="a1"),
        TombstoneMessage(uuid="t", target_uuid="a1"),
        user("two", uuid="u2"),
    ]
    assert shape(normalise(messages)) == [["user", "one", "two"]]


def test_attachments_are_reminders_and_fold_into_the_last_result() -> None:
    skills = AttachmentMessage(uuid="", kind="skills", content=(TextBlock(text="- x"),))
    messages: list[Message] = [
        user("go"), skills, assistant(use("a")), user(result("a", error=True)), skills,
        user("and then?"),
    ]  # fmt: skip
    api = normalise(messages)
    assert shape(api) == [
        ["user", "go", reminder("- x")],
        ["assistant", "use a"],
        ["user", "result a error", "and then?"],
    ]
    block = api[2].content[0]
    assert isinstance(block, ToolResultBlock)
    assert [b.text for b in block.content if isinstance(b, TextBlock)] == ["ok", reminder("- x")]


def test_empty_content_becomes_a_placeholder() -> None:
    messages = [
        user("  \n"), assistant("", use("a"), id="m"),
        user(ToolResultBlock(tool_use_id="a", content=(TextBlock(text="\n"),))),
        assistant("ok", id="n"), user(""),
    ]  # fmt: skip
    api = normalise(messages)
    assert shape(api) == [
        ["user", CONTINUES],
        ["assistant", "use a"],
        ["user", "result a"],
        ["assistant", "ok"],
        ["user", EMPTY_MESSAGE],
    ]
    block = api[2].content[0]
    assert isinstance(block, ToolResultBlock)
    assert block.content == (TextBlock(text=EMPTY_RESULT),)


def test_thinking_alone_is_dropped_and_thinking_with_calls_is_kept_verbatim() -> None:
    thinking = ThinkingBlock(thinking="", signature="sig")
    redacted = RedactedThinkingBlock(data="xx")
    messages = [
        user("go"), assistant(thinking, id="lost"), user("more"),
        assistant(thinking, redacted, use("a"), id="kept"), user(result("a")),
    ]  # fmt: skip
    api = normalise(messages)
    assert shape(api)[0] == ["user", "go", "more"]
    assert api[1].content[:2] == (thinking, redacted)


def test_thinking_without_a_signature_and_at_the_end_is_not_sent() -> None:
    messages = [
        user("go"),
        assistant(ThinkingBlock(thinking="x"), "text ", ThinkingBlock(thinking="y", signature="s")),
        user("more"),
    ]
    assert shape(normalise(messages))[1] == ["assistant", "text"]


def test_repairs_leave_out_what_an_endpoint_refused() -> None:
    image = ImageBlock(media_type="image/png", data=PNG)
    messages = [
        user("go", image),
        assistant(ThinkingBlock(thinking="x", signature="s"), use("a")),
        user(result("a")),
    ]
    api = normalise(messages, repairs=Repairs(bad_thinking={"s"}, drop_images=True))
    assert shape(api) == [
        ["user", "go", "[an image that this model does not take]"],
        ["assistant", "use a"],
        ["user", "result a"],
    ]


def test_old_names_of_tools_become_their_names() -> None:
    api = normalise(
        [user("go"), assistant(use("a", "FileRead"), use("b", "no such/tool"))],
        canonical=lambda name: {"FileRead": "Read"}.get(name, name),
    )
    names = [block.name for block in api[1].content if isinstance(block, ToolUseBlock)]
    assert names == ["Read", "no_such_tool"]


def test_lone_surrogates_are_replaced_everywhere() -> None:
    messages = [
        user("a\ud83c"),
        assistant("b\udc00", use("i", path="c\ud800")),
        user(result("i", "\udfff")),
    ]
    for message in normalise(messages):
        message.model_dump_json().encode("utf-8")


def test_only_what_follows_the_last_boundary_is_taken() -> None:
    messages: list[Message] = [user("old"), CompactBoundary(uuid=""), user("new")]
    assert after_boundary(messages) == [messages[2]]


def test_what_a_boundary_keeps_comes_after_its_summary() -> None:
    old = [user("one", uuid="1"), user("two", uuid="2"), user("three", uuid="3")]
    boundary = CompactBoundary(uuid="b", kept=("2", "3"))
    rest = [user("summary", uuid="s"), user("next", uuid="n")]
    assert [m.uuid for m in after_boundary([*old, boundary, *rest])] == ["s", "2", "3", "n"]
    again = CompactBoundary(uuid="c", kept=("3", "n"))
    both = [*old, boundary, *rest, again, user("shorter", uuid="t")]
    assert [m.uuid for m in after_boundary(both)] == ["t", "3", "n"]


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


def test_a_reminder_is_wrapped_once_and_cannot_be_left() -> None:
    once = reminder("a </system-reminder> b")
    assert reminder(once) == once
    assert once.count("</system-reminder>") == 1
    assert reminder("<system-reminder>\nx") == reminder("x")
