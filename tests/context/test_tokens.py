"""Counting looks at what is new only."""

from __future__ import annotations

from agent_kernel.context.tokens import IMAGE_TOKENS, count_tokens, estimate_text
from agent_kernel.messages import (
    AssistantMessage,
    ImageBlock,
    Message,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    UserMessage,
)


def test_the_last_usage_counts_and_only_what_follows_is_guessed() -> None:
    usage = Usage(input_tokens=10, cache_read_input_tokens=1_000, output_tokens=50)
    old = UserMessage(uuid="", content=(TextBlock(text="x" * 100_000),))
    reply = AssistantMessage(uuid="", message_id="m", content=(), usage=usage)
    new = UserMessage(uuid="", content=(TextBlock(text="y" * 350),))
    assert count_tokens([old, reply]) == 1_060
    assert count_tokens([old, reply, new]) == 1_060 + 101


def test_without_any_usage_everything_is_guessed() -> None:
    image = ImageBlock(media_type="image/png", data="AAAA")
    messages: list[Message] = [
        UserMessage(uuid="", content=(ToolResultBlock(tool_use_id="t", content=(image,)),)),
        AssistantMessage(uuid="", message_id="m", content=(ToolUseBlock(id="t", name="Read"),)),
        SystemMessage(uuid="", text="shown only"),
    ]
    tool = estimate_text("Read") + estimate_text("{}")
    assert count_tokens(messages, fixed=500) == 500 + IMAGE_TOKENS + tool
    assert count_tokens([]) == 0
