"""The one engine: ``query`` runs rounds until there is an end and tells all of it as events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from agent_kernel.events import Event
from agent_kernel.loop.control import Outbox, RunControl
from agent_kernel.loop.conversation import Conversation
from agent_kernel.loop.ports import Ports, QueryConfig
from agent_kernel.loop.recovery import RetryPolicy
from agent_kernel.loop.rounds import Rounds


async def query(
    config: QueryConfig,
    ports: Ports,
    conversation: Conversation,
    control: RunControl | None = None,
    *,
    retry: RetryPolicy | None = None,
) -> AsyncGenerator[Event, None]:
    """Events of one run, unstamped; ``run_finished`` is the last.

    The conversation already holds the prompt. ``control.stop()`` ends the run in order, with
    that last event; cancelling the reader does the same and then raises. Whatever the end, the
    conversation is valid for the next request.
    """
    control = control or RunControl(config.context.mode)
    outbox = Outbox()
    rounds = Rounds(config, ports, conversation, control, outbox.tell, retry or RetryPolicy())

    async def work() -> None:
        try:
            await rounds.run()
        finally:
            outbox.close()

    task = asyncio.create_task(work())
    try:
        async for event in outbox.drain():
            yield event
        await task  # a programmer's error is an exception
    finally:
        if not task.done():
            control.stop()
            # The rounds bound their own end; wait for it, so that nothing outlives its run.
            with suppress(asyncio.CancelledError):
                await asyncio.shield(task)
