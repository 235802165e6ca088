"""One tool call on its way, and what is asked of its tool in safety."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import JsonValue

from agent_kernel.messages import TextBlock, ToolUseBlock
from agent_kernel.tool_types import Tool, ToolContext, ToolDisplay, ToolResult
from agent_kernel.vocabulary import ToolStatus

INTERRUPTED = "This call was interrupted by the user."
STOPPED_BY_HOOK = "A hook ended the run."


class RunStopped(Exception):
    """A call ends the run: its result and those of the calls before it count."""


class StoppedByPerson(RunStopped):
    """The person denied a call and asked for the end of the run."""


class StoppedByHook(RunStopped):
    """A hook said that the run must not go on."""


class DeniedByPerson(Exception):
    """The person denied a call; the run goes on."""


def unsaid(text: str) -> ToolResult:
    """An error for the model alone: the person did it, so their line needs no words about it."""
    return ToolResult((TextBlock(text=text),), is_error=True)


@dataclass(eq=False)
class Call:
    """One call on its way. ``input`` is what the tool validated; ``refusal`` set: it must not run.

    ``result`` and ``status`` are set once, by :meth:`Pipeline.finish`. ``stop``: a hook's word
    that the run must end here. ``returned``: what the tool gave back, whatever came after that.
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
    stop: str | None = None
    returned: ToolResult | None = None

    @property
    def outcome(self) -> ToolResult:
        """Its result; that of a stop while it has none."""
        return self.result or ToolResult.error(INTERRUPTED)

    @property
    def raw(self) -> dict[str, JsonValue]:
        return self.block.input


def predicate(call: Call, name: str) -> bool:
    """A tool's predicate of its input; one that fails counts as the unsafe answer."""
    if call.tool is None or call.input is None:
        return False
    try:
        return bool(getattr(call.tool, name)(call.input))
    except Exception:  # noqa: BLE001
        return False


def display_of(call: Call, tool: Tool) -> ToolDisplay:
    try:
        return tool.display(call.input, call.context)
    except Exception:  # noqa: BLE001 - a line to show is not worth a failure
        return ToolDisplay(verb=tool.name)


def payload_of(call: Call, tool: Tool) -> dict[str, JsonValue]:
    return {
        "tool_name": tool.name,
        "tool_input": call.raw,
        "tool_use_id": call.block.id,
        "session_id": call.context.session_id,
        "cwd": str(call.context.cwd),
        "permission_mode": call.context.mode,
    }


def one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500] if text else type(error).__name__


def fault_of(tool: Tool | None, error: BaseException) -> str:
    name = tool.name if tool else "The tool"
    return f"{name} failed: {one_line(error)}"
