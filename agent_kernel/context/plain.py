"""The keeper that folds nothing away: for short lives such as that of a summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent_kernel.context.boundary import after_boundary
from agent_kernel.context.normalise import Repairs, normalise
from agent_kernel.context.text import reminder
from agent_kernel.context.tokens import count_tokens
from agent_kernel.context_types import CompactTrigger, ContextRun
from agent_kernel.messages import Message, TextBlock, Usage, UserMessage
from agent_kernel.model_types import ApiMessage, ClearToolUses


class MessageLog(Protocol):
    """A conversation as a keeper sees it: append only."""

    @property
    def messages(self) -> Sequence[Message]: ...

    @property
    def repairs(self) -> Repairs: ...

    def add(self, message: Message) -> None: ...


class PlainKeeper:
    """Sends what there is (the ``ContextKeeper`` seam)."""

    clearing: ClearToolUses | None = None

    def __init__(self, log: MessageLog) -> None:
        self._log = log
        self._run: ContextRun | None = None

    def begin(self, run: ContextRun) -> None:
        self._run = run

    def tokens(self) -> int:
        return count_tokens(self._log.messages, fixed=self._run.fixed if self._run else 0)

    async def before_request(self) -> bool:
        return True

    def messages(self) -> tuple[ApiMessage, ...]:
        run = self._run
        assert run is not None  # noqa: S101 - the loop begins before it asks
        messages = after_boundary(self._log.messages)
        if run.preamble:
            preamble = TextBlock(text=reminder(run.preamble))
            messages.insert(0, UserMessage(uuid="", content=(preamble,), is_meta=True))
        return normalise(
            messages,
            canonical=run.canonical,
            repairs=self._log.repairs,
            images=run.capabilities.images,
        )

    def after_reply(self, usage: Usage) -> None:
        del usage

    async def compact(self, trigger: CompactTrigger, focus: str = "") -> bool:
        del trigger, focus
        return False

    async def shrink_head(self) -> bool:
        return False
