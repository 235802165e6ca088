"""What a session may spend and has spent; what settings say about the model's place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_kernel import AgentSession, Budget
from agent_kernel.events import Event, RunFinished, UsageReported
from agent_kernel.messages import Usage
from agent_kernel.model.offline import Fault
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.settings.settings import load_settings
from agent_kernel.testing.tools import FakeGate, FakeTool
from agent_kernel.vocabulary import RunEnd
from tests.support.session import Maker, run

USAGE = {"input_tokens": 1_000, "output_tokens": 100}


def end_of(events: list[Event]) -> RunFinished:
    last = events[-1]
    assert isinstance(last, RunFinished)
    return last


async def test_each_turn_and_the_session_say_what_they_cost(
    make: Maker, model_server: ScriptedServer
) -> None:
    step: dict[str, Any] = {"blocks": [{"text": "Hello."}], "usage": USAGE}
    model_server.script([{"contains": "hi", "repeat": True, "steps": [step]}])
    session = make(tools=())
    first = await run(session, "hi")
    told = next(e for e in first if isinstance(e, UsageReported))
    assert told.usage == Usage(**USAGE)
    assert told.cost_usd == pytest.approx(0.003)  # 2 and 10 dollars for a million
    assert end_of(first).session_usage == end_of(first).usage == told.usage
    second = end_of(await run(session, "hi"))
    assert second.usage == Usage(**USAGE)
    assert second.session_usage == Usage(input_tokens=2_000, output_tokens=200)
    assert second.cost_usd == pytest.approx(0.003)
    assert second.session_cost_usd == pytest.approx(0.006)
    session.new()
    assert end_of(await run(session, "hi")).session_usage == Usage(**USAGE)


async def test_a_session_that_is_resumed_goes_on_counting(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    step: dict[str, Any] = {"blocks": [{"text": "Hello."}], "usage": USAGE}
    model_server.script([{"contains": "hi", "repeat": True, "steps": [step]}])
    before = make(tools=())
    await run(before, "hi")
    name = before.session_id
    await before.close()
    after: AgentSession = make(tools=(), session_id=name)
    finished = end_of(await run(after, "hi"))
    assert finished.usage == Usage(**USAGE)
    assert finished.session_usage == Usage(input_tokens=2_000, output_tokens=200)


async def test_a_model_of_unknown_price_has_tokens_and_no_cost(
    make: Maker, model_server: ScriptedServer
) -> None:
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    finished = end_of(await run(make(tools=(), model="a-model-of-ones-own"), "hi"))
    assert finished.usage.input_tokens > 0
    assert (finished.cost_usd, finished.session_cost_usd) == (None, None)


async def test_a_run_may_have_a_budget_of_its_own(
    make: Maker, model_server: ScriptedServer
) -> None:
    step: dict[str, Any] = {"blocks": [{"tool": "W", "input": {}}], "usage": USAGE}
    model_server.script([{"contains": "go", "repeat": True, "steps": [step]}])
    session = make(tools=(FakeTool("W"),), gate=FakeGate())
    finished = end_of(await run(session, "go", budget=Budget(max_cost_usd=0.005)))
    assert finished.end is RunEnd.BUDGET_SPENT
    assert finished.turns == 2
    settings = model_server.settings(session.settings.cwd, budget_tokens=3_000)
    finished = end_of(
        await run(make(tools=(FakeTool("W"),), gate=FakeGate(), settings=settings), "go")
    )
    assert (finished.end, finished.turns) == (RunEnd.BUDGET_SPENT, 3)


async def test_a_fallback_model_of_the_settings_takes_over(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{"fallbackModel": ["opus", "haiku"]}')
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    model_server.fail_next(Fault(status=529, times=6))
    session = make(tools=(), settings=model_server.settings(tmp_path))
    assert end_of(await run(session, "hi")).text == "Hello."
    assert [body["model"] for body in model_server.requests][-2:] == [
        "claude-sonnet-5-5",
        "claude-opus-5-5",
    ]


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("haiku", ("claude-haiku-5-5",)),
        ("haiku, sonnet,opus", ("claude-haiku-5-5", "claude-opus-5-5")),
        (["opus", "opus", "mine"], ("claude-opus-5-5", "mine")),
        ([], ()),
        (7, ()),
        (["opus", 7], ()),
    ],
)
def test_fallback_models_are_a_name_or_several(
    tmp_path: Path, written: object, names: tuple[str, ...]
) -> None:
    (tmp_path / ".claude").mkdir()
    content = json.dumps({"fallbackModel": written})
    (tmp_path / ".claude" / "settings.json").write_text(content)
    settings = load_settings(tmp_path, {"ANTHROPIC_API_KEY": "k"})
    assert settings.fallback_models == names
    odd = not isinstance(written, str) and written not in ([], ["opus", "opus", "mine"])
    assert any("fallbackModel" in notice for notice in settings.notices) == odd


def test_limits_of_the_environment_are_read_and_nonsense_is_left_out(tmp_path: Path) -> None:
    environ = {
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "4000",
        "AGENT_KERNEL_BUDGET_TOKENS": "500000",
        "AGENT_KERNEL_BUDGET_USD": "$2.50",
    }
    settings = load_settings(tmp_path, environ)
    assert settings.max_output_tokens == 4000
    assert settings.budget_tokens == 500_000
    assert settings.budget_usd == 2.5
    settings = load_settings(tmp_path, {"AGENT_KERNEL_BUDGET_USD": "nan"})
    assert settings.budget_usd is None
    assert any("AGENT_KERNEL_BUDGET_USD" in notice for notice in settings.notices)


async def test_an_output_limit_of_the_person_is_never_raised(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    cut = {"blocks": [{"text": "Once upon"}], "stop_reason": "max_tokens"}
    model_server.script([{"contains": "hi", "steps": [cut, "a time."]}])
    settings = model_server.settings(tmp_path, max_output_tokens=4_000)
    await run(make(tools=(), settings=settings), "hi")
    assert [body["max_tokens"] for body in model_server.requests] == [4_000, 4_000]
