"""A session for code that is not asynchronous: one background loop for all of its runs."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from agent_kernel.events import RunFinished

if TYPE_CHECKING:
    from agent_kernel.session import AgentSession

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _background_loop() -> asyncio.AbstractEventLoop:
    """One loop on one daemon thread, made at the first use; clients stay valid between runs."""
    global _loop  # noqa: PLW0603 - one per process on purpose
    with _lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            thread = threading.Thread(
                target=_loop.run_forever, name="agent-kernel-sync", daemon=True
            )
            thread.start()
        return _loop


def run_to_end(session: AgentSession, prompt: str, options: dict[str, Any]) -> RunFinished:
    """Run and wait; an interrupt stops the run, waits for its end and is raised again."""

    async def consume() -> RunFinished:
        last: RunFinished | None = None
        try:
            async for event in session.run(prompt, **options):
                if isinstance(event, RunFinished) and event.agent_id == "main":
                    last = event
        finally:
            # Nobody will close this session; a connection is made again when it is needed.
            await session.parts.close()
        if last is None:
            raise RuntimeError("The run ended without saying how.")
        return last

    loop = _background_loop()
    if threading.current_thread().name == "agent-kernel-sync":
        raise RuntimeError("run_sync cannot be called from inside a run; use run.")
    future = asyncio.run_coroutine_threadsafe(consume(), loop)
    try:
        return future.result()
    except KeyboardInterrupt:
        asyncio.run_coroutine_threadsafe(session.stop(), loop).result(timeout=5)
        raise
