"""RunCell: a cell of the open notebook, run as if the person had."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agent_kernel.errors import AmbiguousCell, CellChanged, CellNotFound, ToolError
from agent_kernel.events import NotebookChanged
from agent_kernel.messages import ResultContent, TextBlock
from agent_kernel.notebook.cells import find_cell, first_line
from agent_kernel.notebook.render import join_texts
from agent_kernel.protocols import Notebook, NotebookState
from agent_kernel.tool_types import RuleTarget, ToolContext, ToolDisplay, ToolResult
from agent_kernel.tools.base import BaseTool, ToolInput
from agent_kernel.tools.notebooks import (
    cell_key,
    label,
    note_labels,
    noted_label,
    noted_notebook,
    on_disk,
)
from agent_kernel.tools.outputs import fact_of, shown
from agent_kernel.vocabulary import CellChange, CellPreview, Preview
from agent_kernel.wire import CellContent


class RunCellInput(ToolInput):
    cell_id: Annotated[str, Field(description="Id of a code cell of the open notebook.")]
    timeout: Annotated[
        float | None, Field(gt=0, description="Seconds to wait; without it until it ends.")
    ] = None


class RunCell(BaseTool[RunCellInput]):
    name = "RunCell"
    input_model = RunCellInput
    search_hint = "execute notebook cell"
    verb = "Run cell"
    description = (
        "Runs one code cell of the open notebook in the user's kernel. Output, number and errors "
        "land in that cell; text and images come back. The cell runs as it stands now: change it "
        "first with NotebookEdit if needed."
    )

    def is_enabled(self, context: ToolContext) -> bool:
        return context.notebook is not None

    async def rule_targets(
        self, input: RunCellInput, context: ToolContext
    ) -> tuple[RuleTarget, ...]:
        if context.notebook is None:
            return ()
        path = on_disk((await context.notebook.read(())).path, context.cwd)
        return (RuleTarget(kind="path", value=str(path), access="run"),)

    async def validate_input(self, input: RunCellInput, context: ToolContext) -> str | None:
        try:
            _, state, cell = await _find(input, context)
        except (CellNotFound, AmbiguousCell):
            # The text quotes cells, so it comes after the gate: rules may forbid to read them.
            return None
        if cell.id == state.running_cell_id:
            return "That is the cell this turn runs in, so it cannot be run now."
        if cell.type != "code":
            return f"Cell `{cell.id}` is a {cell.type} cell; only code cells run."
        if not cell.source.strip():
            return f"Cell `{cell.id}` is empty."
        return None

    def display(self, input: RunCellInput, context: ToolContext) -> ToolDisplay:
        subject = noted_label(input.cell_id, context)
        # "Run cell [3]", "Run cell below this cell", but "Run cell 7".
        return ToolDisplay(
            verb="Run" if subject.startswith("cell ") else self.verb,
            subject=subject,
            place=noted_notebook(context),
        )

    async def preview(self, input: RunCellInput, context: ToolContext) -> Preview:
        _, state, cell = await _find(input, context)
        # What a person allows is this text; see ``call``.
        context.run_notes[f"shown:{context.tool_use_id}"] = cell.hash
        return CellPreview(
            op="run",
            cell_id=cell.id,
            where=label(cell, state),
            cell_type=cell.type,
            new=cell.source,
        )

    async def call(self, input: RunCellInput, context: ToolContext) -> ToolResult:
        notebook, state, cell = await _find(input, context)
        allowed = context.run_notes.get(f"shown:{context.tool_use_id}")
        if allowed is not None and allowed != cell.hash:
            raise CellChanged(
                f"Cell `{cell.id}` changed after it was shown for approval, so it was not run. "
                f"It is now:\n{cell.source}",
                cell_id=cell.id,
                source=cell.source,
                hash=cell.hash,
            )
        run = await notebook.run(
            cell.id, run_id=context.run_id, timeout=input.timeout, expect_hash=cell.hash
        )
        content: list[ResultContent] = shown(
            run.outputs, f"Read the notebook with cell_id {cell.id} shows more"
        )
        if run.status == "aborted":
            content.append(TextBlock(text="The cell was interrupted or did not start."))
        elif not content:
            content.append(TextBlock(text="The cell ran and showed nothing."))
        context.read_state.remember(cell_key(state.path, cell.id), cell.hash)
        number = "" if run.execution_count is None else f"[{run.execution_count}]"
        context.emit(
            NotebookChanged(
                run_id=context.run_id,
                agent_id=context.agent_id,
                path=state.path,
                channel=state.channel,
                changes=(
                    CellChange(
                        cell_id=cell.id,
                        op="ran",
                        hash=cell.hash,
                        where=number or label(cell, state),
                        source_head=first_line(cell.source),
                    ),
                ),
            )
        )
        if number:
            context.run_notes.setdefault("cell_labels", {})[cell.id] = number
        fact = "interrupted" if run.status == "aborted" else fact_of(run.outputs, content)
        if run.status == "ok" and not run.outputs:
            fact = "no output"
        return ToolResult(
            tuple(join_texts(content)),
            is_error=run.status != "ok",
            fact=f"{number} {fact}".strip(),
            preview=CellPreview(
                op="run", cell_id=cell.id, where=number or label(cell, state), new=cell.source
            ),
        )


async def _find(
    input: RunCellInput, context: ToolContext
) -> tuple[Notebook, NotebookState, CellContent]:
    if context.notebook is None:
        raise ToolError("There is no open notebook here, so no cell can be run. Use Python.")
    state = await context.notebook.read()
    note_labels(state, context)
    return context.notebook, state, state.cells[find_cell(input.cell_id, state.cells)]
