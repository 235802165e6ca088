"""A keeper that makes room, or fails to, as a test says."""

from __future__ import annotations

from agent_kernel.context.plain import MessageLog, PlainKeeper
from agent_kernel.context_types import CompactTrigger
from agent_kernel.messages import CompactBoundary, TextBlock, UserMessage


class FakeKeeper(PlainKeeper):
    """``compacts``, ``shrinks`` and ``rooms`` are the answers in order, then False, False, True.

    ``asked`` lists what it was asked for. A compaction that succeeds leaves a summary and the last
    message.
    """

    def __init__(
        self,
        log: MessageLog,
        *,
        compacts: tuple[bool, ...] = (),
        shrinks: tuple[bool, ...] = (),
        rooms: tuple[bool, ...] = (),
    ) -> None:
        super().__init__(log)
        self._messages = log
        self._compacts, self._shrinks, self._rooms = list(compacts), list(shrinks), list(rooms)
        self.asked: list[str] = []

    async def before_request(self) -> bool:
        return self._rooms.pop(0) if self._rooms else True

    async def compact(self, trigger: CompactTrigger, focus: str = "") -> bool:
        self.asked.append(f"compact {trigger}")
        done = bool(self._compacts) and self._compacts.pop(0)
        if done:
            last = self._messages.messages[-1]
            self._messages.add(CompactBoundary(uuid="", trigger=trigger))
            summary = TextBlock(text="What was said so far.")
            self._messages.add(UserMessage(uuid="", content=(summary,), is_meta=True))
            self._messages.add(last.model_copy(update={"uuid": ""}))
        return done

    async def shrink_head(self) -> bool:
        self.asked.append("shrink")
        return bool(self._shrinks) and self._shrinks.pop(0)
