"""Answers that fit a type: what the model is told, what counts, how often it is asked again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, Field

from agent_kernel.events import Event, Notice, RunFinished
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.structured import Shape
from agent_kernel.vocabulary import RunEnd
from tests.support.session import Maker, run


class City(BaseModel):
    name: str
    people: int = Field(ge=0)


def end(events: list[Event]) -> RunFinished:
    last = events[-1]
    assert isinstance(last, RunFinished)
    return last


def script(server: ScriptedServer, *answers: str) -> None:
    server.script([{"contains": "Which city", "steps": list(answers)}])


def newest(body: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in body["messages"][-1]["content"])


async def test_a_good_answer_is_the_value_of_the_run(
    make: Maker, model_server: ScriptedServer
) -> None:
    script(model_server, '{"name": "Ulm", "people": 126000}')
    finished = end(await run(make(tools=()), "Which city?", schema=City))
    assert finished.value == {"name": "Ulm", "people": 126000}
    assert Shape(City).object(finished.value) == City(name="Ulm", people=126000)
    (body,) = model_server.requests
    assert "JSON schema" in newest(body)
    assert '"people"' in newest(body)
    assert "tools" not in body


async def test_an_answer_that_does_not_fit_is_asked_for_again_with_the_reasons(
    make: Maker, model_server: ScriptedServer
) -> None:
    script(model_server, '{"name": "Ulm", "people": -1}', '{"name": "Ulm", "people": 5}')
    events = await run(make(tools=()), "Which city?", schema=City)
    finished = end(events)
    assert finished.value == {"name": "Ulm", "people": 5}
    assert finished.turns == 2
    assert "people: Input should be greater than or equal to 0" in newest(model_server.requests[1])
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert notices == ["The answer does not fit City; asked again (1 of 2)."]


async def test_after_two_more_tries_the_run_ends_as_a_failure(
    make: Maker, model_server: ScriptedServer
) -> None:
    script(model_server, "no", "{}", "[1", "never asked")
    finished = end(await run(make(tools=()), "Which city?", schema=City))
    assert finished.end is RunEnd.MODEL_ERROR
    assert finished.value is None
    assert "does not fit City, asked 3 times" in finished.detail
    assert len(model_server.requests) == 3


async def test_the_next_run_is_free_again(make: Maker, model_server: ScriptedServer) -> None:
    script(model_server, '{"name": "Ulm", "people": 1}')
    model_server.script([{"contains": "thanks", "reply": "You are welcome."}])
    session = make(tools=())
    await run(session, "Which city?", schema=City)
    finished = end(await run(session, "thanks"))
    assert (finished.text, finished.value) == ("You are welcome.", None)


async def test_a_run_that_was_stopped_has_no_value(
    make: Maker, model_server: ScriptedServer
) -> None:
    model_server.script([{"contains": "Which city", "steps": [{"fault": {"status": 401}}]}])
    finished = end(await run(make(tools=()), "Which city?", schema=City))
    assert (finished.end, finished.value) == (RunEnd.MODEL_ERROR, None)
    assert "does not fit" not in finished.detail


async def test_what_is_no_type_is_refused_before_the_run(make: Maker) -> None:
    with pytest.raises(ValueError, match="is no type"):
        await run(make(tools=()), "Which city?", schema=3)


ULM = '{"name": "Ulm", "people": 1}'


@dataclass
class Point:
    x: float


@pytest.mark.parametrize(
    ("schema", "answer", "value"),
    [
        (City, f"Here it is:\n```json\n{ULM}\n```\nDone.", {"name": "Ulm", "people": 1}),
        (City, f"It is {ULM}.", {"name": "Ulm", "people": 1}),
        (City, 'Not {"name": "B"} but ' + ULM, {"name": "Ulm", "people": 1}),
        (list[int], "[1, 2]", [1, 2]),
        (int, " 42\n", 42),
        (str, '"a"', "a"),
        (Point, '{"x": 1}', {"x": 1.0}),
        (dict[str, int], "~~~\n{\"a\": 1}\n~~~", {"a": 1}),
    ],
)  # fmt: skip
def test_the_json_is_found_in_what_models_write(schema: Any, answer: str, value: object) -> None:
    shape = Shape(schema)
    assert shape.finished(RunFinished(end=RunEnd.COMPLETED, text=answer)).value == value


@pytest.mark.parametrize(
    "answer", ["", "nothing", "[" * 100_000, "{", '{"name": 1e999, "people": NaN}']
)
def test_what_holds_no_fitting_json_is_a_reason(answer: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Shape(City).value(answer)
