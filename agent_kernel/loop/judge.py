"""May a call run? Hooks, the gate, and a person where the gate says so (SPEC A3, A4)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from agent_kernel.errors import AgentKernelError, SettingsError, ToolError
from agent_kernel.events import Event, Notice, PermissionRequested, PermissionResolved
from agent_kernel.loop.call import (
    STOPPED_BY_HOOK,
    Call,
    DeniedByPerson,
    StoppedByPerson,
    display_of,
    one_line,
    payload_of,
    predicate,
)
from agent_kernel.loop.control import RunControl
from agent_kernel.loop.ports import Ports
from agent_kernel.protocols import ApprovalAnswer
from agent_kernel.tool_types import GateDecision, RuleTarget, Tool
from agent_kernel.vocabulary import Preview


@dataclass(frozen=True)
class _View:
    """What an approval shows. Equal if the same thing would happen to the same files."""

    preview: Preview = field(compare=False)
    content: Preview
    aims: tuple[str, ...]


def _aim(target: RuleTarget) -> str:
    return os.path.realpath(target.value) if target.kind == "path" else target.value


def _placeless(preview: Preview) -> Preview:
    """A cell keeps its id when cells above it come and go; only its number changes."""
    return preview.model_copy(update={"where": ""}) if preview.kind == "cell" else preview


@dataclass
class Judge:
    """Judges calls for one run; may change a call's input on the way."""

    ports: Ports
    control: RunControl
    tell: Callable[[Event], None]

    async def refusal(self, call: Call, tool: Tool) -> str | None:
        """None if the call may run, else the text for the model.

        Raises :class:`DeniedByPerson` and :class:`StoppedByPerson`.
        """
        return await self._before_hooks(call, tool) or await self._judge(call, tool)

    async def _before_hooks(self, call: Call, tool: Tool) -> str | None:
        outcome = await self.ports.hooks.run("PreToolUse", payload_of(call, tool))
        call.stop = outcome.stop
        if outcome.block is not None:
            return outcome.block or "A hook blocked this call."
        if outcome.stop is not None:
            return outcome.stop or STOPPED_BY_HOOK
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
        try:
            shown = await self._view(call, tool)
        except ToolError:
            if decision.rule is None:
                raise
            # The text of the failure may quote what a rule wants to be asked for.
            return f"{decision.reason} It cannot be shown as it is; look at what it is about first."
        answer = await self._ask(call, tool, decision, shown.preview)
        if answer.decision in ("deny", "deny_stop"):
            who = "The user" if answer.by == "you" else "The policy of this run"
            text = f"{who} did not allow this call"
            text += f" and said: {answer.reason}" if answer.reason else "."
            if answer.decision == "deny_stop":
                raise StoppedByPerson(text + " They stopped the turn here.")
            text += " Do not try it another way without their word."
            if answer.by == "you":
                raise DeniedByPerson(text)
            return text
        if answer.updated_input is None:
            refusal = await self._stale(call, tool, shown)
            if refusal is not None:
                return refusal
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

    async def _stale(self, call: Call, tool: Tool, shown: _View) -> str | None:
        """Why an approved call must not run after all: a person may think for hours.

        Rules, files, links and cells can change meanwhile, and ``cell-2`` can be another cell.
        """
        again = await self._decide(call, tool)
        if again.behavior == "deny":
            return again.reason or f"{tool.name} is not allowed any more."
        if await self._view(call, tool) != shown:
            return (
                f"What this {tool.name} would do changed after it was shown for approval, so it "
                "did not happen. Read again what it is about, then make the call anew."
            )
        return None

    async def _view(self, call: Call, tool: Tool) -> _View:
        preview = await tool.preview(call.input, call.context)
        targets = await tool.rule_targets(call.input, call.context)
        return _View(preview, _placeless(preview), tuple(_aim(target) for target in targets))

    async def _decide(self, call: Call, tool: Tool) -> GateDecision:
        try:
            context = replace(call.context, mode=self.control.mode)
            return await self.ports.gate.decide(tool, call.input, context, hook=call.hook)
        except Exception as error:  # noqa: BLE001 - a gate that cannot judge lets nothing pass
            return GateDecision(
                behavior="deny", reason=f"The call could not be judged: {one_line(error)}"
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

    async def _ask(
        self, call: Call, tool: Tool, decision: GateDecision, preview: Preview
    ) -> ApprovalAnswer:
        display = display_of(call, tool)
        request = PermissionRequested(
            agent_id=call.context.agent_id,
            request_id=self.ports.ids.new("ask"),
            nonce=self.ports.ids.new("nonce"),
            tool_use_id=call.block.id,
            tool=tool.name,
            title=display.question or f"{display.verb} {display.subject}".strip() + "?",
            where=display.place or str(call.context.cwd),
            reason=decision.reason,
            input=call.raw,
            preview=preview,
            read_only=predicate(call, "is_read_only"),
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
                decision="deny", by="policy", reason=f"The question failed: {one_line(error)}"
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
        # What was clicked decides how long it holds, not a field that came along with it.
        if not always:
            destination = "session"
        elif destination is None or destination == "session":
            destination = "local"
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
