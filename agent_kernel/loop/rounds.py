"""The course of a run: round after round until one of the ends (SPEC L2, L3, L5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from agent_kernel.context.image_limits import image_at
from agent_kernel.context.images import image_digest
from agent_kernel.context.plain import PlainKeeper
from agent_kernel.context.text import clean_text, reminder
from agent_kernel.context_types import ContextKeeper, ContextRun
from agent_kernel.events import (
    Event,
    Notice,
    PromptTaken,
    RunFinished,
    Tombstone,
    UsageReported,
)
from agent_kernel.loop.call import StoppedByPerson
from agent_kernel.loop.control import RunControl
from agent_kernel.loop.conversation import Conversation
from agent_kernel.loop.dispatch import Dispatch
from agent_kernel.loop.pipeline import Pipeline
from agent_kernel.loop.ports import Ports, QueryConfig
from agent_kernel.loop.recovery import MAX_CONTINUATIONS, Recovery, RetryPolicy
from agent_kernel.loop.turn import Reply, Turn
from agent_kernel.messages import (
    AssistantMessage,
    Message,
    TextBlock,
    TombstoneMessage,
    Usage,
    UserMessage,
)
from agent_kernel.model_types import ModelRequest, ReplyFailed
from agent_kernel.vocabulary import RunEnd

INTERRUPT_NOTE = "The user interrupted you here. Wait for what they say next."
CONTINUE_NOTE = (
    "Your reply was cut off by the output limit. Go on exactly where it stopped,"
    " without repeating anything."
)


STOPPED = "Interrupted by the user."
CONTEXT_FULL = (
    "The conversation fills the model's context window. Run %agent compact to summarise it, or"
    " %agent clear to begin again."
)


class Ended(Exception):
    """Ends the rounds from anywhere inside them."""

    def __init__(self, end: RunEnd, detail: str = "") -> None:
        super().__init__(detail)
        self.end = end
        self.detail = detail


@dataclass
class Rounds:
    """One run. All state of it that is not in the conversation is here."""

    config: QueryConfig
    ports: Ports
    conversation: Conversation
    control: RunControl
    tell: Callable[[Event], None]
    retry: RetryPolicy
    turns: int = 0
    usage: Usage = Usage()
    cost: float | None = None
    answer: str = ""
    continuations: int = 0
    pipeline: Pipeline = field(init=False)

    def __post_init__(self) -> None:
        self.model = self.config.model
        self.pipeline = Pipeline(self.config, self.ports, self.control, self.tell)
        self.keeper: ContextKeeper = self.ports.keeper or PlainKeeper(self.conversation)
        self.keeper.begin(
            ContextRun(
                model=self.model,
                capabilities=self.config.capabilities,
                context=self.config.context,
                tell=self.tell,
                preamble=self.config.preamble,
                canonical=self.config.canonical,
            )
        )

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
        for text in self.control.close():
            self._warn("prompt_dropped", f"Not sent, the turn had ended: {text}")
        self.tell(
            RunFinished(
                agent_id=self.config.context.agent_id,
                end=ended.end,
                turns=self.turns,
                text=self.answer,
                detail=ended.detail,
                usage=self.usage,
                cost_usd=self.cost,
                duration_ms=round((self.ports.clock.monotonic() - began) * 1000),
            )
        )

    async def _rounds(self) -> None:
        if self.control.stopped:
            raise Ended(RunEnd.ABORTED_STREAMING, STOPPED)
        while True:
            await self._attach()
            if not await self.keeper.before_request():
                raise Ended(RunEnd.BLOCKING_LIMIT, CONTEXT_FULL)
            self.turns += 1
            reply, dispatch = await self._call_model()
            self._keep(reply)
            if reply.tool_uses:
                await self._run_tools(reply, dispatch)
            elif not self._goes_on(reply):
                raise Ended(RunEnd.COMPLETED)
            limit = self.config.max_turns
            if limit is not None and self.turns >= limit:
                text = f"Stopped after {self.turns} of at most {limit} turns."
                self._warn("max_turns", text)
                raise Ended(RunEnd.MAX_TURNS, text)

    # -- before a request

    async def _attach(self) -> None:
        """Add what the model has not seen yet (SPEC L2.10)."""
        context = replace(
            self.config.context,
            mode=self.control.mode,
            emit=self.tell,
            run_notes=self.pipeline.notes,
        )
        for source in self.ports.attachments:
            try:
                found = await source.collect(context)
            except Exception as error:  # noqa: BLE001 - extra material must not end the run
                text = f"{type(source).__name__} could not be asked: {error}"
                self._warn("attachment_failed", text)
                continue
            for message in found:
                self.conversation.add(message)

    def request(self) -> ModelRequest:
        """The next request; its head has the same bytes as that of the one before (SPEC P4)."""
        return ModelRequest(
            model=self.model,
            system=self.config.system,
            messages=self.keeper.messages(),
            tools=self.config.specs,
            max_tokens=self.config.max_tokens,
            thinking_budget=self.config.thinking_budget,
            clear_tool_uses=self.keeper.clears_on_server,
        )

    # -- the request

    async def _call_model(self) -> tuple[Reply, Dispatch]:
        """One whole reply, after retries. Raises ``Ended``."""
        recovery = Recovery(self.retry)
        while True:
            dispatch = Dispatch(self.pipeline)
            turn = Turn(
                self.turns,
                clock=self.ports.clock,
                conversation=self.conversation,
                tell=self.tell,
                on_tool_use=dispatch.offer,
            )
            request = self.request()
            try:
                reply = await turn.stream(self.ports.client, request)
                if reply.failure is None and reply.stop_reason != "refusal":
                    return reply, dispatch
                await self._withdraw(reply, dispatch)
                if reply.failure is None:
                    self._withdraw_turn()
                    raise Ended(RunEnd.REFUSED, "The model declined to answer this.")
                await self._recover(recovery, reply.failure, request)
            except asyncio.CancelledError:
                await self._keep_cut(turn.reply, dispatch)
                raise Ended(RunEnd.ABORTED_STREAMING, STOPPED) from None

    async def _withdraw(self, reply: Reply, dispatch: Dispatch) -> None:
        """Take back what was shown of a reply that does not count."""
        await dispatch.discard("This call was withdrawn together with the reply it belonged to.")
        if reply.started:
            reason = reply.failure.message if reply.failure else "The model declined to answer."
            self.tell(Tombstone(message_id=reply.message_id, reason=reason))
        reply.message_id = ""

    def _withdraw_turn(self) -> None:
        """Leave the refused turn out of later requests, else they would be refused as well.

        What was attached stays: its sources count it as seen.
        """
        messages = self.conversation.messages
        start = len(messages) - 1
        while start > 0 and not _is_prompt(messages[start]):
            start -= 1
        for message in messages[start:]:
            if isinstance(message, UserMessage | AssistantMessage):
                stone = TombstoneMessage(uuid="", target_uuid=message.uuid, reason="refused")
                self.conversation.add(stone)

    async def _recover(
        self, recovery: Recovery, failure: ReplyFailed, request: ModelRequest
    ) -> None:
        remedy = recovery.after(failure)
        if remedy.action == "give_up":
            end = RunEnd.PROMPT_TOO_LONG if failure.kind == "prompt_too_long" else None
            raise Ended(end or RunEnd.MODEL_ERROR, failure.message)
        if remedy.repair == "thinking":
            self.conversation.repairs.drop_thinking = True
        elif remedy.repair == "images":
            image = image_at(request.messages, failure.message)
            if image is None:
                self.conversation.repairs.drop_images = True
            else:
                self.conversation.repairs.bad_images.add(image_digest(image))
        until = self.ports.clock.now() + remedy.delay if remedy.delay else None
        self._warn("retry", remedy.text, until=until)
        if remedy.delay:
            await self.ports.clock.sleep(remedy.delay)

    async def _keep_cut(self, reply: Reply, dispatch: Dispatch) -> None:
        """After a stop: keep what was said, and give every call in it a result."""
        await dispatch.cancel()
        message = reply.message() if reply.started else None
        if message is not None:
            self.conversation.add(message)
            self.answer = reply.text
            await self._keep_results(dispatch)
        # Said even if nothing was answered: else the next request would ask for both things.
        self._note_interrupt()

    # -- after the reply

    def _keep(self, reply: Reply) -> None:
        message = reply.message()
        if message is not None:
            self.conversation.add(message)
        self.answer = reply.text or self.answer
        self.keeper.after_reply(reply.usage)
        self.usage += reply.usage
        cost = self.ports.price(reply.model or self.model, reply.usage)
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost
        self.tell(
            UsageReported(
                agent_id=self.config.context.agent_id,
                message_id=reply.message_id,
                model=reply.model or self.model,
                usage=reply.usage,
                cost_usd=cost,
            )
        )

    async def _run_tools(self, reply: Reply, dispatch: Dispatch) -> None:
        try:
            if reply.stop_reason == "max_tokens":
                await dispatch.discard()
            else:
                await dispatch.finish()
        except asyncio.CancelledError:
            await dispatch.cancel()
            await self._keep_results(dispatch)
            self._note_interrupt()
            raise Ended(RunEnd.ABORTED_TOOLS, STOPPED) from None
        except StoppedByPerson as stop:
            await self._keep_results(dispatch)
            raise Ended(RunEnd.ABORTED_TOOLS, str(stop)) from None
        await self._keep_results(dispatch)
        self._check_cut(reply)
        for modifier in dispatch.modifiers():
            self.ports.gate.apply(modifier)
            self.model = modifier.model or self.model
        self._take_prompts(self.control.take())

    def _note_interrupt(self) -> None:
        self.conversation.add_user((TextBlock(text=reminder(INTERRUPT_NOTE)),), meta=True)

    async def _keep_results(self, dispatch: Dispatch) -> None:
        results = await dispatch.results()
        if results:
            self.conversation.add_user(results)
        for message in dispatch.extra_messages():
            self.conversation.add(message)

    def _check_cut(self, reply: Reply) -> None:
        """Count replies that the output limit cut; too many in a row end the run."""
        if reply.stop_reason != "max_tokens":
            self.continuations = 0
            return
        self.continuations += 1
        if self.continuations > MAX_CONTINUATIONS:
            text = "The model's replies were cut off by its output limit again and again."
            raise Ended(RunEnd.MODEL_ERROR, text)

    def _goes_on(self, reply: Reply) -> bool:
        """Whether a reply without calls is not the end after all."""
        if reply.stop_reason == "pause_turn":
            return True
        if reply.stop_reason == "max_tokens" and reply.text:
            self._check_cut(reply)
            self.conversation.add_user((TextBlock(text=reminder(CONTINUE_NOTE)),), meta=True)
            return True
        prompts = self.control.take_or_close()
        self._take_prompts(prompts)
        return bool(prompts)

    def _take_prompts(self, prompts: list[str]) -> None:
        for text in prompts:
            text = clean_text(text)  # noqa: PLW2901
            self.ports.gate.apply(None)  # a skill's grants last until the person speaks again
            self.model = self.config.model
            self.conversation.add_user((TextBlock(text=text),))
            self.tell(PromptTaken(text=text))

    def _warn(self, code: str, text: str, until: float | None = None) -> None:
        agent_id = self.config.context.agent_id
        self.tell(Notice(agent_id=agent_id, level="warning", code=code, text=text, until=until))


def _is_prompt(message: Message) -> bool:
    """Whether a person's words begin here."""
    return (
        isinstance(message, UserMessage)
        and not message.is_meta
        and any(isinstance(block, TextBlock) for block in message.content)
    )
