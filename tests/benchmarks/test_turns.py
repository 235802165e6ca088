"""What a turn costs beside the model: ratios against the client library alone, in one run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import anthropic
import pytest

from agent_kernel import AgentSession
from agent_kernel.events import MessageStarted, RunFinished, ToolFinished
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.testing.tools import FakeGate, FakeTool
from agent_kernel.vocabulary import RunEnd

pytestmark = pytest.mark.bench

TURNS = 20
ROUNDS = 9


def twenty_turns(server: ScriptedServer) -> None:
    call = {"blocks": [{"text": "I look again."}, {"tool": "W", "input": {"n": 1}}]}
    server.script([{"contains": "go", "steps": [*[call] * TURNS, "Done."]}])


async def bare(server: ScriptedServer, spec: Any, system: Any) -> float:
    """The shortest loop one can write with the library: stream, answer the calls, go round."""
    client = anthropic.AsyncAnthropic(
        api_key="test", base_url=server.base_url, http_client=anthropic.DefaultAsyncHttpxClient(
            trust_env=False, verify=False
        ),
    )  # fmt: skip
    messages: list[Any] = [{"role": "user", "content": "go"}]
    began = 0.0
    while True:
        async with client.messages.stream(
            model="claude-sonnet-5-5", max_tokens=20_000, messages=messages,
            tools=[spec], system=system,
        ) as stream:  # fmt: skip
            await anext(stream)
            began = began or time.perf_counter()
            message = await stream.get_final_message()
        messages.append({"role": "assistant", "content": message.content})
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            break
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": 'W {"n":1}'}
            for call in calls
        ]
        messages.append({"role": "user", "content": results})
    took = time.perf_counter() - began
    await client.close()
    return took


async def ours(session: AgentSession) -> float:
    """From the first reply on: what a run looks at before it is not a turn's."""
    began = 0.0
    last = None
    async for event in session.run("go"):
        if isinstance(event, MessageStarted):
            began = began or time.perf_counter()
        last = event
    took = time.perf_counter() - began
    assert isinstance(last, RunFinished)
    assert (last.end, last.turns) == (RunEnd.COMPLETED, TURNS + 1)
    return took


async def test_twenty_tool_turns_take_at_most_half_again_as_long_as_the_library_alone(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    twenty_turns(model_server)
    tool = FakeTool("W")
    session = AgentSession(
        cwd=tmp_path, settings=model_server.settings(tmp_path), tools=(tool,), gate=FakeGate()
    )
    await ours(session)  # imports, connections
    body = model_server.requests[-1]
    await bare(model_server, body["tools"][0], body["system"])
    pairs = []
    for _ in range(ROUNDS):
        session.new()
        alone = await bare(model_server, body["tools"][0], body["system"])
        pairs.append((await ours(session), alone))
    await session.close()
    mine, alone = min(a for a, _ in pairs), min(b for _, b in pairs)
    print(f"\n{TURNS} turns: ours {mine:.3f} s, the library alone {alone:.3f} s")  # noqa: T201
    assert mine <= 1.5 * alone


async def test_a_call_that_only_reads_is_done_before_its_reply_has_ended(
    model_server: ScriptedServer, tmp_path: Path
) -> None:
    """By order, not by time: the reply's end is held until the result was told."""
    parts = [{"tool": "Look", "id": "r1", "input": {}}, {"wait_for": "seen"}, {"text": "So."}]
    model_server.script([{"contains": "go", "steps": [parts, "Done."]}])
    look = FakeTool("Look", read_only=True, concurrent=True)
    session = AgentSession(
        cwd=tmp_path, settings=model_server.settings(tmp_path), tools=(look,), gate=FakeGate()
    )
    replies = 0
    done_in = 0
    async for event in session.run("go"):
        replies += isinstance(event, MessageStarted)
        if isinstance(event, ToolFinished):
            done_in = replies
            model_server.release("seen")
    await session.close()
    assert done_in == 1
