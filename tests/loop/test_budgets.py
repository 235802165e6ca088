"""What a run may spend, and what it should spend."""

from __future__ import annotations

from typing import Any

from agent_kernel.events import Notice, RunFinished, UsageReported
from agent_kernel.loop.budget import Budget
from agent_kernel.messages import Usage
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.testing.tools import FakeInput, FakeTool
from agent_kernel.tool_types import ToolContext
from agent_kernel.vocabulary import RunEnd
from tests.support.loop import Loop, result_texts, sent, told

WORK = {"tool": "W", "id": "w", "input": {}}


def step(output: int, *parts: dict[str, Any], read: int = 100) -> dict[str, Any]:
    usage = {"input_tokens": read, "output_tokens": output, "cache_read_input_tokens": 10}
    return {"blocks": list(parts), "usage": usage}


def text(words: str) -> dict[str, str]:
    return {"text": words}


async def test_a_cap_of_tokens_ends_the_run_after_the_results_of_the_last_calls(
    model_server: ScriptedServer,
) -> None:
    model_server.script(
        [
            {"contains": "go", "repeat": True, "steps": [step(40, WORK)]},
            {"contains": "next", "reply": "Yes."},
        ]
    )
    tool = FakeTool("W")
    loop = Loop(model_server, [tool], budget=Budget(max_tokens=300))
    await loop.run("go")
    assert told(loop.events)[-2:] == [
        "tool_finished w_2 ok",
        "run_finished budget_spent",
    ]
    assert loop.end.detail == "The token budget is spent: 300 of 300."
    assert loop.end.usage == Usage(input_tokens=200, output_tokens=80, cache_read_input_tokens=20)
    assert len(tool.calls) == len(model_server.requests) == 2
    loop.budget = Budget()
    await loop.run("next")
    assert result_texts(model_server.requests[-1]) == [("w_2", "W {}", False)]
    assert loop.end.end is RunEnd.COMPLETED


async def test_an_answer_that_spends_the_last_of_it_is_an_answer(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "steps": [step(400, text("Done."))]}])
    loop = Loop(model_server, budget=Budget(max_tokens=300))
    await loop.run("go")
    assert told(loop.events)[-1] == "run_finished completed"


async def test_a_cap_of_cost_counts_what_others_of_this_run_spent(
    model_server: ScriptedServer,
) -> None:
    def ask_a_friend(context: ToolContext) -> None:
        usage = Usage(input_tokens=1000)
        context.emit(
            UsageReported(agent_id="child_1", message_id="m", model="x", usage=usage, cost_usd=0.30)
        )

    async def work(input: FakeInput, context: ToolContext) -> str:
        ask_a_friend(context)
        return "ok"

    model_server.script([{"contains": "go", "repeat": True, "steps": [step(40, WORK)]}])
    loop = Loop(
        model_server,
        [FakeTool("W", work)],
        budget=Budget(max_cost_usd=0.75),
        price=lambda model, usage: 0.10,
    )
    await loop.run("go")
    assert loop.end.end is RunEnd.BUDGET_SPENT
    assert loop.end.detail == "The cost budget is spent: $0.80 of $0.75."
    assert len(model_server.requests) == 2
    assert round(loop.end.cost_usd or 0, 2) == 0.80
    assert loop.end.usage.input_tokens == 2200


async def test_a_cost_that_nobody_knows_is_said_once_and_ends_nothing(
    model_server: ScriptedServer,
) -> None:
    steps = [step(40, WORK), step(40, WORK), step(40, text("Done."))]
    model_server.script([{"contains": "go", "steps": steps}])
    loop = Loop(model_server, [FakeTool("W")], budget=Budget(max_cost_usd=0.01))
    await loop.run("go")
    assert told(loop.events).count("notice price_unknown") == 1
    assert loop.end.end is RunEnd.COMPLETED
    assert loop.end.cost_usd is None


async def test_a_target_sends_the_model_on_until_it_is_spent(
    model_server: ScriptedServer,
) -> None:
    steps = [step(4_000, text(word)) for word in ("One.", "Two.", "Three.")]
    model_server.script([{"contains": "go", "steps": steps}])
    loop = Loop(model_server, budget=Budget(target_tokens=10_000))
    await loop.run("go")
    assert told(loop.events) == [
        *["message_started", "text_delta", "usage"] * 3,
        "run_finished completed",
    ]
    last = sent(model_server.requests[-1])
    assert last[2].startswith("user: You have used 4,000 of the 10,000 output tokens")
    assert last[4].startswith("user: You have used 8,000 of the 10,000 output tokens")
    assert loop.end.text == "Three."


async def test_a_target_does_not_press_a_model_that_has_little_to_add(
    model_server: ScriptedServer,
) -> None:
    steps = [step(4_000, text("One.")), step(90, text("That was all."))]
    model_server.script([{"contains": "go", "steps": steps}])
    loop = Loop(model_server, budget=Budget(target_tokens=100_000))
    await loop.run("go")
    assert len(model_server.requests) == 2
    assert loop.end.end is RunEnd.COMPLETED


async def test_a_cap_wins_over_a_target(model_server: ScriptedServer) -> None:
    model_server.script([{"contains": "go", "steps": [step(4_000, text("One."))]}])
    loop = Loop(model_server, budget=Budget(target_tokens=100_000, max_tokens=3_000))
    await loop.run("go")
    assert len(model_server.requests) == 1
    assert loop.end.end is RunEnd.COMPLETED
    assert not any(isinstance(e, Notice) for e in loop.events)


async def test_replies_that_were_withdrawn_are_paid_for(model_server: ScriptedServer) -> None:
    cut = {**step(50, text("Well,")), "stop_reason": "refusal"}
    model_server.script([{"contains": "go", "steps": [cut]}])
    loop = Loop(model_server, price=lambda model, usage: usage.output_tokens / 100)
    await loop.run("go")
    assert told(loop.events)[-3:] == ["usage", "tombstone", "run_finished refused"]
    finished = loop.events[-1]
    assert isinstance(finished, RunFinished)
    assert finished.cost_usd == 0.5
