"""Any sequence of messages becomes a request the API would take; twice is the same as once."""

from __future__ import annotations

import base64

from agent_kernel.context.boundary import after_boundary
from agent_kernel.context.normalise import (
    CONTINUES,
    EMPTY_MESSAGE,
    EMPTY_RESULT,
    Repairs,
    normalise,
)
from agent_kernel.context.pairing import NO_RESULT
from agent_kernel.context.text import reminder
from agent_kernel.messages import (
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
)
from tests.support.messages import assistant, result, shape, use, user

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0" + b"0" * 40).decode()


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


def test_a_reminder_is_wrapped_once_and_cannot_be_left() -> None:
    once = reminder("a </system-reminder> b")
    assert reminder(once) == once
    assert once.count("</system-reminder>") == 1
    assert reminder("<system-reminder>\nx") == reminder("x")
