"""One tool call: prepare -> gate -> execute -> finalise (SPEC T3). Every failure is a result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import JsonValue

from agent_kernel.context.text import clean_text
from agent_kernel.errors import AgentKernelError, SettingsError, ToolError
from agent_kernel.events import (
    Event,
    Notice,
    PermissionRequested,
    PermissionResolved,
    ToolFinished,
    ToolStarted,
)
from agent_kernel.loop.control import RunControl
from agent_kernel.loop.ports import Ports, QueryConfig
from agent_kernel.loop.results import bounded, presentable
from agent_kernel.messages import ToolUseBlock
from agent_kernel.protocols import ApprovalAnswer, ReadState
from agent_kernel.tool_types import GateDecision, Tool, ToolContext, ToolDisplay, ToolResult
from agent_kernel.vocabulary import ToolStatus

INTERRUPTED = "This call was interrupted by the user."


class StoppedByPerson(Exception):
    """The person denied a call and asked for the end of the run."""


@dataclass(eq=False)
class Call:
    """One call on its way. ``input`` is what the tool validated; ``refusal`` set: it must not run.

    ``result`` and ``status`` are set once, by :meth:`Pipeline.finish`.
    """

    block: ToolUseBlock
    tool: Tool | None
    context: ToolContext
    input: Any = None
    refusal: str | None = None
    hook: Literal["none", "allow", "ask", "deny"] = "none"
    began: float | None = None
    result: ToolResult | None = None
    status: ToolStatus | None = None
    told: bool = False

    @property
    def raw(self) -> dict[str, JsonValue]:
        return self.block.input


@dataclass
class Pipeline:
    """Makes and runs calls for one run."""

    config: QueryConfig
    ports: Ports
    control: RunControl
    tell: Callable[[Event], None]
    notes: dict[str, Any] = field(default_factory=dict)

    # -- prepare

    def prepare(
        self, block: ToolUseBlock, broken_input: str | None = None, reads: ReadState | None = None
    ) -> Call:
        """Find the tool and validate the input; a call that cannot run carries its refusal."""
        tool = self.config.by_name.get(block.name)
        base = self.config.context
        context = replace(
            base,
            mode=self.control.mode,
            emit=self.tell,
            read_state=reads or base.read_state,
            tool_use_id=block.id,
            run_notes=self.notes,
            caller=PipelineCaller(self),
        )
        call = Call(block, tool, context)
        if tool is None:
            names = ", ".join(self.config.by_name[name].name for name in self.config.by_name)
            call.refusal = f"There is no tool named {block.name!r}. The tools are: {names}."
        elif broken_input is not None:
            call.refusal = (
                f"The input of this call is not a JSON object, so {tool.name} did not run."
                f" Send it again as valid JSON. It began: {broken_input[:200]}"
            )
        else:
            try:
                call.input = tool.parse_input(block.input)
            except ToolError as error:
                call.refusal = str(error)
            except Exception as error:  # noqa: BLE001 - a tool's own code; the model may go on
                call.refusal = _fault(tool, error)
        return call

    def is_free(self, call: Call) -> bool:
        """Read-only and concurrency-safe for its input: may start while the reply streams."""
        return self.is_concurrent(call) and _predicate(call, "is_read_only")

    def is_concurrent(self, call: Call) -> bool:
        return call.refusal is None and _predicate(call, "is_concurrency_safe")

    # -- the whole way

    async def run(self, call: Call) -> None:
        """From judging to result. Raises :class:`StoppedByPerson`, and when it is cancelled."""
        self._start(call)
        try:
            outcome = await self._attempt(call)
        except asyncio.CancelledError:
            self.finish(call, ToolResult.error(INTERRUPTED), "cancelled")
            raise
        except StoppedByPerson as stop:
            self.finish(call, ToolResult.error(str(stop)), "denied")
            raise
        except ToolError as error:
            outcome = ToolResult.error(str(error) or "The tool failed without saying why."), "error"
        except Exception as error:  # noqa: BLE001 - a tool's fault must not end the run
            outcome = ToolResult.error(_fault(call.tool, error)), "error"
        result, status = outcome
        try:
            result = await self._presentable(call, result)
        except asyncio.CancelledError:
            self.finish(call, ToolResult.error(INTERRUPTED), "cancelled")
            raise
        self.finish(call, result, status)

    async def _attempt(self, call: Call) -> tuple[ToolResult, ToolStatus]:
        tool = call.tool
        if tool is None or call.refusal is not None:
            return ToolResult.error(call.refusal or "The tool is gone."), "error"
        complaint = await tool.validate_input(call.input, call.context)
        if complaint is not None:
            return ToolResult.error(complaint), "error"
        refusal = await self._before_hooks(call, tool) or await self._judge(call, tool)
        if refusal is not None:
            return ToolResult.error(refusal), "denied"
        call.began = self.ports.clock.monotonic()
        # The mode may have changed while a person thought about it.
        call.context = replace(call.context, mode=self.control.mode)
        result = await tool.call(call.input, call.context)
        event = "PostToolUseFailure" if result.is_error else "PostToolUse"
        await self.ports.hooks.run(event, _payload(call, tool))
        return result, "error" if result.is_error else "ok"

    # -- gate

    async def _before_hooks(self, call: Call, tool: Tool) -> str | None:
        outcome = await self.ports.hooks.run("PreToolUse", _payload(call, tool))
        if outcome.block is not None:
            return outcome.block or "A hook blocked this call."
        call.hook = outcome.opinion
        if outcome.updated_input is not None:
            return await self._replace_input(call, tool, outcome.updated_input)
        return None

    async def _judge(self, call: Call, tool: Tool) -> str | None:
        """None if the call may run, else the refusal for the model."""
        decision = await self._decide(call, tool)
        if decision.behavior == "allow":
            return None
        if decision.behavior == "deny":
            return decision.reason or f"{tool.name} is not allowed here."
        if not self.ports.approver.can_ask():
            reason = decision.reason or f"{tool.name} needs an approval."
            return f"{reason} Nobody can be asked here. {decision.hint}".strip()
        answer = await self._ask(call, tool, decision)
        if answer.decision in ("deny", "deny_stop"):
            text = "The user did not allow this call"
            text += f" and said: {answer.reason}" if answer.reason else "."
            if answer.decision == "deny_stop":
                raise StoppedByPerson(text + " They stopped the turn here.")
            return text + " Do not try it another way without their word."
        if answer.decision in ("allow_session", "allow_always"):
            await self._remember(answer, decision, call, tool)
        if answer.updated_input is not None:
            refusal = await self._replace_input(call, tool, answer.updated_input)
            if refusal is not None:
                return refusal
            # Their own input was just approved by them, so only a deny still counts.
            again = await self._decide(call, tool)
            if again.behavior == "deny":
                return again.reason or f"{tool.name} is not allowed with the changed input."
        return None

    async def _decide(self, call: Call, tool: Tool) -> GateDecision:
        try:
            context = replace(call.context, mode=self.control.mode)
            return await self.ports.gate.decide(tool, call.input, context, hook=call.hook)
        except Exception as error:  # noqa: BLE001 - a gate that cannot judge lets nothing pass
            return GateDecision(
                behavior="deny", reason=f"The call could not be judged: {_one_line(error)}"
            )

    async def _replace_input(self, call: Call, tool: Tool, raw: dict[str, JsonValue]) -> str | None:
        try:
            parsed = tool.parse_input(raw)
        except ToolError as error:
            return f"The changed input is not valid: {error}"
        complaint = await tool.validate_input(parsed, call.context)
        if complaint is None:
            call.input = parsed
            call.block = call.block.model_copy(update={"input": raw})
        return complaint

    async def _ask(self, call: Call, tool: Tool, decision: GateDecision) -> ApprovalAnswer:
        display = _display(call, tool)
        request = PermissionRequested(
            agent_id=call.context.agent_id,
            request_id=self.ports.ids.new("ask"),
            nonce=self.ports.ids.new("nonce"),
            tool_use_id=call.block.id,
            tool=tool.name,
            title=f"{display.verb} {display.subject}".strip(),
            where=str(call.context.cwd),
            reason=decision.reason,
            input=call.raw,
            preview=await tool.preview(call.input, call.context),
            read_only=_predicate(call, "is_read_only"),
            suggestions=decision.suggestions,
        )
        self.tell(request)
        try:
            answer = await self.ports.approver.ask(request)
        except asyncio.CancelledError:
            self._resolved(request, ApprovalAnswer(decision="deny", by="stop"))
            raise
        except Exception as error:  # noqa: BLE001 - no answer is a no
            answer = ApprovalAnswer(
                decision="deny", by="policy", reason=f"The question failed: {_one_line(error)}"
            )
        self._resolved(request, answer)
        return answer

    def _resolved(self, request: PermissionRequested, answer: ApprovalAnswer) -> None:
        self.tell(
            PermissionResolved(
                agent_id=request.agent_id,
                request_id=request.request_id,
                tool_use_id=request.tool_use_id,
                decision=answer.decision,
                by=answer.by,
                rule=answer.rule,
                reason=answer.reason,
            )
        )

    async def _remember(
        self, answer: ApprovalAnswer, decision: GateDecision, call: Call, tool: Tool
    ) -> None:
        """Keep the rule, once it is proven to be about this call (SPEC A4)."""
        always = answer.decision == "allow_always"
        suggested = next(
            (one for one in decision.suggestions if (one.destination != "session") == always), None
        )
        rule = answer.rule or (suggested.rule if suggested else None)
        if rule is None:
            return
        destination = answer.destination or (suggested.destination if suggested else None)
        if destination is None:
            destination = "local" if always else "session"
        try:
            if not await self.ports.gate.proves(rule, tool, call.input, call.context):
                raise SettingsError("it would not allow this call.")
            self.ports.gate.remember(rule, destination)
        except AgentKernelError as error:
            self.tell(
                Notice(
                    level="warning",
                    code="rule_not_saved",
                    text=f"The rule {rule!r} was not saved: {error} The call was allowed once.",
                )
            )

    # -- finalise

    async def _presentable(self, call: Call, result: ToolResult) -> ToolResult:
        content = await presentable(result.content, self.ports.scrub)
        limit = call.tool.max_result_chars if call.tool else 30_000
        content = await bounded(content, limit=limit, name=call.block.id, blobs=self.ports.blobs)
        return replace(
            result, content=content, fact=self.ports.scrub(clean_text(result.fact))[:500]
        )

    def finish(self, call: Call, result: ToolResult, status: ToolStatus) -> None:
        """Settle the call, once, and tell it."""
        if call.status is not None:
            return
        self._start(call)
        call.result, call.status = result, status
        began = call.began
        elapsed = 0.0 if began is None else self.ports.clock.monotonic() - began
        self.tell(
            ToolFinished(
                agent_id=call.context.agent_id,
                tool_use_id=call.block.id,
                status=status,
                fact=result.fact,
                content=result.content,
                preview=result.preview,
                duration_ms=round(elapsed * 1000),
            )
        )

    def _start(self, call: Call) -> None:
        if call.told:
            return
        call.told = True
        display = (
            ToolDisplay(verb=call.block.name)
            if call.tool is None or call.input is None
            else _display(call, call.tool)
        )
        self.tell(
            ToolStarted(
                agent_id=call.context.agent_id,
                tool_use_id=call.block.id,
                tool=call.tool.name if call.tool else call.block.name,
                verb=display.verb,
                subject=display.subject,
                input=call.raw,
                read_only=call.input is not None and _predicate(call, "is_read_only"),
            )
        )


@dataclass(frozen=True)
class PipelineCaller:
    """The whole pipeline for code that calls a tool by name (the ``ToolCaller`` seam)."""

    pipeline: Pipeline

    async def call(self, name: str, input: dict[str, JsonValue]) -> ToolResult:
        """Judged and told like a call of the model; a refusal is an error result."""
        block = ToolUseBlock(id=self.pipeline.ports.ids.new("call"), name=name, input=input)
        call = self.pipeline.prepare(block)
        await self.pipeline.run(call)
        return call.result or ToolResult.error(INTERRUPTED)


def _predicate(call: Call, name: str) -> bool:
    """A tool's predicate of its input; one that fails counts as the unsafe answer."""
    if call.tool is None or call.input is None:
        return False
    try:
        return bool(getattr(call.tool, name)(call.input))
    except Exception:  # noqa: BLE001
        return False


def _display(call: Call, tool: Tool) -> ToolDisplay:
    try:
        return tool.display(call.input, call.context)
    except Exception:  # noqa: BLE001 - a line to show is not worth a failure
        return ToolDisplay(verb=tool.name)


def _payload(call: Call, tool: Tool) -> dict[str, JsonValue]:
    return {
        "tool_name": tool.name,
        "tool_input": call.raw,
        "tool_use_id": call.block.id,
        "session_id": call.context.session_id,
        "cwd": str(call.context.cwd),
        "permission_mode": call.context.mode,
    }


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500] if text else type(error).__name__


def _fault(tool: Tool | None, error: BaseException) -> str:
    name = tool.name if tool else "The tool"
    return f"{name} failed: {_one_line(error)}"
