"""Calls one tool by hand: context, validation, judgement and call in the order of the pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent_kernel.agents.reads import ReadMemory
from agent_kernel.errors import ToolError
from agent_kernel.events import Event
from agent_kernel.messages import TextBlock
from agent_kernel.permissions.gate import Gate
from agent_kernel.protocols import CommandSource, Namespace, Notebook
from agent_kernel.testing.clock import CountingIds
from agent_kernel.tool_types import GateDecision, Tool, ToolContext, ToolResult
from agent_kernel.tools.registry import default_tools
from agent_kernel.vocabulary import PermissionMode, Preview


class Bench:
    """The tools of one session in one folder."""

    def __init__(
        self,
        cwd: Path,
        *,
        mode: PermissionMode = "default",
        notebook: Notebook | None = None,
        namespace: Namespace | None = None,
        commands: CommandSource | None = None,
        gate: Gate | None = None,
    ) -> None:
        self.events: list[Event] = []
        self.gate = gate or Gate(cwd=cwd)
        self.tools: dict[str, Tool] = {tool.name: tool for tool in default_tools()}
        self.context = ToolContext(
            run_id="run1",
            session_id="session1",
            agent_id="main",
            cwd=cwd,
            mode=mode,
            emit=self.events.append,
            ids=CountingIds(),
            read_state=ReadMemory(),
            notebook=notebook,
            namespace=namespace,
            commands=commands,
            tool_use_id="use1",
        )

    async def decide(self, name: str, **input: Any) -> GateDecision:
        tool = self.tools[name]
        return await self.gate.decide(tool, tool.parse_input(input), self.context)

    async def preview(self, name: str, **input: Any) -> Preview:
        tool = self.tools[name]
        return await tool.preview(tool.parse_input(input), self.context)

    def line(self, name: str, **input: Any) -> str:
        tool = self.tools[name]
        display = tool.display(tool.parse_input(input), self.context)
        return f"{display.verb} | {display.subject}"

    async def call(self, name: str, **input: Any) -> ToolResult:
        """As the pipeline does it, without the question: failures become error results."""
        tool = self.tools[name]
        try:
            parsed = tool.parse_input(input)
            complaint = await tool.validate_input(parsed, self.context)
            if complaint is not None:
                return ToolResult.error(complaint)
            return await tool.call(parsed, self.context)
        except ToolError as error:
            return ToolResult.error(str(error))


def text_of(result: ToolResult) -> str:
    """The text blocks, with a mark where an image stands."""
    return "\n".join(
        block.text if isinstance(block, TextBlock) else f"<{block.media_type}>"
        for block in result.content
    )
