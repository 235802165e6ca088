"""The calls of one message: which may start early, which run together, in which order (SPEC T4)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from agent_kernel.loop.call import INTERRUPTED, Call, RunStopped, StoppedByPerson, unsaid
from agent_kernel.loop.conversation import Conversation
from agent_kernel.loop.pipeline import Pipeline
from agent_kernel.loop.results import MESSAGE_CHARS, bounded, text_size
from agent_kernel.messages import ResultContent, ToolResultBlock, ToolUseBlock
from agent_kernel.protocols import ReadState
from agent_kernel.tool_types import ContextModifier, ToolResult

AT_ONCE = 10

# Seconds. An interrupt has to end a run within 200 ms, and within 1 s where a tool must end first.
CANCEL_GRACE = 0.12
WAIT_GRACE = 0.9

CUT_OFF = (
    "The reply was cut off by the output limit, so this call did not run."
    " Send it again in smaller parts."
)
NOT_RUN = "This call did not run: the turn was stopped before it."


class Overlay:
    """Reads noted by early calls; they count only once the message that asked is kept."""

    def __init__(self, below: ReadState) -> None:
        self._below = below
        self._kept: dict[str, str | None] | None = {}

    def remember(self, key: str, digest: str) -> None:
        if self._kept is None:
            self._below.remember(key, digest)
        else:
            self._kept[key] = digest

    def digest(self, key: str) -> str | None:
        if self._kept is not None and key in self._kept:
            return self._kept[key]
        return self._below.digest(key)

    def forget(self, key: str) -> None:
        if self._kept is None:
            self._below.forget(key)
        else:
            self._kept[key] = None

    def recent(self) -> tuple[str, ...]:
        kept = self._kept or {}
        below = (key for key in self._below.recent() if key not in kept)
        return (*(key for key in reversed(kept) if kept[key] is not None), *below)

    def commit(self) -> None:
        """Pass on what was noted, and from now on everything at once."""
        kept, self._kept = self._kept or {}, None
        for key, digest in kept.items():
            if digest is None:
                self._below.forget(key)
            else:
                self._below.remember(key, digest)


class Dispatch:
    """One per model call. :meth:`offer` as blocks complete, then one of the endings."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._calls: list[Call] = []
        self._tasks: dict[Call, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._reads = Overlay(pipeline.config.context.read_state)
        self._free_so_far = True
        self._streaming = True

    # -- while the reply streams

    def offer(self, block: ToolUseBlock, broken_input: str | None = None) -> None:
        """A call is complete. It starts now if it, and all before it, only read."""
        call = self._pipeline.prepare(block, broken_input, self._reads)
        self._calls.append(call)
        self._free_so_far = self._free_so_far and self._pipeline.is_free(call)
        if self._free_so_far:
            self._spawn(call)

    def _spawn(self, call: Call) -> asyncio.Task[None]:
        task = self._tasks.get(call)
        if task is None:
            task = self._tasks[call] = asyncio.create_task(self._one(call))
        return task

    async def _one(self, call: Call) -> None:
        async with self._slots:
            try:
                await self._pipeline.run(call)
            except StoppedByPerson:
                if self._streaming:  # nobody waits for this call yet
                    self._pipeline.control.stop()
                raise

    # -- endings

    async def finish(self) -> None:
        """The message ended whole: run what is left. Raises ``RunStopped``."""
        self._streaming = False
        self._reads.commit()
        try:
            for group in self._groups():
                await self._together(group)
        except RunStopped:
            await self.cancel(NOT_RUN)
            raise

    def _groups(self) -> Iterable[list[Call]]:
        """Neighbours that are concurrency-safe together, others alone, in request order."""
        group: list[Call] = []
        for call in self._calls:
            if self._pipeline.is_concurrent(call):
                group.append(call)
                continue
            if group:
                yield group
                group = []
            yield [call]
        if group:
            yield group

    async def _together(self, group: list[Call]) -> None:
        tasks = [self._spawn(call) for call in group]
        waiting = set(tasks)
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if not task.cancelled() and (error := task.exception()) is not None:
                    raise error

    async def discard(self, text: str = CUT_OFF) -> None:
        """The message does not count as asked for: no call of it has a result of its own."""
        await self.cancel(text)
        for call in self._calls:
            call.result = ToolResult.error(text)

    async def cancel(self, text: str = INTERRUPTED) -> None:
        """Stop what runs, within bounds, and give what has no result this one."""
        running = {task: call for call, task in self._tasks.items() if not task.done()}
        waits: set[asyncio.Task[None]] = set()
        for task, call in running.items():
            if call.began is not None and call.tool and call.tool.interrupt_behavior() == "wait":
                waits.add(task)
            else:
                task.cancel()
        if waits:
            _, late = await asyncio.wait(waits, timeout=WAIT_GRACE)
            for task in late:
                task.cancel()
        if running:
            await asyncio.wait(running, timeout=CANCEL_GRACE)
        for task in self._tasks.values():
            if task.done() and not task.cancelled():
                with suppress(RunStopped):
                    task.result()
        result = unsaid(text) if text == INTERRUPTED else ToolResult.error(text)
        for call in self._calls:
            self._pipeline.finish(call, result, "cancelled")

    # -- outcome

    async def keep(self, conversation: Conversation) -> None:
        """Add the results and what they bring. A stop meanwhile is heard after that."""
        work = asyncio.ensure_future(self.results())
        stopped = False
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            stopped = True
            await asyncio.wait({work}, timeout=WAIT_GRACE)
        if work.done():
            results = work.result()
        else:  # a disk that hangs
            work.cancel()
            results = tuple(_block(call, call.outcome.content) for call in self._calls)
        if results:
            conversation.add_user(results)
        for call in self._calls:
            for message in call.result.extra_messages if call.result else ():
                conversation.add(message)
        if stopped:
            raise asyncio.CancelledError

    async def results(self) -> tuple[ToolResultBlock, ...]:
        """In the order of the calls; all together within the limit of one message."""
        blocks: list[ToolResultBlock] = []
        left = MESSAGE_CHARS
        for call in self._calls:
            content = await bounded(
                call.outcome.content,
                limit=left,
                name=f"{call.block.id}-rest",
                blobs=self._pipeline.ports.blobs,
            )
            left = max(0, left - text_size(content))
            blocks.append(_block(call, content))
        return tuple(blocks)

    def modifiers(self) -> tuple[ContextModifier, ...]:
        return tuple(
            call.result.modifier
            for call in self._calls
            if call.result and call.result.modifier is not None
        )


def _block(call: Call, content: tuple[ResultContent, ...]) -> ToolResultBlock:
    return ToolResultBlock(
        tool_use_id=call.block.id, content=content, is_error=call.outcome.is_error
    )
