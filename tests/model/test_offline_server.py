"""The server itself: what it refuses, how it is driven, how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from agent_kernel.model.offline import OfflineServer
from agent_kernel.model.offline.validate import InvalidRequest, validate_request
from agent_kernel.model.scripted import ScriptedServer

Json = dict[str, Any]
PNG_HEAD = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


def text(value: str, **more: Any) -> Json:
    return {"type": "text", "text": value, **more}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def call(id: str = "toolu_1", name: str = "Read", **more: Any) -> Json:
    return {"type": "tool_use", "id": id, "name": name, "input": {}, **more}


def result(id: str = "toolu_1", content: Any = "ok") -> Json:
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def body(*messages: Json, **more: Any) -> Json:
    return {"model": "m", "max_tokens": 100, "messages": list(messages), **more}


def png(width: int, height: int) -> Json:
    import base64

    data = PNG_HEAD + width.to_bytes(4, "big") + height.to_bytes(4, "big")
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


HI = text("hi")


@pytest.mark.parametrize(
    ("request_body", "words"),
    [
        ("nothing", "not valid JSON"),
        ({"model": "m", "messages": [user(HI)]}, "max_tokens: Field required"),
        (body(), "at least one message"),
        (body(assistant(HI)), 'first message must use the "user" role'),
        (body(user(text(""))), "text content blocks must be non-empty"),
        (body(user(text(" \n"))), "non-whitespace"),
        (body(user()), "non-empty content"),
        (body({"role": "robot", "content": "x"}), "role: Input should be"),
        (body(user(text("\ud83c"))), "no low surrogate"),
        (body(user(HI), assistant(call()), user(HI)), "`tool_use` ids were found without"),
        (body(user(HI), assistant(call())), "`tool_use` ids were found without"),
        (body(user(HI), assistant(HI), user(result())), "unexpected `tool_use_id`"),
        (
            body(user(HI), assistant(call()), user(result(), result())),
            "multiple `tool_result` blocks",
        ),
        (body(user(HI), assistant(call()), user(HI, result())), "must come before other content"),
        (
            body(user(HI), assistant(call(), call()), user(result())),
            "`tool_use` ids must be unique",
        ),
        (
            body(user(HI), assistant(call()), user(result()), assistant(call()), user(result())),
            "`tool_use` ids must be unique",
        ),
        (body(user(HI), assistant(text("so ")), user(HI), assistant(text("and "))), "whitespace"),
        (
            body(user(HI), assistant({"type": "thinking", "thinking": "a", "signature": "s"})),
            "cannot be `thinking`",
        ),
        (
            body(
                user(HI),
                assistant({"type": "thinking", "thinking": "a", "signature": ""}, HI),
                user(HI),
            ),
            "Invalid `signature`",
        ),
        (
            body(
                user(HI),
                assistant({"type": "thinking", "thinking": "a", "signature": "scripted-0"}, HI),
                user(HI),
            ),
            "Invalid `signature`",
        ),
        (body(user(call())), "not allowed in user messages"),
        (body(user(HI), assistant(call(name="my tool")), user(result())), "tool_use.name"),
        (body(user(HI), assistant(call(id="a b")), user(result("a b"))), "tool_use.id"),
        (body(user(HI), tools=[{"name": "a.b", "input_schema": {"type": "object"}}]), "tools.0"),
        (body(user(HI), tools=[{"name": "a", "input_schema": {}}]), "input_schema.type"),
        (
            body(user(HI), tools=[{"name": "a", "input_schema": {"type": "object"}}] * 2),
            "must be unique",
        ),
        (
            body(user(*[text("x", cache_control={"type": "ephemeral"})] * 5)),
            "A maximum of 4 blocks with cache_control",
        ),
        (body(user(HI), system=[text("")]), "system.0"),
        (
            body(user(HI), thinking={"type": "enabled", "budget_tokens": 500}),
            "greater than or equal to 1024",
        ),
        (
            body(user(HI), thinking={"type": "enabled", "budget_tokens": 2000}),
            "must be greater than `thinking.budget_tokens`",
        ),
        (body(user(png(9000, 10))), "8000 pixels"),
        (body(user(*[png(2400, 1200)] * 21)), "2000 pixels"),
        (body(user(*[png(10, 10)] * 101)), "too many images"),
        (
            body(
                user({**png(1, 1), "source": {**png(1, 1)["source"], "media_type": "image/jpeg"}})
            ),
            "does not match the provided media type",
        ),
        (
            body(user({**png(1, 1), "source": {**png(1, 1)["source"], "media_type": "image/bmp"}})),
            "media_type",
        ),
    ],
)
def test_what_the_real_api_refuses_is_refused(request_body: object, words: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate_request(request_body)
    assert words in str(caught.value)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    "request_body",
    [
        body(user(HI)),
        body({"role": "user", "content": "plain"}),
        body(user(HI), assistant(text("so far"))),
        body(user(HI), user(HI)),
        body(user(HI), assistant(HI, call()), user(result(content=[HI, png(8000, 8000)]), HI)),
        body(user(HI), assistant(call("a"), call("b")), user(result("a")), user(result("b"))),
        body(user(HI), thinking={"type": "adaptive"}),
        body(
            user(HI),
            tools=[
                {
                    "name": "a",
                    "input_schema": {"type": "object", "properties": {"cache_control": {}}},
                }
            ],
            system=[text("x", cache_control={"type": "ephemeral"})] * 4,
        ),
    ],
)
def test_what_the_real_api_takes_is_taken(request_body: Json) -> None:
    validate_request(request_body)


def post(url: str, value: object, *, raw: bytes | None = None) -> tuple[int, Json]:
    data = json.dumps(value).encode() if raw is None else raw
    request = urllib.request.Request(url, data=data, method="POST")  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - loopback
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_an_invalid_request_is_answered_as_the_api_does_and_recorded(
    model_server: ScriptedServer,
) -> None:
    url = f"{model_server.base_url}/v1/messages"
    status, answer = post(url, body(assistant(HI)))
    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert post(url, None, raw=b"{not json")[0] == 400
    assert [(each.status, each.end) for each in model_server.exchanges] == [(400, "refused")] * 2


def test_a_reply_can_be_had_without_streaming(model_server: ScriptedServer) -> None:
    model_server.script(
        [{"steps": [[{"thinking": "Hm."}, {"text": "A b"}, {"tool": "T", "input": {"a": 1}}]]}]
    )
    status, message = post(f"{model_server.base_url}/v1/messages", body(user(HI)))
    assert status == 200
    assert [block["type"] for block in message["content"]] == ["thinking", "text", "tool_use"]
    assert message["content"][1]["text"] == "A b"
    assert message["content"][2]["input"] == {"a": 1}
    assert message["stop_reason"] == "tool_use"


def test_models_and_token_counts_are_told(model_server: ScriptedServer) -> None:
    url = model_server.base_url
    with urllib.request.urlopen(f"{url}/v1/models") as answer:  # noqa: S310 - loopback
        names = [model["id"] for model in json.load(answer)["data"]]
    with urllib.request.urlopen(f"{url}/v1/models/{names[0]}") as answer:  # noqa: S310 - loopback
        assert json.load(answer)["max_input_tokens"] > 0
    assert post(f"{url}/v1/messages/count_tokens", body(user(HI)))[1]["input_tokens"] > 0
    assert post(f"{url}/v1/complete", {})[0] == 404
    assert model_server.requests == []


def test_a_fault_of_a_step_happens_as_often_as_it_says_and_then_the_step_is_played(
    model_server: ScriptedServer,
) -> None:
    fault = {"status": 529, "times": 2}
    model_server.script([{"steps": [{"blocks": [{"text": "ok"}], "fault": fault}]}])
    url = f"{model_server.base_url}/v1/messages"
    assert [post(url, body(user(HI)))[0] for _ in range(3)] == [529, 529, 200]


def test_a_gate_can_be_seen_and_opened_over_http(model_server: ScriptedServer) -> None:
    model_server.script([{"steps": [{"blocks": [{"text": "ok"}], "wait_for": "door"}]}])
    url, seen = model_server.base_url, []
    reader = threading.Thread(
        target=lambda: seen.append(post(f"{url}/v1/messages", body(user(HI)))[0])
    )
    reader.start()
    with urllib.request.urlopen(f"{url}/_control/reached/door") as answer:  # noqa: S310 - loopback
        assert json.load(answer) == {"reached": "door"}
    assert not seen
    assert post(f"{url}/_control/release/door", {})[0] == 200
    reader.join(10)
    assert seen == [200]


def test_a_server_starts_once_and_stops_with_replies_still_open() -> None:
    server = OfflineServer([])
    server.play([{"steps": [{"blocks": [], "wait_for": "never"}]}])
    url = server.start()
    assert server.start() == url
    failed: list[str] = []

    def ask() -> None:
        try:
            post(f"{url}/v1/messages", body(user(HI)))
        except OSError as error:
            failed.append(type(error).__name__)

    reader = threading.Thread(target=ask)
    reader.start()
    assert server.gates.reached("never")
    server.stop()
    server.stop()
    reader.join(10)
    assert failed
    assert server.base_url == ""


def test_a_port_that_is_taken_is_an_error_of_the_caller() -> None:
    with OfflineServer([]) as first:
        port = int(first.base_url.rpartition(":")[2])
        second = OfflineServer([], port=port)
        with pytest.raises(OSError, match="address already in use"):
            second.start()
        second.stop()


def test_it_runs_by_itself_and_says_where(tmp_path: Path) -> None:
    script = tmp_path / "s.yaml"
    script.write_text("rules:\n- reply: alone\n", encoding="utf-8")
    command = [sys.executable, "-m", "agent_kernel.model.offline", "--scripts", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        _, message = post(f"{url}/v1/messages", body(user(HI)))
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(10) == 0
    assert message["content"] == [{"type": "text", "text": "alone"}]


def test_by_itself_it_says_what_is_wrong_with_a_script(tmp_path: Path) -> None:
    script = tmp_path / "s.yaml"
    script.write_text("rules: 3\n", encoding="utf-8")
    command = [sys.executable, "-m", "agent_kernel.model.offline", "--scripts", str(script)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.startswith("s.yaml: rules")
