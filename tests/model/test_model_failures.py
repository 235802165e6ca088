"""How failures are read: kinds, messages, pauses."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.errors import ModelErrorKind
from agent_kernel.model.failures import failure_of_status, failure_of_type, retry_after
from agent_kernel.model.offline.validate import InvalidRequest, validate_request
from agent_kernel.model.reading import ReplyReader, parse_input
from agent_kernel.testing.model import check_reply

NOON = 1_767_268_800.0  # 2026-01-01 12:00:00 UTC


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Thu, 01 Jan 2026 13:00:30 +0100"}, 30.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "Soon, 99 Foo"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
    ],
)
def test_the_pause_is_read_from_seconds_and_from_dates(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, now=NOON) == seconds


@given(written=st.text(max_size=40))
def test_no_header_breaks_the_reading_of_the_pause(written: str) -> None:
    pause = retry_after({"retry-after": written}, now=NOON)
    assert pause is None or pause >= 0


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"type": "api_error", "message": "Sorry."}}, "Sorry."),
        ({"error": "no such model"}, "no such model"),
        ("<html><body><h1>Bad  gateway</h1></body></html>", "HTTP status 502: Bad gateway"),
        (None, "HTTP status 502"),
        ([], "HTTP status 502"),
        ({"error": {"type": "api_error"}}, "api_error"),
        ({"error": {}}, "The server reported an error."),
    ],
)
def test_every_error_body_gives_a_message_a_person_can_read(body: Any, message: str) -> None:
    failure = failure_of_status(502, body, {}, now=NOON)
    assert (failure.message, failure.kind) == (message, ModelErrorKind.SERVER)


def test_words_decide_only_among_invalid_requests() -> None:
    error = {"type": "overloaded_error", "message": "image service: prompt is too long"}
    assert failure_of_type(error).kind is ModelErrorKind.OVERLOADED


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(value=json_values)
def test_input_that_is_an_object_is_read_as_json_reads_it(value: Any) -> None:
    import json

    raw = json.dumps(value)
    parsed = parse_input(raw)
    if not isinstance(value, dict) or "NaN" in raw or "Infinity" in raw:
        assert parsed is None
    else:
        assert parsed == json.loads(raw)


@given(raw=st.text(max_size=40))
def test_no_input_breaks_the_parser(raw: str) -> None:
    parsed = parse_input(raw)
    assert parsed is None or isinstance(parsed, dict)


event_values = st.dictionaries(
    st.sampled_from(["type", "index", "delta", "content_block", "message", "usage", "error"]),
    json_values
    | st.sampled_from(["message_start", "content_block_start", "content_block_delta", 0, 1])
    | st.just({"type": "text", "text": "a"})
    | st.just({"type": "text_delta", "text": "b"})
    | st.just({"type": "tool_use", "id": "t", "name": "n", "input": {}})
    | st.just({"type": "input_json_delta", "partial_json": "{"}),
)


@given(events=st.lists(event_values, max_size=8))
def test_whatever_a_server_sends_the_reply_is_well_formed(events: list[Any]) -> None:
    import json

    reader = ReplyReader()
    told = list(reader.feed(None, '{"type": "message_start", "message": {"id": "m"}}'))
    for event in events:
        if reader.ended:
            break
        told += reader.feed(None, json.dumps(event))
    if not reader.ended:
        told.append(reader.cut())
    check_reply(told)


@given(
    body=st.fixed_dictionaries(
        {"model": json_values, "max_tokens": st.just(5), "messages": json_values},
        optional={"tools": json_values, "system": json_values, "thinking": json_values},
    )
    | json_values
)
def test_no_request_breaks_the_checks_of_the_server(body: Any) -> None:
    with contextlib.suppress(InvalidRequest):
        validate_request(body)
