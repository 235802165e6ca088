"""The course of a run: round after round until one of the ends (SPEC L2, L3, L5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from agent_kernel.context.plain import PlainKeeper
from agent_kernel.context.text import clean_text, reminder
from agent_kernel.context_types import ContextKeeper
from agent_kernel.events import Event, Notice, PromptTaken, RunFinished
from agent_kernel.loop.asking import Asking
from agent_kernel.loop.budget import Purse, Tally
from agent_kernel.loop.call import StoppedByHook, StoppedByPerson
from agent_kernel.loop.control import RunControl
from agent_kernel.loop.conversation import Conversation
from agent_kernel.loop.dispatch import Dispatch
from agent_kernel.loop.ends import STOPPED, Ended
from agent_kernel.loop.pipeline import Pipeline
from agent_kernel.loop.ports import Ports, QueryConfig
from agent_kernel.loop.recovery import Recovery, RetryPolicy
from agent_kernel.loop.stops import StopHooks
from agent_kernel.loop.turn import Reply
from agent_kernel.messages import TextBlock
from agent_kernel.tool_types import ToolContext
from agent_kernel.vocabulary import RunEnd

INTERRUPT_NOTE = "The user interrupted you here. Wait for what they say next."
CONTINUE_NOTE = (
    "Your reply was cut off by the output limit. Go on exactly where it stopped,"
    " without repeating anything."
)
CONTEXT_FULL = (
    "The conversation fills the model's context window. Run %agent compact to summarise it, or"
    " %agent clear to begin again."
)
CUT_AGAIN = "The model's replies were cut off by its output limit again and again."
PAUSED_AGAIN = "The model paused again and again without an answer."
EMPTY = "The model's reply was empty."

# A reply that one of these ended is not whole, so that none of its calls may run.
_CUT = ("max_tokens", "model_context_window_exceeded")


@dataclass
class Rounds:
    """One run. All state of it that is not in the conversation is here."""

    config: QueryConfig
    ports: Ports
    conversation: Conversation
    control: RunControl
    outlet: Callable[[Event], None]
    retry: RetryPolicy
    turns: int = 0
    answer: str = ""
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self.pipeline = Pipeline(self.config, self.ports, self.control, self.tell)
        self.keeper: ContextKeeper = self.ports.keeper or PlainKeeper(self.conversation)
        self.recovery = Recovery(self.retry, self.config.fallbacks)
        self.purse = Purse(self.config.budget, self.tally)
        self.stops = StopHooks(self.ports.hooks, self.tell)
        self.asking = Asking(
            self.config,
            self.ports,
            self.conversation,
            self.keeper,
            self.pipeline,
            self.recovery,
            self.tell,
        )

    def tell(self, event: Event) -> None:
        """Pass an event on, and count what it says was spent."""
        self.tally.watch(event)
        self.outlet(event)

    async def run(self) -> None:
        """Runs to the end and tells it; never raises ``CancelledError`` for a stop."""
        began = self.ports.clock.monotonic()
        self.control.bind(asyncio.current_task())
        try:
            await self._rounds()
        except Ended as signal:
            ended = signal
        except asyncio.CancelledError:
            # Between two steps; those that have something to put right do it themselves.
            ended = Ended(RunEnd.ABORTED_STREAMING, STOPPED)
        if ended.detail == STOPPED:
            # Said even if nothing was answered: else the next request would ask for both things.
            self._tell_model(INTERRUPT_NOTE)
        for text in self.control.close():
            self._warn("prompt_dropped", f"Not sent, the turn had ended: {text}")
        self.tell(
            RunFinished(
                agent_id=self.config.context.agent_id,
                end=ended.end,
                turns=self.turns,
                text=self.asking.left or self.answer,
                detail=ended.detail,
                usage=self.tally.usage,
                cost_usd=self.tally.cost,
                duration_ms=round((self.ports.clock.monotonic() - began) * 1000),
            )
        )

    async def _rounds(self) -> None:
        """The steps of SPEC L2; the keeper's are 1 to 6."""
        if self.control.stopped:
            raise Ended(RunEnd.ABORTED_STREAMING, STOPPED)
        while True:
            await self._attach()
            if not await self.keeper.before_request():
                raise Ended(RunEnd.BLOCKING_LIMIT, CONTEXT_FULL)
            self.turns += 1
            reply, dispatch = await self.asking.ask(self.turns)
            self._keep(reply)
            if reply.tool_uses:
                await self._run_tools(reply, dispatch)
                await self._take_prompts(self.control.take())
            elif not await self._goes_on(reply):
                raise Ended(RunEnd.COMPLETED)
            self._check_limits()

    # -- before a request

    async def _attach(self) -> None:
        """Add what the model has not seen yet (SPEC L2.10)."""
        context = replace(self._context(), run_notes=self.pipeline.notes)
        for source in self.ports.attachments:
            try:
                found = await source.collect(context)
            except Exception as error:  # noqa: BLE001 - extra material must not end the run
                text = f"{type(source).__name__} could not be asked: {error}"
                self._warn("attachment_failed", text)
                continue
            for message in found:
                self.conversation.add(message)

    def _check_limits(self) -> None:
        """Before another round: is there a turn and a budget left for it?"""
        limit = self.config.max_turns
        if limit is not None and self.turns >= limit:
            text = f"Stopped after {self.turns} of at most {limit} turns."
            self._warn("max_turns", text)
            raise Ended(RunEnd.MAX_TURNS, text)
        if (blind := self.purse.blind_spot()) is not None:
            self._warn("price_unknown", blind)
        if (spent := self.purse.spent()) is not None:
            raise Ended(RunEnd.BUDGET_SPENT, spent)

    # -- after a reply

    def _keep(self, reply: Reply) -> None:
        message = reply.message()
        if message is not None:
            self.conversation.add(message)
        self.answer = reply.text or self.answer
        self.keeper.after_reply(reply.usage)
        self.asking.report(reply)

    async def _run_tools(self, reply: Reply, dispatch: Dispatch) -> None:
        """Every call gets its result, whatever happens on the way (SPEC L2.8, L2.10)."""
        try:
            if reply.stop_reason in _CUT:
                await dispatch.discard()
            else:
                await dispatch.finish()
        except asyncio.CancelledError:
            await dispatch.cancel()
            await dispatch.keep(self.conversation)
            raise Ended(RunEnd.ABORTED_TOOLS, STOPPED) from None
        except StoppedByPerson as stop:
            await dispatch.keep(self.conversation)
            raise Ended(RunEnd.ABORTED_TOOLS, str(stop)) from None
        except StoppedByHook as stop:
            await dispatch.keep(self.conversation)
            raise Ended(RunEnd.HOOK_STOPPED, str(stop)) from None
        try:
            await dispatch.keep(self.conversation)
        except asyncio.CancelledError:
            raise Ended(RunEnd.ABORTED_TOOLS, STOPPED) from None
        if reply.stop_reason in _CUT:
            self._after_cut()
        else:
            self.recovery.whole()
        for modifier in dispatch.modifiers():
            self.ports.gate.apply(modifier)
            if modifier.model:
                await self.asking.use_model(modifier.model)

    async def _goes_on(self, reply: Reply) -> bool:
        """Whether a reply without calls is not the end after all (SPEC L2.9)."""
        if reply.stop_reason in _CUT:
            self._after_cut()
            self._tell_model(CONTINUE_NOTE)
            return True
        if reply.stop_reason == "pause_turn":
            if not self.recovery.after_pause():
                raise Ended(RunEnd.MODEL_ERROR, PAUSED_AGAIN)
            return True
        self.recovery.whole()
        if not reply.text:
            self._warn("empty_reply", EMPTY)
        if await self._take_prompts(self.control.take()):
            return True
        objection = await self.stops.objection(self.answer, self._context())
        if objection is None and self.purse.spent() is None:
            objection = self.purse.urge()
        if objection is not None:
            self._tell_model(objection)
            return True
        return await self._take_prompts(self.control.take_or_close())

    def _after_cut(self) -> None:
        if not self.recovery.after_cut():
            raise Ended(RunEnd.MODEL_ERROR, CUT_AGAIN)

    async def _take_prompts(self, prompts: list[str]) -> bool:
        """Add what the person said meanwhile; False if that was nothing."""
        for text in prompts:
            text = clean_text(text)  # noqa: PLW2901
            self.ports.gate.apply(None)  # a skill's grants last until the person speaks again
            await self.asking.use_model()
            self.conversation.add_user((TextBlock(text=text),))
            self.tell(PromptTaken(text=text))
        return bool(prompts)

    # -- saying things

    def _context(self) -> ToolContext:
        return replace(self.config.context, mode=self.control.mode, emit=self.tell)

    def _tell_model(self, text: str) -> None:
        self.conversation.add_user((TextBlock(text=reminder(text)),), meta=True)

    def _warn(self, code: str, text: str) -> None:
        agent_id = self.config.context.agent_id
        self.tell(Notice(agent_id=agent_id, level="warning", code=code, text=text))
