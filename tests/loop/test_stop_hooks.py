"""Hooks at the end of a turn, and hooks that end one."""

from __future__ import annotations

from typing import Any

from agent_kernel.events import Notice, TextDelta
from agent_kernel.loop.budget import Budget
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.protocols import HookOutcome
from agent_kernel.testing.hooks import ScriptedHooks
from agent_kernel.testing.tools import FakeTool
from agent_kernel.vocabulary import RunEnd
from tests.support.loop import Loop, result_texts, sent, told

WORK = {"tool": "W", "id": "w1", "input": {}}
MORE = {"tool": "W", "id": "w2", "input": {}}
ANSWER = ["message_started", "text_delta", "usage"]


def refuses(times: int) -> ScriptedHooks:
    return ScriptedHooks({"Stop": [HookOutcome(block="Run the tests.")] * times})


async def test_a_hook_that_refuses_the_end_sends_its_reason_and_the_model_goes_on(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "steps": ["Done.", "Tests are green."]}])
    hooks = refuses(1)
    loop = Loop(model_server, hooks=hooks)
    await loop.run("go")
    assert told(loop.events) == [*ANSWER, *ANSWER, "run_finished completed"]
    assert sent(model_server.requests[1])[:2] == ["user: go", "assistant: Done."]
    assert sent(model_server.requests[1])[2].startswith("user: Run the tests.")
    assert [event for event, _ in hooks.asked] == ["Stop", "Stop"]
    first, second = (payload for _, payload in hooks.asked)
    assert first["stop_hook_active"] is False
    assert first["last_assistant_message"] == "Done."
    assert second["stop_hook_active"] is True


async def test_after_eight_refusals_in_a_row_the_run_ends_hook_stopped(
    model_server: ScriptedServer,
) -> None:
    steps: list[Any] = [[WORK], "Done."] * 9
    model_server.script([{"contains": "go", "repeat": True, "steps": steps}])
    loop = Loop(model_server, [FakeTool("W")], hooks=refuses(99))
    await loop.run("go")
    assert loop.end.end is RunEnd.HOOK_STOPPED
    assert "8 times in a row" in loop.end.detail
    assert "Run the tests." in loop.end.detail
    # The first answer and one after each of the eight refusals, with a call before each.
    assert len(model_server.requests) == 18


async def test_a_hook_may_end_the_run_at_once(model_server: ScriptedServer) -> None:
    model_server.script([{"contains": "go", "steps": ["Done."]}])
    hooks = ScriptedHooks({"Stop": [HookOutcome(block="Go on.", stop="Enough for today.")]})
    loop = Loop(model_server, hooks=hooks, budget=Budget(target_tokens=9_000))
    await loop.run("go")
    assert told(loop.events) == [*ANSWER, "run_finished hook_stopped"]
    assert loop.end.detail == "Enough for today."


async def test_context_from_a_hook_goes_on_and_its_messages_are_shown(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "steps": ["Done.", "I see."]}])
    outcome = HookOutcome(additional_context=("The build is red.",), messages=("Checked.",))
    loop = Loop(model_server, hooks=ScriptedHooks({"Stop": [outcome]}))
    await loop.run("go")
    notice = next(e for e in loop.events if isinstance(e, Notice))
    assert (notice.code, notice.text) == ("hook", "Checked.")
    assert sent(model_server.requests[1])[2].startswith("user: The build is red.")


async def test_a_hook_that_breaks_holds_nobody(model_server: ScriptedServer) -> None:
    class Broken:
        async def run(self, event: str, payload: Any) -> HookOutcome:
            raise OSError("no such program")

    model_server.script([{"contains": "go", "reply": "Done."}])
    loop = Loop(model_server, hooks=Broken())
    await loop.run("go")
    assert told(loop.events) == [*ANSWER, "notice hook", "run_finished completed"]


async def test_what_the_person_sent_meanwhile_comes_before_the_hooks(
    model_server: ScriptedServer,
) -> None:
    first = [{"text": "First."}, {"wait_for": "steered"}]
    model_server.script(
        [{"contains": "more", "reply": "More."}, {"contains": "go", "steps": [first]}]
    )
    hooks = ScriptedHooks()
    loop = Loop(model_server, hooks=hooks)

    def once(event: object) -> None:
        if isinstance(event, TextDelta) and event.text == "First.":
            loop.control.steer("more")
            model_server.release("steered")

    await loop.run("go", on=once)
    assert [payload["last_assistant_message"] for _, payload in hooks.asked] == ["More."]


async def test_a_hook_before_a_call_may_end_the_run_and_the_rest_does_not_run(
    model_server: ScriptedServer,
) -> None:
    model_server.script(
        [{"contains": "go", "steps": [[WORK, MORE]]}, {"contains": "hi", "reply": "Hi."}]
    )
    hooks = ScriptedHooks({"PreToolUse": [HookOutcome(stop="Not on a Friday.")]})
    tool = FakeTool("W")
    loop = Loop(model_server, [tool], hooks=hooks)
    await loop.run("go")
    assert tool.calls == []
    assert told(loop.events)[-5:] == [
        "tool_started w1",
        "tool_finished w1 denied",
        "tool_started w2",
        "tool_finished w2 cancelled",
        "run_finished hook_stopped",
    ]
    assert loop.end.detail == "Not on a Friday."
    await loop.run("hi")
    assert [(name, failed) for name, _, failed in result_texts(model_server.requests[1])] == [
        ("w1", True),
        ("w2", True),
    ]


async def test_a_hook_after_a_call_keeps_its_result_and_ends_the_run(
    model_server: ScriptedServer,
) -> None:
    model_server.script(
        [{"contains": "go", "steps": [[WORK, MORE]]}, {"contains": "hi", "reply": "Hi."}]
    )
    outcome = HookOutcome(stop="Look at this first.", additional_context=("It is red.",))
    tool = FakeTool("W")
    loop = Loop(model_server, [tool], hooks=ScriptedHooks({"PostToolUse": [outcome]}))
    await loop.run("go")
    assert tool.calls == [{}]
    assert loop.end.end is RunEnd.HOOK_STOPPED
    await loop.run("hi")
    first, second = result_texts(model_server.requests[1])
    assert first == ("w1", "W {}\nA hook says: It is red.", False)
    assert second[2] is True
