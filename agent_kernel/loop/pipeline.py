"""One tool call: prepare -> gate -> execute -> finalise (SPEC T3). Every failure is a result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import JsonValue

from agent_kernel.context.text import clean_text
from agent_kernel.errors import ToolError
from agent_kernel.events import (
    Event,
    Notice,
    ToolFinished,
    ToolStarted,
)
from agent_kernel.loop.call import (
    INTERRUPTED,
    STOPPED_BY_HOOK,
    Call,
    DeniedByPerson,
    StoppedByHook,
    StoppedByPerson,
    display_of,
    fault_of,
    one_line,
    payload_of,
    predicate,
    unsaid,
)
from agent_kernel.loop.control import RunControl
from agent_kernel.loop.judge import Judge
from agent_kernel.loop.ports import Ports, QueryConfig
from agent_kernel.loop.results import bounded, presentable
from agent_kernel.messages import TextBlock, ToolUseBlock
from agent_kernel.protocols import ReadState
from agent_kernel.tool_types import Tool, ToolDisplay, ToolResult
from agent_kernel.vocabulary import ToolStatus


@dataclass
class Pipeline:
    """Makes and runs calls for one run."""

    config: QueryConfig
    ports: Ports
    control: RunControl
    tell: Callable[[Event], None]
    notes: dict[str, Any] = field(default_factory=dict)
    judge: Judge = field(init=False)

    def __post_init__(self) -> None:
        self.judge = Judge(self.ports, self.control, self.tell)

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
                call.refusal = fault_of(tool, error)
        return call

    def is_free(self, call: Call) -> bool:
        """Read-only and concurrency-safe for its input: may start while the reply streams."""
        return self.is_concurrent(call) and predicate(call, "is_read_only")

    def is_concurrent(self, call: Call) -> bool:
        return call.refusal is None and predicate(call, "is_concurrency_safe")

    # -- the whole way

    async def run(self, call: Call) -> None:
        """From judging to result. Raises :class:`RunStopped`, and when it is cancelled."""
        self._start(call)
        try:
            outcome = await self._attempt(call)
        except asyncio.CancelledError:
            await self._finish_stopped(call)
            raise
        except StoppedByPerson as stop:
            self.finish(call, unsaid(str(stop)), "denied")
            raise
        except DeniedByPerson as denied:
            outcome = unsaid(str(denied)), "denied"
        except ToolError as error:
            outcome = ToolResult.error(str(error) or "The tool failed without saying why."), "error"
        except Exception as error:  # noqa: BLE001 - a tool's fault must not end the run
            outcome = ToolResult.error(fault_of(call.tool, error)), "error"
        result, status = outcome
        try:
            result = await self._presentable(call, result)
        except asyncio.CancelledError:
            await self._finish_stopped(call)
            raise
        self.finish(call, result, status)
        if call.stop is not None:
            raise StoppedByHook(call.stop or STOPPED_BY_HOOK)

    async def _attempt(self, call: Call) -> tuple[ToolResult, ToolStatus]:
        tool = call.tool
        if tool is None or call.refusal is not None:
            return ToolResult.error(call.refusal or "The tool is gone."), "error"
        complaint = await tool.validate_input(call.input, call.context)
        if complaint is not None:
            return ToolResult.error(complaint), "error"
        refusal = await self.judge.refusal(call, tool)
        if refusal is not None:
            return ToolResult.error(refusal), "denied"
        call.began = self.ports.clock.monotonic()
        # The mode may have changed while a person thought about it.
        call.context = replace(call.context, mode=self.control.mode)
        call.returned = result = await tool.call(call.input, call.context)
        return await self._after_hooks(call, tool, result), "error" if result.is_error else "ok"

    async def _finish_stopped(self, call: Call) -> None:
        """After a stop: what a tool has done counts, also if the stop came before it was told."""
        result = call.returned
        if result is None:
            self.finish(call, unsaid(INTERRUPTED), "cancelled")
        else:
            # Whoever stops gives this a moment, then settles the call himself.
            result = await self._presentable(call, result)
            self.finish(call, result, "error" if result.is_error else "ok")

    async def _after_hooks(self, call: Call, tool: Tool, result: ToolResult) -> ToolResult:
        """What hooks have to say about a result stands below it."""
        event = "PostToolUseFailure" if result.is_error else "PostToolUse"
        try:
            outcome = await self.ports.hooks.run(event, payload_of(call, tool))
        except Exception as error:  # noqa: BLE001 - what the tool did is done
            text = f"The hooks after {tool.name} failed: {one_line(error)}"
            self.tell(Notice(agent_id=call.context.agent_id, code="hook", text=text))
            return result
        call.stop = outcome.stop
        said = (outcome.block, *outcome.additional_context)
        remarks = tuple(TextBlock(text=f"A hook says: {text}") for text in said if text)
        return replace(result, content=(*result.content, *remarks)) if remarks else result

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
            else display_of(call, call.tool)
        )
        self.tell(
            ToolStarted(
                agent_id=call.context.agent_id,
                tool_use_id=call.block.id,
                tool=call.tool.name if call.tool else call.block.name,
                verb=display.verb,
                subject=display.subject,
                input=call.raw,
                read_only=call.input is not None and predicate(call, "is_read_only"),
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
