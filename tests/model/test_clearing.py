"""Old tool results cleared by the endpoint: asked for where it can, never again where it cannot."""

from __future__ import annotations

from agent_kernel.context.stale import REPEATABLE
from agent_kernel.model.offline import Fault
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.model_types import ClearToolUses, ModelRequest, ReplyFinished, ToolSpec
from agent_kernel.testing.model import a_request

CLEAR = ClearToolUses(tools=tuple(sorted(REPEATABLE)), above=80_000, keep=5)
TOOLS = tuple(
    ToolSpec(name=n, description=n, input_schema={"type": "object"}) for n in ("Read", "Write")
)


def clearing(model: str) -> ModelRequest:
    return a_request(model=model).model_copy(update={"clear_tool_uses": CLEAR, "tools": TOOLS})


async def test_an_endpoint_that_can_is_asked_to_clear(model_server: ScriptedServer) -> None:
    model_server.script([{"reply": "Yes."}])
    client = model_server.client()
    request = clearing("claude-opus-5-5")
    events = [event async for event in client.stream(request)]
    await client.close()
    assert isinstance(events[-1], ReplyFinished)
    exchange = model_server.exchanges[-1]
    assert exchange.headers["anthropic-beta"] == "context-management-2025-06-27"
    assert exchange.body["context_management"] == {
        "edits": [
            {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "input_tokens", "value": 80_000},
                "keep": {"type": "tool_uses", "value": 5},
                "exclude_tools": ["Write"],
            }
        ]
    }


async def test_one_that_does_not_say_so_is_not_asked(model_server: ScriptedServer) -> None:
    model_server.script([{"reply": "Yes."}])
    client = model_server.client()
    request = clearing("claude-sonnet-5-5")
    _ = [event async for event in client.stream(request)]
    await client.close()
    assert "context_management" not in model_server.requests[-1]
    assert "anthropic-beta" not in model_server.exchanges[-1].headers


async def test_a_refusal_is_remembered(model_server: ScriptedServer) -> None:
    model_server.script([{"reply": "Yes."}])
    client = model_server.client()
    request = clearing("claude-opus-5-5")
    refusal = "context_management: Extra inputs are not permitted"
    model_server.fail_next(Fault(status=400, message=refusal))
    events = [event async for event in client.stream(request)]
    assert isinstance(events[-1], ReplyFinished)
    assert "context_management" in model_server.requests[0]
    assert "context_management" not in model_server.requests[1]
    assert not (await client.capabilities("claude-opus-5-5")).context_management
    _ = [event async for event in client.stream(request)]
    await client.close()
    assert len(model_server.requests) == 3
    assert "context_management" not in model_server.requests[2]
