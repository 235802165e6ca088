"""Answers that fit a type: asked for, checked where the model would stop, asked for again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pydantic import JsonValue, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from agent_kernel.context.text import clean_text, reminder
from agent_kernel.events import RunFinished
from agent_kernel.loop.conversation import Conversation
from agent_kernel.loop.ports import Ports
from agent_kernel.messages import TextBlock
from agent_kernel.protocols import HookOutcome, Hooks
from agent_kernel.vocabulary import RunEnd

MOST_AGAIN = 2
"""How often an answer that does not fit is asked for again."""

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)
_START = re.compile(r"[\[{]")
_MOST_STARTS = 100
"""Places in a text that are tried; a wrong one may cost a look at all of it."""

_DECODER = json.JSONDecoder()


class Shape:
    """What an answer has to fit: any type pydantic can make a schema of.

    Raises ``ValueError`` for anything else.
    """

    def __init__(self, schema: Any) -> None:
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(schema)
            self.schema: dict[str, Any] = self._adapter.json_schema()
        except (PydanticUserError, TypeError) as error:
            raise ValueError(f"{schema!r} is no type an answer can be made to fit.") from error
        self.name = getattr(schema, "__name__", None) or str(schema)

    def ask(self, conversation: Conversation) -> None:
        """Add to the prompt how the answer has to look. The list of tools stays as it is."""
        text = (
            "End your work on this with one JSON value and nothing around it: no introduction, no "
            "explanation. It is read by a program and has to fit this JSON schema:\n\n"
            f"{json.dumps(self.schema, ensure_ascii=False)}"
        )
        conversation.add_user((TextBlock(text=reminder(clean_text(text))),), meta=True)

    def watched(self, ports: Ports) -> Ports:
        """Ports whose hooks look at the answer before the run may end."""
        return replace(ports, hooks=_Watch(ports.hooks, self))

    def value(self, answer: str) -> object:
        """The answer as an object of the type. Raises ``ValueError``, in words for the model."""
        problem = "It holds no JSON."
        for candidate in _candidates(answer):
            try:
                return self._adapter.validate_json(candidate)
            except ValidationError as error:
                found = error.errors(include_url=False, include_context=False)
                if not (len(found) == 1 and found[0]["type"] == "json_invalid"):
                    problem = "\n".join(
                        f"- {'.'.join(map(str, item['loc'])) or 'the value'}: {item['msg']}"
                        for item in found[:20]
                    )
                    break
        raise ValueError(problem)

    def object(self, value: JsonValue) -> object:
        """The object that ``RunFinished.value`` stands for."""
        return self._adapter.validate_json(json.dumps(value))

    def finished(self, event: RunFinished) -> RunFinished:
        """The end of the run with the value, or as a failure if there is none."""
        if event.end is not RunEnd.COMPLETED:
            return event
        try:
            value = self.value(event.text)
        except ValueError as error:
            detail = f"The answer does not fit {self.name}, asked {MOST_AGAIN + 1} times: {error}"
            return event.model_copy(update={"end": RunEnd.MODEL_ERROR, "detail": detail})
        plain = to_jsonable_python(self._adapter.dump_python(value, mode="json"))
        return event.model_copy(update={"value": plain})


class _Watch:
    """The ``Hooks`` seam with one look more at the end of the run."""

    def __init__(self, hooks: Hooks, shape: Shape) -> None:
        self._hooks = hooks
        self._shape = shape
        self._asked = 0

    async def run(self, event: str, payload: dict[str, JsonValue]) -> HookOutcome:
        outcome = await self._hooks.run(event, payload)
        if event != "Stop" or outcome.block is not None or outcome.stop is not None:
            return outcome
        try:
            self._shape.value(str(payload.get("last_assistant_message", "")))
        except ValueError as error:
            if self._asked >= MOST_AGAIN:
                return outcome
            self._asked += 1
            again = f"The answer does not fit {self._shape.name}; asked again"
            reason = (
                f"Your answer does not fit the JSON schema:\n{error}\nGive the JSON value again."
            )
            return outcome.model_copy(
                update={
                    "block": reason,
                    "messages": (*outcome.messages, f"{again} ({self._asked} of {MOST_AGAIN})."),
                }
            )
        return outcome


def _candidates(answer: str) -> Iterator[str]:
    """What may be the JSON of an answer: all of it, a fenced block, the last value in the text."""
    whole = answer.strip()
    yield whole
    for match in reversed(list(_FENCE.finditer(answer))):
        yield match.group(2).strip()
    last = ""
    start = 0
    for _ in range(_MOST_STARTS):
        found = _START.search(whole, start)
        if found is None:
            break
        try:
            _, end = _DECODER.raw_decode(whole, found.start())
        except (ValueError, RecursionError):
            start = found.start() + 1
        else:
            last, start = whole[found.start() : end], end
    if last:
        yield last
