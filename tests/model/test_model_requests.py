"""What is sent: the exact body, its cache marks, and that it is stable from turn to turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.messages import (
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from agent_kernel.model.capabilities import UNKNOWN, ModelFacts, facts_from_table
from agent_kernel.model.offline.validate import InvalidRequest, validate_request
from agent_kernel.model.request import IDENTITY, build_body, place_marks, thinking_of
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.model_types import (
    ApiAssistantMessage,
    ApiUserMessage,
    Capabilities,
    ModelRequest,
    ReplyFinished,
    SystemBlock,
    ToolSpec,
)
from agent_kernel.testing.model import a_request

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJ"
    "RU5ErkJggg=="
)
MARK = {"type": "ephemeral"}
READ = ToolSpec(name="Read", description="Reads.", input_schema={"type": "object"})
BUDGET = ModelFacts(
    capabilities=Capabilities(max_output_tokens=8_000, thinking=True, known=True),
    thinking_style="budget",
)


def user(*content: Any) -> ApiUserMessage:
    return ApiUserMessage(content=content)


def text(value: str) -> TextBlock:
    return TextBlock(text=value)


CONVERSATION = (
    user(text("Look."), ImageBlock(media_type="image/png", data=PIXEL)),
    ApiAssistantMessage(
        content=(
            ThinkingBlock(thinking="Hm.", signature="c2ln"),
            RedactedThinkingBlock(data="b3Bh"),
            text("I look."),
            ToolUseBlock(id="toolu_1", name="Read", input={"file_path": "a"}),
        )
    ),
    user(
        ToolResultBlock(
            tool_use_id="toolu_1",
            content=(text("no"), ImageBlock(media_type="image/png", data=PIXEL)),
            is_error=True,
        )
    ),
)


async def test_the_body_on_the_wire_is_exactly_this(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    model_server.script([{"contains": "Look", "steps": ["one", "two"]}])
    request = ModelRequest(
        model="claude-haiku-4-5",
        system=(SystemBlock(text="Static.", cache=True), SystemBlock(text="Dynamic.")),
        messages=CONVERSATION,
        tools=(READ,),
        max_tokens=4_000,
        stop_sequences=("END",),
        thinking_budget=500,
    )
    client = model_server.client(tmp_path)
    events = [event async for event in client.stream(request)]
    await client.close()
    assert isinstance(events[-1], ReplyFinished)
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
    }
    assert model_server.requests == [
        {
            "model": "claude-haiku-4-5",
            "max_tokens": 4_000,
            "stream": True,
            "stop_sequences": ["END"],
            "thinking": {"type": "enabled", "budget_tokens": 1_024},
            "system": [
                {"type": "text", "text": IDENTITY},
                {"type": "text", "text": "Static.", "cache_control": MARK},
                {"type": "text", "text": "Dynamic.", "cache_control": MARK},
            ],
            "tools": [
                {
                    "name": "Read",
                    "description": "Reads.",
                    "input_schema": {"type": "object"},
                    "cache_control": MARK,
                }
            ],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Look."}, image]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                        {"type": "redacted_thinking", "data": "b3Bh"},
                        {"type": "text", "text": "I look."},
                        {
                            "type": "tool_use",
                            "id": "toolu_1",
                            "name": "Read",
                            "input": {"file_path": "a"},
                        },
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "toolu_1",
                            "content": [{"type": "text", "text": "no"}, image],
                            "is_error": True,
                            "cache_control": MARK,
                        }
                    ],
                },
            ],
        }
    ]


def unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: unmarked(item) for key, item in value.items() if key != "cache_control"}
    return [unmarked(item) for item in value] if isinstance(value, list) else value


def test_the_earlier_part_of_a_request_does_not_change_from_turn_to_turn() -> None:
    system = (SystemBlock(text="Static.", cache=True), SystemBlock(text="Dynamic."))
    first = ModelRequest(model="m", system=system, messages=CONVERSATION[:1], tools=(READ,))
    second = first.model_copy(update={"messages": CONVERSATION})
    one, two = (unmarked(build_body(request, UNKNOWN)) for request in (first, second))
    assert json.dumps(two["messages"][:1]) == json.dumps(one["messages"])
    assert {**two, "messages": 0} == {**one, "messages": 0}
    assert build_body(second, UNKNOWN) == build_body(second, UNKNOWN)


def block_strategy() -> st.SearchStrategy[dict[str, Any]]:
    kinds = st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image"])
    marks = st.sampled_from([{}, {"cache_control": MARK}])
    return st.builds(lambda kind, mark: {"type": kind, "text": "t", **mark}, kinds, marks)


@given(
    system=st.lists(block_strategy(), max_size=4),
    tools=st.lists(block_strategy(), max_size=4),
    messages=st.lists(
        st.builds(lambda c: {"content": c}, st.lists(block_strategy(), max_size=4)), max_size=4
    ),
    static_end=st.integers(0, 6),
)
def test_marks_are_at_most_four_and_never_on_thinking(
    system: list[Any], tools: list[Any], messages: list[Any], static_end: int
) -> None:
    for block in (*system, *tools):
        block["type"] = "text"
    place_marks({"system": system, "tools": tools, "messages": messages}, static_end=static_end)
    blocks = [*system, *tools, *(b for message in messages for b in message["content"])]
    marked = [block for block in blocks if "cache_control" in block]
    assert len(marked) <= 4
    assert all(block["type"] != "thinking" for block in marked)


@pytest.mark.parametrize(
    ("budget", "max_tokens", "sent"),
    [
        (None, 8_000, None),
        (0, 8_000, None),
        (500, 8_000, 1_024),
        (5_000, 8_000, 5_000),
        (9_000, 8_000, 7_999),
        (5_000, 1_024, None),
    ],
)
def test_a_thinking_budget_is_kept_within_what_the_api_takes(
    budget: int | None, max_tokens: int, sent: int | None
) -> None:
    thinking = thinking_of(budget, max_tokens, BUDGET)
    assert thinking == (None if sent is None else {"type": "enabled", "budget_tokens": sent})


def test_models_that_think_by_themselves_are_asked_to_show_it() -> None:
    facts = facts_from_table("claude-sonnet-5-5")
    assert thinking_of(None, 8_000, facts) == {"type": "adaptive", "display": "summarized"}


def test_a_model_nobody_knows_gets_no_thinking_and_a_modest_output() -> None:
    body = build_body(a_request(model="llama"), UNKNOWN)
    assert "thinking" not in body
    assert body["max_tokens"] == 8_192


def test_more_output_than_a_known_model_has_is_not_asked_for() -> None:
    request = a_request().model_copy(update={"max_tokens": 1_000_000})
    assert build_body(request, BUDGET)["max_tokens"] == 8_000
    assert build_body(request, UNKNOWN)["max_tokens"] == 1_000_000


async def test_half_a_character_in_a_request_does_not_stop_it(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    model_server.script([{"reply": "ok"}])
    client = model_server.client(tmp_path)
    events = [event async for event in client.stream(a_request("file \udce4.txt"))]
    await client.close()
    assert isinstance(events[-1], ReplyFinished)
    assert model_server.requests[0]["messages"][0]["content"][0]["text"] == "file �.txt"


def test_what_the_adapter_builds_passes_the_checks_of_the_server() -> None:
    body = build_body(ModelRequest(model="m", messages=CONVERSATION, tools=(READ,)), UNKNOWN)
    validate_request(body)
    with pytest.raises(InvalidRequest):
        validate_request({**body, "messages": body["messages"][:2]})
