"""When the model stays away, the next one takes the same request."""

from __future__ import annotations

from agent_kernel.events import MessageStarted, Notice
from agent_kernel.model.offline import Fault
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.testing.tools import FakeTool
from agent_kernel.vocabulary import RunEnd
from tests.support.loop import Loop, told, without_marks

SONNET, OPUS, HAIKU = "claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"


def models(server: ScriptedServer) -> list[str]:
    return [body["model"] for body in server.requests]


async def test_after_the_retries_another_model_takes_the_same_request(
    model_server: ScriptedServer,
) -> None:
    work = [{"tool": "W", "id": "w1", "input": {}}]
    model_server.script(
        [{"contains": "go", "steps": [work, "Done."]}, {"contains": "hi", "reply": "Hi."}]
    )
    model_server.fail_next(Fault(status=529, times=6))
    loop = Loop(model_server, [FakeTool("W")], fallbacks=(OPUS,))
    await loop.run("go")
    assert models(model_server) == [SONNET] * 6 + [OPUS] * 2
    assert told(loop.events)[:7] == [
        *["notice retry"] * 5,
        "notice fallback_model",
        "message_started",
    ]
    notice = next(e for e in loop.events if isinstance(e, Notice) and e.code == "fallback_model")
    assert notice.text == f"The model is overloaded. Going on with {OPUS}."
    first, last = ({**without_marks(model_server.requests[n]), "model": ""} for n in (0, 6))
    assert first == last
    assert {e.model for e in loop.events if isinstance(e, MessageStarted)} == {OPUS}
    assert loop.end.text == "Done."
    await loop.run("hi")  # another run begins with the model that was chosen
    assert models(model_server)[-1] == SONNET


async def test_what_was_shown_is_withdrawn_and_what_was_started_cancelled(
    model_server: ScriptedServer,
) -> None:
    cut = [{"text": "I look"}, {"tool": "W", "id": "w1", "input": {}}, {"cut": True}]
    model_server.script([{"contains": "go", "steps": [cut]}])
    tool = FakeTool("W")
    loop = Loop(model_server, [tool], fallbacks=(OPUS, HAIKU))
    await loop.run("go")
    assert models(model_server) == [SONNET] * 6 + [OPUS] * 6 + [HAIKU] * 6
    words = told(loop.events)
    assert words.count("tombstone") == words.count("message_started") == 18
    assert tool.calls == []
    assert loop.end.end is RunEnd.MODEL_ERROR
    assert words[-1] == "run_finished model_error"


async def test_a_pause_too_long_to_wait_for_goes_to_the_other_model_at_once(
    model_server: ScriptedServer,
) -> None:
    model_server.script([{"contains": "go", "reply": "Done."}])
    model_server.fail_next(Fault(status=429, retry_after="3600"))
    loop = Loop(model_server, fallbacks=(OPUS,))
    await loop.run("go")
    assert models(model_server) == [SONNET, OPUS]
    assert told(loop.events)[0] == "notice fallback_model"
    assert loop.clock.slept == []


async def test_a_failure_that_is_ours_is_not_given_to_another_model(
    model_server: ScriptedServer,
) -> None:
    model_server.fail_next(Fault(status=401, message="bad key"))
    loop = Loop(model_server, fallbacks=(OPUS,))
    await loop.run("go")
    assert models(model_server) == [SONNET]
    assert told(loop.events) == ["run_finished model_error"]
