"""The model says that the prompt is too long: the session makes room and the run goes on."""

from __future__ import annotations

from typing import Any

from agent_kernel.events import Compacted, RunFinished
from agent_kernel.model.offline import Fault
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.vocabulary import RunEnd
from tests.support.loop import told
from tests.support.session import Maker, run

SUMMARY = {"contains": "no longer fits and will", "reply": "<summary>Two rows.</summary>"}
TOO_LONG = "prompt is too long: 211000 tokens > 200000 maximum"
ANSWER = ["message_started", "text_delta", "usage"]


def script(server: ScriptedServer) -> None:
    server.script(
        [SUMMARY, {"contains": "rows", "reply": "Two."}, {"contains": "columns", "reply": "Three."}]
    )


def words(body: dict[str, Any]) -> str:
    return "\n".join(
        block.get("text", "") for message in body["messages"] for block in message["content"]
    )


async def test_the_history_is_summarised_and_the_question_answered(
    make: Maker, model_server: ScriptedServer
) -> None:
    script(model_server)
    session = make(tools=())
    await run(session, "how many rows")
    model_server.fail_next(Fault(status=400, message=TOO_LONG))
    events = await run(session, "and how many columns")
    assert told(events) == [
        "run_started",
        "agent_started",
        "usage",
        "agent_finished completed",
        "compacted",
        *ANSWER,
        "run_finished completed",
    ]
    assert next(e for e in events if isinstance(e, Compacted)).trigger == "reactive"
    first, refused, summary, last = model_server.requests
    assert "how many rows" in words(refused)
    assert "no longer fits" in words(summary)
    assert "Two rows." in words(last)
    assert "and how many columns" in words(last)
    # The summary stands for what came before the newest round, which is kept.
    assert [message["role"] for message in last["messages"]] == ["user", "assistant", "user"]
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    assert finished.text == "Three."
    assert finished.usage.output_tokens > 0
    assert first["system"] == last["system"]


async def test_a_summary_that_does_not_come_costs_the_oldest_rounds_and_then_the_run(
    make: Maker, model_server: ScriptedServer
) -> None:
    script(model_server)
    session = make(tools=())
    for _ in range(4):
        await run(session, "how many rows")
    before = len(model_server.requests)
    model_server.fail_next(Fault(status=400, message=TOO_LONG, times=99))
    events = await run(session, "and how many columns")
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    assert finished.end is RunEnd.PROMPT_TOO_LONG
    assert not any(isinstance(event, Compacted) for event in events)
    assert "notice compact_failed" in told(events)
    assert "notice context_cut" in told(events)
    # The request; the summary, of ever less; the request, with ever less; then no more.
    sizes = [len(body["messages"]) for body in model_server.requests[before:]]
    assert sizes[0] == max(sizes) == 9
    assert sizes[-1] == min(sizes) == 3
    assert len(sizes) <= 12
