"""One whole reply: the request, its stream, and what is done when that fails (SPEC L2.7, L4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from agent_kernel.context.image_limits import image_at
from agent_kernel.context.images import image_digest
from agent_kernel.context.thinking import thinking_at
from agent_kernel.context.tokens import estimate_fixed
from agent_kernel.context_types import ContextKeeper, ContextRun
from agent_kernel.events import Event, Notice, Tombstone, UsageReported
from agent_kernel.loop.choice import Choice, choose
from agent_kernel.loop.conversation import Conversation
from agent_kernel.loop.dispatch import Dispatch
from agent_kernel.loop.ends import STOPPED, Ended
from agent_kernel.loop.pipeline import Pipeline
from agent_kernel.loop.ports import Ports, QueryConfig
from agent_kernel.loop.recovery import Recovery, Remedy
from agent_kernel.loop.turn import Reply, Turn
from agent_kernel.model_types import ModelRequest, ReplyFailed
from agent_kernel.vocabulary import RunEnd

WITHDRAWN = "This call was withdrawn together with the reply it belonged to."
DECLINED = "The model declined to answer this."
LONGER = "The reply was longer than its limit. Asking again with a higher one."


@dataclass
class Asking:
    """Asks the model for one run.

    ``pipeline`` starts the calls of a reply that only read.

    ``left`` is the text of a reply that a stop cut.
    """

    config: QueryConfig
    ports: Ports
    conversation: Conversation
    keeper: ContextKeeper
    pipeline: Pipeline
    recovery: Recovery
    tell: Callable[[Event], None]
    choice: Choice = field(init=False)
    left: str = ""

    def __post_init__(self) -> None:
        self.usual = self.config.model
        self._use(choose(self.config, self.config.model, self.config.capabilities))

    # -- which model

    def _use(self, choice: Choice) -> None:
        self.choice = choice
        self.keeper.begin(
            ContextRun(
                model=choice.model,
                capabilities=choice.capabilities,
                context=replace(self.config.context, emit=self.tell),
                tell=self.tell,
                preamble=self.config.preamble,
                fixed=estimate_fixed(self.config.system, self.config.specs),
                canonical=self.config.canonical,
            )
        )

    async def use_model(self, model: str | None = None) -> None:
        """Go on with another model, as far as that one can; None: the one of this run."""
        model = model or self.usual
        if model != self.choice.model:
            self._use(choose(self.config, model, await self.ports.client.capabilities(model)))

    # -- the request

    def request(self) -> ModelRequest:
        """The next request; its head has the same bytes as that of the one before (SPEC P4)."""
        return ModelRequest(
            model=self.choice.model,
            system=self.config.system,
            messages=self.keeper.messages(),
            tools=self.config.specs,
            max_tokens=self.choice.max_tokens,
            thinking_budget=self.choice.thinking_budget,
            clear_tool_uses=self.keeper.clearing,
        )

    async def ask(self, turn: int) -> tuple[Reply, Dispatch]:
        """A reply that ended whole, with its calls. Raises ``Ended`` if there is none."""
        self.recovery.begin()
        while True:
            dispatch = Dispatch(self.pipeline)
            stream = Turn(
                turn,
                clock=self.ports.clock,
                conversation=self.conversation,
                tell=self.tell,
                on_tool_use=dispatch.offer,
            )
            request = self.request()
            try:
                reply = await stream.stream(self.ports.client, request)
                if reply.failure is not None:
                    await self._withdraw(reply, dispatch, reply.failure.message)
                    await self._recover(reply.failure, request)
                elif reply.stop_reason == "refusal":
                    self.report(reply)
                    await self._withdraw(reply, dispatch, DECLINED)
                    self.conversation.withdraw_turn("refused")
                    raise Ended(RunEnd.REFUSED, DECLINED)
                elif (higher := self._higher(reply)) is not None:
                    self.report(reply)
                    await self._withdraw(reply, dispatch, LONGER)
                    self.choice = higher
                    self._warn("output_limit", LONGER)
                else:
                    return reply, dispatch
            except asyncio.CancelledError:
                await self._keep_cut(stream.reply, dispatch)
                raise Ended(RunEnd.ABORTED_STREAMING, STOPPED) from None

    # -- a reply that does not count

    async def _withdraw(self, reply: Reply, dispatch: Dispatch, reason: str) -> None:
        """Take back what was shown of it and cancel what was started for it."""
        await dispatch.discard(WITHDRAWN)
        if reply.started:
            self.tell(Tombstone(agent_id=self._agent, message_id=reply.message_id, reason=reason))
        reply.message_id = ""

    def _higher(self, reply: Reply) -> Choice | None:
        """The choice with a raised output limit, if that is what the reply lacked."""
        if reply.stop_reason != "max_tokens":
            return None
        higher = self.choice.higher(self.config, self.keeper.tokens())
        return higher if higher is not None and self.recovery.after_cut() else None

    async def _keep_cut(self, reply: Reply, dispatch: Dispatch) -> None:
        """After a stop: keep what was said, and give every call in it a result."""
        await dispatch.cancel()
        message = reply.message() if reply.started else None
        if reply.started and reply.usage.total_input:
            self.report(reply)
        if message is not None:
            self.left = reply.text
            self.conversation.add(message)
            await dispatch.keep(self.conversation)

    # -- recovery

    async def _recover(self, failure: ReplyFailed, request: ModelRequest) -> None:
        """Act on remedies until one allows another request. Raises ``Ended``."""
        while not await self._apply(
            self.recovery.after(failure, raised=self.choice.raised), failure, request
        ):
            pass

    async def _apply(self, remedy: Remedy, failure: ReplyFailed, request: ModelRequest) -> bool:
        match remedy.action:
            case "give_up":
                raise Ended(remedy.end, remedy.text)
            case "retry":
                until = self.ports.clock.now() + remedy.delay if remedy.delay else None
                self._warn(remedy.code, remedy.text, until=until)
                if remedy.delay:
                    await self.ports.clock.sleep(remedy.delay)
                return True
            case "compact":
                return await self.keeper.compact("reactive")
            case "shrink":
                if not await self.keeper.shrink_head():
                    raise Ended(RunEnd.PROMPT_TOO_LONG, failure.message)
                return True
            case "without_thinking":
                # The rest of the turn must do without, too: thinking cannot begin in mid-turn.
                bad = thinking_at(request.messages, failure.message)
                self.conversation.repairs.bad_thinking.update(bad)
                self.choice = replace(self.choice, thinking_budget=None)
            case "without_image":
                image = image_at(request.messages, failure.message)
                if image is None:
                    self.conversation.repairs.drop_images = True
                else:
                    self.conversation.repairs.bad_images.add(image_digest(image))
            case "lower_limit":
                self.choice = self.choice.lowered()
            case "fallback":
                self.usual = remedy.model  # for the rest of the run
                await self.use_model(remedy.model)
        self._warn(remedy.code, remedy.text)
        return True

    # -- telling

    def report(self, reply: Reply) -> None:
        """Tell what a reply used, also one that is then withdrawn: it is paid for."""
        model = reply.model or self.choice.model
        self.tell(
            UsageReported(
                agent_id=self._agent,
                message_id=reply.message_id,
                model=model,
                usage=reply.usage,
                cost_usd=self.ports.price(model, reply.usage),
            )
        )

    @property
    def _agent(self) -> str:
        return self.config.context.agent_id

    def _warn(self, code: str, text: str, until: float | None = None) -> None:
        self.tell(Notice(agent_id=self._agent, level="warning", code=code, text=text, until=until))
