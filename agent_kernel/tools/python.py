"""Python: code in the user's own kernel, next to their variables."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agent_kernel.errors import ToolError
from agent_kernel.events import ToolProgress
from agent_kernel.messages import ResultContent, TextBlock
from agent_kernel.notebook.render import join_texts
from agent_kernel.tool_types import ToolContext, ToolDisplay, ToolResult
from agent_kernel.tools.base import BaseTool, ToolInput
from agent_kernel.tools.outputs import fact_of, shown
from agent_kernel.vocabulary import CellOutput, CodePreview, Preview


class PythonInput(ToolInput):
    code: Annotated[str, Field(description="Python as in a cell; top-level await works.")]


class Python(BaseTool[PythonInput]):
    name = "Python"
    input_model = PythonInput
    search_hint = "run execute code kernel compute"
    verb = "Run Python"
    description = (
        "Runs code in the user's kernel and returns what it printed, showed and evaluated to, "
        "figures as images.\n"
        "- It works on the user's live variables: names bound here stay bound. Use fresh names, "
        "and do not change or delete theirs unless asked.\n"
        "- The last expression is shown, as in a cell. Print parts of large values, not all.\n"
        "- For work the person should keep, add a cell with NotebookEdit and run it with RunCell; "
        "use Python to look and to try things."
    )

    def is_enabled(self, context: ToolContext) -> bool:
        return context.namespace is not None

    async def validate_input(self, input: PythonInput, context: ToolContext) -> str | None:
        if context.namespace is None:
            return "There is no kernel here to run code in."
        return None if input.code.strip() else "`code` is empty."

    def display(self, input: PythonInput, context: ToolContext) -> ToolDisplay:
        first = next((line.strip() for line in input.code.split("\n") if line.strip()), "")
        return ToolDisplay(
            verb=self.verb,
            subject=first if len(first) <= 80 else f"{first[:79]}…",
            question="Run Python in your kernel?",
            place=f"the kernel's own process, in {context.cwd}",
        )

    async def preview(self, input: PythonInput, context: ToolContext) -> Preview:
        return CodePreview(code=input.code)

    async def call(self, input: PythonInput, context: ToolContext) -> ToolResult:
        if context.namespace is None:
            raise ToolError("There is no kernel here to run code in.")

        def progress(output: CellOutput) -> None:
            context.emit(
                ToolProgress(
                    run_id=context.run_id,
                    agent_id=context.agent_id,
                    tool_use_id=context.tool_use_id,
                    outputs=(output,),
                )
            )

        run = await context.namespace.run_code(input.code, on_output=progress)
        content: list[ResultContent] = shown(run.outputs)
        if run.status == "interrupted":
            content.append(TextBlock(text="The code was interrupted before it ended."))
        elif not content:
            content.append(TextBlock(text="The code ran and showed nothing."))
        fact = "interrupted" if run.status == "interrupted" else fact_of(run.outputs, content)
        if run.status == "ok" and not run.outputs:
            fact = "no output"
        return ToolResult(
            tuple(join_texts(content)),
            is_error=run.status != "ok",
            fact=fact,
            preview=CodePreview(code=input.code),
        )
