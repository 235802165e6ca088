"""Keeps one conversation within the model's window: the ladder of SPEC C6, from mild to harsh."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from agent_kernel.context.api_rounds import (
    api_rounds,
    cuts,
    newest_prompt,
    without_head,
)
from agent_kernel.context.breaker import Breaker
from agent_kernel.context.invoked import invoked_skills
from agent_kernel.context.plain import MessageLog
from agent_kernel.context.stale import KEPT, REPEATABLE
from agent_kernel.context.summary import GO_ON, OPENING, SummaryFailed, summarise
from agent_kernel.context.text import reminder
from agent_kernel.context.tokens import estimate_message
from agent_kernel.context.view import View
from agent_kernel.context.window import Window, WindowSettings
from agent_kernel.context_types import CompactTrigger, ContextRun
from agent_kernel.events import Compacted, Notice
from agent_kernel.messages import (
    AttachmentMessage,
    CompactBoundary,
    Message,
    TextBlock,
    Usage,
    UserMessage,
)
from agent_kernel.model_types import ApiMessage, ClearToolUses
from agent_kernel.protocols import Hooks
from agent_kernel.tool_types import ToolContext

KEPT_PROMPT_TOKENS = 5_000
KEPT_ROUND_TOKENS = 10_000
"""What may stay beside a summary as it was said: the newest prompt, the newest round."""

LEFT_OUT = "The oldest part of this conversation was left out here, because it no longer fits."
OLDEST_CUT = "The oldest part of the conversation is no longer sent: it does not fit."
LARGEST_CUT = "The largest results are sent in part only: they do not fit."

Restore = Callable[[ToolContext], Awaitable[Sequence[AttachmentMessage]]]


class Keeper:
    """The ``ContextKeeper`` seam; one per conversation.

    ``restore`` brings back, after a compact, the files the model had read. ``on_compact`` hears of
    each: what the model was told once has to be told again.
    """

    def __init__(
        self,
        log: MessageLog,
        *,
        hooks: Hooks | None = None,
        settings: WindowSettings | None = None,
        restore: Restore | None = None,
        on_compact: Callable[[], None] = lambda: None,
    ) -> None:
        self._log = log
        self._hooks = hooks
        self._settings = settings or WindowSettings()
        self._restore = restore
        self._on_compact = on_compact
        self._run: ContextRun | None = None
        self._view = View(log)
        self._breaker = Breaker()
        self._warned = False

    @property
    def run(self) -> ContextRun:
        assert self._run is not None, "begin() comes first"  # noqa: S101
        return self._run

    @property
    def window(self) -> Window:
        return Window.of(self.run.capabilities, self._settings)

    @property
    def clearing(self) -> ClearToolUses | None:
        if not self.run.capabilities.context_management:
            return None
        above = self.window.autocompact // 2
        return ClearToolUses(tools=tuple(sorted(REPEATABLE)), above=above, keep=KEPT)

    @property
    def view(self) -> View:
        """What is sent, for a report of what fills the window."""
        return self._view

    def begin(self, run: ContextRun) -> None:
        self._run = run
        self._view.begin(run)

    def tokens(self) -> int:
        self._view.sync()
        return self._view.tokens()

    def messages(self) -> tuple[ApiMessage, ...]:
        self._view.sync()
        return self._view.request()

    def after_reply(self, usage: Usage) -> None:
        self._view.sync()
        self._view.told(usage)
        self._breaker.replied()

    async def before_request(self) -> bool:
        self._view.sync()
        if self.clearing is None:
            self._view.clear_stale()
        window = self.window
        self._warn(window)
        if not self._settings.autocompact:
            return self.tokens() <= window.blocking
        if self.tokens() > window.autocompact and self._breaker.allows():
            await self.compact("auto")
        while self.tokens() > window.blocking:
            if not await self.shrink_head():
                return False
        return True

    # -- the harsh end of the ladder

    async def shrink_head(self) -> bool:
        self._view.sync()
        messages = self._view.shaped()
        rest = without_head(messages)
        if rest is not None:
            self._replace_head("cut", self.tokens(), LEFT_OUT, rest)
            self._notice("context_cut", OLDEST_CUT)
            return True
        cut = cuts(messages)
        if cut:
            self._view.replace(cut)
            self._notice("context_cut", LARGEST_CUT)
        return bool(cut)

    # -- the summary

    async def compact(self, trigger: CompactTrigger, focus: str = "") -> bool:
        self._view.sync()
        messages = self._view.shaped()
        if not any(message.type == "assistant" for message in messages):
            return False
        before = self.tokens()
        hint = await self._pre_hooks(trigger, focus)
        if hint is None:
            self._breaker.failed()
            return False
        try:
            summary = await summarise(messages, self.run, self.window, hint)
        except SummaryFailed as failure:
            self._failed(trigger, str(failure))
            return False
        await self._fold(messages, trigger, before, summary)
        after = self.tokens()
        self._breaker.compacted(useful=after <= self.window.autocompact)
        self._warned = False
        self.run.tell(
            Compacted(
                agent_id=self.run.context.agent_id,
                trigger=trigger,
                tokens_before=before,
                tokens_after=after,
                summary=summary,
            )
        )
        self._tell_if_given_up(trigger)
        return True

    async def _fold(
        self, messages: list[Message], trigger: CompactTrigger, before: int, summary: str
    ) -> None:
        kept = () if trigger == "manual" else _kept(messages)
        extra = await self._restored(messages, kept, trigger, summary)
        parts = [OPENING, summary] if trigger == "manual" else [OPENING, summary, GO_ON]
        text = "\n\n".join(parts)
        self._replace_head(trigger, before, text, kept)
        for attachment in extra:
            self._log.add(attachment)
        self._view.sync()

    def _replace_head(
        self,
        trigger: CompactTrigger | Literal["cut"],
        before: int,
        text: str,
        kept: Sequence[Message],
    ) -> None:
        """Written down, so that a resumed conversation sends the same."""
        uuids = tuple(message.uuid for message in kept)
        boundary = CompactBoundary(uuid="", trigger=trigger, tokens_before=before, kept=uuids)
        self._log.add(boundary)
        said = TextBlock(text=reminder(text))
        self._log.add(UserMessage(uuid="", is_meta=True, content=(said,)))
        self._view.sync()

    async def _restored(
        self, messages: Sequence[Message], kept: Sequence[Message], trigger: str, summary: str
    ) -> list[AttachmentMessage]:
        """What a summary cannot hold: the text of skills, files as they are, words of hooks."""
        self._on_compact()
        found = list(invoked_skills([m for m in messages if m not in kept]))
        if self._restore is not None:
            found += await self._restore(self.run.context)
        if self._hooks is not None:
            started = await self._hooks.run("SessionStart", {"source": "compact"})
            payload = {"trigger": _hook_trigger(trigger), "compact_summary": summary}
            ended = await self._hooks.run("PostCompact", {**payload})
            found += [
                AttachmentMessage(
                    uuid="", is_meta=True, kind="hook", content=(TextBlock(text=text),)
                )
                for text in (*started.additional_context, *ended.additional_context)
            ]
        return found

    async def _pre_hooks(self, trigger: str, focus: str) -> str | None:
        """The focus with what hooks add to it; None if one of them forbids the compact."""
        if self._hooks is None:
            return focus
        payload = {"trigger": _hook_trigger(trigger), "custom_instructions": focus}
        outcome = await self._hooks.run("PreCompact", {**payload})
        reason = outcome.block or outcome.stop
        if reason is not None:
            self._notice("compact_blocked", f"A hook forbade the summary: {reason}")
            return None
        return "\n\n".join(part for part in (focus, *outcome.additional_context) if part)

    def _failed(self, trigger: CompactTrigger, reason: str) -> None:
        self._breaker.failed()
        self._notice("compact_failed", f"The conversation could not be summarised: {reason}")
        self._tell_if_given_up(trigger)

    def _tell_if_given_up(self, trigger: CompactTrigger) -> None:
        if trigger == "auto" and self._breaker.is_open:
            self._notice(
                "compact_stopped",
                "The conversation fills up faster than it can be summarised; it is not summarised"
                " by itself any more. %agent compact does it, %agent clear begins another.",
            )

    # -- what the person is told

    def _warn(self, window: Window) -> None:
        if self._warned or self.tokens() <= window.warning:
            return
        self._warned = True
        share = round(100 * self.tokens() / window.effective)
        self._notice("context_low", f"The conversation fills {share} % of what the model can take.")

    def _notice(self, code: str, text: str) -> None:
        agent_id = self.run.context.agent_id
        self.run.tell(Notice(agent_id=agent_id, level="warning", code=code, text=text))


def _kept(messages: Sequence[Message]) -> tuple[Message, ...]:
    """What the person said last and the round that is under way, if they are small."""
    last = api_rounds(messages)[-1]
    kept = last if sum(map(estimate_message, last)) <= KEPT_ROUND_TOKENS else []
    prompt = newest_prompt(messages)
    if prompt is not None and prompt not in kept and estimate_message(prompt) <= KEPT_PROMPT_TOKENS:
        kept = [prompt, *kept]
    return tuple(kept)


def _hook_trigger(trigger: str) -> str:
    return "manual" if trigger == "manual" else "auto"
