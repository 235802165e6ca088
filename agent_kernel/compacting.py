"""A summary that a person asks for, and the table of what fills the window."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from agent_kernel.book import Book
from agent_kernel.context.tokens import (
    estimate_block,
    estimate_fixed,
    estimate_message,
    estimate_text,
)
from agent_kernel.context.window import Window
from agent_kernel.context_types import ContextRun
from agent_kernel.events import Compacted, Event, RunFinished, RunStarted, UsageReported
from agent_kernel.loop.budget import Tally
from agent_kernel.loop.ports import QueryConfig
from agent_kernel.messages import (
    AssistantMessage,
    AttachmentMessage,
    ImageBlock,
    Message,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_kernel.run_setup import Begun, equip
from agent_kernel.vocabulary import RunEnd
from agent_kernel.wiring import Parts

NOTHING = "There is nothing to summarise yet."
STOPPED = "Interrupted by the user."


async def compaction(
    parts: Parts, book: Book, begun: Begun, started: RunStarted, focus: str
) -> AsyncIterator[Event]:
    """The course of a run that only summarises, from ``started`` to ``run_finished``."""
    begun.control.bind(asyncio.current_task())
    yield started
    tally = Tally()
    told: list[Event] = []

    def tell(event: Event) -> None:
        tally.watch(event)
        told.append(event)
        begun.active.tell(event)

    try:
        model, offline = started.model, started.offline
        config, _ = await equip(parts, book, begun, model=model, offline=offline)
        book.keeper.begin(_run_of(config, tell))
        done = await book.keeper.compact("manual", focus)
    except asyncio.CancelledError:
        end, text = RunEnd.ABORTED_STREAMING, STOPPED
    else:
        notices = [e.text for e in told if e.type == "notice" and e.level == "warning"]
        compacted = next((e for e in reversed(told) if isinstance(e, Compacted)), None)
        if done and compacted is not None:
            before, after = compacted.tokens_before, compacted.tokens_after
            end, text = RunEnd.COMPLETED, f"Summarised: {before:,} tokens became {after:,}."
        elif notices:
            end, text = RunEnd.MODEL_ERROR, notices[-1]
        else:
            end, text = RunEnd.COMPLETED, NOTHING
    begun.control.close()
    for notice in begun.ledger.take_notices():
        yield notice
    finished = RunFinished(
        end=end,
        turns=sum(isinstance(event, UsageReported) for event in told),
        text=text if end is RunEnd.COMPLETED else "",
        detail="" if end is RunEnd.COMPLETED else text,
        usage=tally.usage,
        cost_usd=tally.cost,
    )
    yield book.totalled(finished)


def _run_of(config: QueryConfig, tell: Callable[[Event], None] | None = None) -> ContextRun:
    tell = tell or config.context.emit
    return ContextRun(
        model=config.model,
        capabilities=config.capabilities,
        context=replace(config.context, emit=tell),
        tell=tell,
        preamble=config.preamble,
        fixed=estimate_fixed(config.system, config.specs),
        canonical=config.canonical,
    )


@dataclass(frozen=True)
class ContextReport:
    """Tokens by what they are for. ``parts`` are guesses; ``total`` is what the model last said,
    with a guess for what came after."""

    model: str
    window: Window
    total: int
    parts: tuple[tuple[str, int], ...]


async def report_of(
    parts: Parts, book: Book, begun: Begun, model: str, busy: bool
) -> ContextReport:
    """What fills the window. ``busy``: a run has the keeper, and is left in peace."""
    offline = parts.likely_status(model).offline
    config, _ = await equip(parts, book, begun, model=model, offline=offline)
    keeper = book.keeper
    if not busy:
        keeper.begin(_run_of(config))
    sizes = {
        "System prompt": estimate_fixed(config.system, ()),
        "Tools": estimate_fixed((), config.specs),
        "Notes and surroundings": estimate_text(config.preamble),
        "Your prompts": 0,
        "Replies": 0,
        "Tool calls": 0,
        "Tool results": 0,
        "Images": 0,
        "Added for the model": 0,
    }
    total = keeper.tokens()
    for message in keeper.view.shaped():
        for name, tokens in _shares(message):
            sizes[name] += tokens
    return ContextReport(
        model=config.model,
        window=keeper.window,
        total=total,
        parts=tuple((name, tokens) for name, tokens in sizes.items() if tokens),
    )


def _shares(message: Message) -> list[tuple[str, int]]:
    """The blocks of a message by what they are for."""
    shares: list[tuple[str, int]] = []
    if not isinstance(message, UserMessage | AssistantMessage | AttachmentMessage):
        return [("Added for the model", estimate_message(message))]
    for block in message.content:
        inner = block.content if isinstance(block, ToolResultBlock) else (block,)
        images = sum(estimate_block(part) for part in inner if isinstance(part, ImageBlock))
        rest = estimate_block(block) - images
        if isinstance(block, ToolResultBlock):
            name = "Tool results"
        elif isinstance(block, ToolUseBlock):
            name = "Tool calls"
        elif isinstance(message, AssistantMessage):
            name = "Replies"
        elif isinstance(message, AttachmentMessage) or message.is_meta:
            name = "Added for the model"
        else:
            name = "Your prompts"
        shares += [(name, rest), ("Images", images)]
    return shares
