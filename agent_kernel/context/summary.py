"""A history as a summary: one call of a sub-agent, smaller and smaller until it fits (SPEC C2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import aclosing
from functools import cache
from importlib.resources import files

from agent_kernel.agent_types import SpawnSpec
from agent_kernel.context.api_rounds import (
    cuts,
    replaced,
    without_head,
    without_images,
)
from agent_kernel.context.tokens import estimate_message, estimate_text
from agent_kernel.context.window import Window
from agent_kernel.context_types import ContextRun
from agent_kernel.events import AgentFinished
from agent_kernel.messages import Message
from agent_kernel.vocabulary import RunEnd

SUMMARY_TOKENS = 20_000
MAX_ATTEMPTS = 4
MAX_CHARS = 60_000

OPENING = (
    "This conversation goes on from an earlier part that no longer fits. A summary of that part:"
)
GO_ON = (
    "Go on with the task from where it stands. Do not mention this summary, and do not ask what to"
    " do if the summary says it."
)

_SUMMARY = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)


class SummaryFailed(Exception):
    """There is no summary; the text says why."""


@cache
def instructions() -> str:
    return files("agent_kernel.context").joinpath("summary.md").read_text("utf-8").strip()


def prompt_for(focus: str) -> str:
    """What the sub-agent is asked; ``focus`` in the person's own words."""
    if not focus.strip():
        return instructions()
    return f"{instructions()}\n\nThe person wants this kept above all:\n{focus.strip()}"


async def summarise(
    history: Sequence[Message], run: ContextRun, window: Window, focus: str = ""
) -> str:
    """Raises :class:`SummaryFailed`. Its events are told to the run."""
    spawner = run.context.spawner
    if spawner is None:
        raise SummaryFailed("no sub-agent can be started here")
    messages = [without_images(message) for message in history]
    prompt = prompt_for(focus)
    room = window.size - run.fixed - estimate_text(prompt)
    for _ in range(20):  # what certainly does not fit need not be sent
        smaller = _smaller(messages)
        if sum(map(estimate_message, messages)) <= room or smaller is None:
            break
        messages = smaller
    for _ in range(MAX_ATTEMPTS):
        spec = SpawnSpec(
            prompt=prompt,
            agent_type="compact",
            description="summarising the conversation",
            model=run.model,
            tools=(),
            inherit_context=True,
            history=tuple(messages),
            max_tokens=min(SUMMARY_TOKENS, run.capabilities.max_output_tokens),
            max_turns=2,
        )
        finished: AgentFinished | None = None
        async with aclosing(spawner.run(spec)) as events:
            async for event in events:
                run.tell(event)
                if isinstance(event, AgentFinished):
                    finished = event
        if finished is None:
            raise SummaryFailed("the sub-agent ended without a word")
        if finished.end is RunEnd.COMPLETED:
            return _text_of(finished.text)
        smaller = _smaller(messages)
        if finished.end is not RunEnd.PROMPT_TOO_LONG or smaller is None:
            raise SummaryFailed(finished.text or f"the sub-agent ended with {finished.end}")
        messages = smaller
    raise SummaryFailed("even a part of it is too long for the model")


def _smaller(messages: list[Message]) -> list[Message] | None:
    """Without the oldest rounds; then with the largest results cut; None: nothing can go."""
    rest = without_head(messages)
    if rest is not None:
        return rest
    cut = cuts(messages)
    return [replaced(message, cut) for message in messages] if cut else None


def _text_of(answer: str) -> str:
    found = _SUMMARY.search(answer)
    text = (found.group(1) if found else answer).strip()
    if not text:
        raise SummaryFailed("the summary is empty")
    if len(text) > MAX_CHARS:
        text = f"{text[:MAX_CHARS]}\n\n[The summary was longer; its end is left out.]"
    return text
