"""NotebookEdit: one cell replaced, inserted or deleted, by id."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import Field

from agent_kernel.errors import AmbiguousCell, CellChanged, CellNotFound, ToolError
from agent_kernel.events import NotebookChanged
from agent_kernel.notebook.cells import find_cell, first_line
from agent_kernel.protocols import Notebook, NotebookState
from agent_kernel.tool_types import RuleTarget, ToolContext, ToolDisplay, ToolResult
from agent_kernel.tools.base import BaseTool, ToolInput
from agent_kernel.tools.notebooks import (
    cell_key,
    label,
    made_key,
    note_labels,
    notebook_at,
    noted_label,
    noted_notebook,
    on_disk,
)
from agent_kernel.tools.text_files import resolve, touch
from agent_kernel.tools.write import changed_lines, lines_fact
from agent_kernel.vocabulary import CellChange, CellPreview, Preview
from agent_kernel.wire import CellContent, EditOp, source_hash

_LAST_MADE = "last_made_cell"


class NotebookEditInput(ToolInput):
    notebook_path: Annotated[
        str | None, Field(description="Another notebook's path; leave out for the open one.")
    ] = None
    cell_id: Annotated[
        str | None,
        Field(description="The cell to replace or delete, or to insert after."),
    ] = None
    new_source: Annotated[str, Field(description="The whole source of the cell.")] = ""
    cell_type: Annotated[
        Literal["code", "markdown"] | None, Field(description="New cells: code unless given.")
    ] = None
    edit_mode: Literal["replace", "insert", "delete"] = "replace"


class NotebookEdit(BaseTool[NotebookEditInput]):
    name = "NotebookEdit"
    input_model = NotebookEditInput
    search_hint = "notebook cell change add insert delete"
    verb = "Edit cell"
    description = (
        "Changes one cell of a notebook: replace (default), insert or delete. Cells are named by "
        "the ids Read shows, not by position.\n"
        "- replace and delete need a cell that was read; one that changed since is refused with "
        "its new text. The type stays unless cell_type is given.\n"
        "- insert puts the new cell after cell_id; without one, after the last cell inserted in "
        "this turn, else after the running cell, else at the end. The result names the new id.\n"
        "- Nothing is run; use RunCell for that."
    )

    async def rule_targets(
        self, input: NotebookEditInput, context: ToolContext
    ) -> tuple[RuleTarget, ...]:
        notebook = await notebook_at(input.notebook_path, context)
        try:
            wanted = (input.cell_id,) if input.cell_id else ()
            state = await notebook.read(wanted)
        except (CellNotFound, AmbiguousCell):
            state = await notebook.read(())
        # A new cell counts as own in the notebook the person is in, not in any file there is.
        here = input.edit_mode == "insert" and notebook is context.notebook
        own = here or any(
            context.read_state.digest(made_key(state.path, cell.id)) for cell in state.cells
        )
        path = str(on_disk(state.path, context.cwd))
        target = RuleTarget(kind="path", value=path, access="edit")
        return (target, RuleTarget(kind="tag", value="own")) if own else (target,)

    async def validate_input(self, input: NotebookEditInput, context: ToolContext) -> str | None:
        if input.edit_mode != "insert" and not input.cell_id:
            return f"{input.edit_mode} needs `cell_id`: Read the notebook for the ids of its cells."
        if input.edit_mode != "delete" and input.new_source == "" and input.cell_type is None:
            return "`new_source` is empty. To remove a cell use edit_mode delete."
        notebook = await notebook_at(input.notebook_path, context)
        state = await notebook.read()
        note_labels(state, context)
        # Refusals that quote cells come after the gate: rules may forbid to read this notebook.
        with suppress(CellNotFound, AmbiguousCell):
            if input.edit_mode == "insert":
                where = _below(_anchor(input, state, context), state)
                context.run_notes[_where_key(context)] = where
            elif _found(input, state)[1].id == state.running_cell_id:
                return "That is the cell this turn runs in; it is the person's. Insert instead."
        return None

    def display(self, input: NotebookEditInput, context: ToolContext) -> ToolDisplay:
        verb = {"replace": "Edit cell", "insert": "Add cell", "delete": "Delete cell"}
        if input.edit_mode == "insert":
            anchor = input.cell_id or _last_anywhere(context)
            guess = f"below {noted_label(anchor, context)}" if anchor else "below"
            subject = str(context.run_notes.get(_where_key(context), guess))
        else:
            subject = noted_label(input.cell_id or "", context).removeprefix("cell ")
        if input.notebook_path:
            subject = f"{subject} in {resolve(input.notebook_path, context.cwd).name}".strip()
        return ToolDisplay(
            verb=verb[input.edit_mode], subject=subject, place=noted_notebook(context)
        )

    async def preview(self, input: NotebookEditInput, context: ToolContext) -> Preview:
        notebook = await notebook_at(input.notebook_path, context)
        state = await notebook.read()
        if input.edit_mode == "insert":
            anchor = _anchor(input, state, context)
            return CellPreview(
                op="insert",
                where=_below(anchor, state),
                cell_type=input.cell_type or "code",
                new=input.new_source,
            )
        _, cell = _found(input, state)
        _expected(cell, state, context)  # No question about an edit that would be refused.
        return CellPreview(
            op=input.edit_mode,
            cell_id=cell.id,
            where=label(cell, state),
            cell_type=input.cell_type or cell.type,
            old=cell.source,
            new=None if input.edit_mode == "delete" else _new_source(input, cell),
        )

    async def call(self, input: NotebookEditInput, context: ToolContext) -> ToolResult:
        notebook = await notebook_at(input.notebook_path, context)
        state = await notebook.read()
        if input.edit_mode == "insert":
            return await self._insert(input, notebook, state, context)
        return await self._change(input, notebook, state, context)

    async def _insert(
        self,
        input: NotebookEditInput,
        notebook: Notebook,
        state: NotebookState,
        context: ToolContext,
    ) -> ToolResult:
        anchor = _anchor(input, state, context)
        kind = input.cell_type or "code"
        edit = EditOp(op="insert", after=anchor, source=input.new_source, cell_type=kind)
        (made,) = await notebook.edit([edit], run_id=context.run_id)
        if made.hash != source_hash(_lf(input.new_source)):
            raise ToolError(f"Cell `{made.id}` does not hold what was written. Read it again.")
        _last_made(context)[state.path] = made.id
        context.read_state.remember(made_key(state.path, made.id), "made")
        context.read_state.remember(cell_key(state.path, made.id), made.hash)
        if made.index is not None:
            context.run_notes.setdefault("cell_labels", {})[made.id] = f"cell {made.index + 1}"
        where = _below(anchor, state)
        change = CellChange(
            cell_id=made.id,
            op="made",
            hash=made.hash,
            where=where,
            source_head=first_line(input.new_source),
        )
        self._tell(state, change, context)
        lines = input.new_source.rstrip("\n").count("\n") + 1
        text = (
            f"Added {kind} cell `{made.id}` {where} ({first_line(input.new_source)}). "
            f"{_neighbours(anchor, state)} {_channel(state)}"
        )
        preview = CellPreview(
            op="insert", cell_id=made.id, where=where, cell_type=kind, new=input.new_source
        )
        return ToolResult.text(text, fact=lines_fact(lines, 0), preview=preview)

    async def _change(
        self,
        input: NotebookEditInput,
        notebook: Notebook,
        state: NotebookState,
        context: ToolContext,
    ) -> ToolResult:
        index, cell = _found(input, state)
        doubled = sum(other.id == cell.id for other in state.cells) > 1
        replacing = input.edit_mode == "replace"
        edit = EditOp(
            op="replace" if replacing else "delete",
            cell_id=f"cell-{index}" if doubled else cell.id,
            source=_new_source(input, cell) if replacing else None,
            cell_type=input.cell_type if replacing else None,
            expect_hash=_expected(cell, state, context),
        )
        try:
            (done,) = await notebook.edit([edit], run_id=context.run_id)
        except CellChanged as error:
            context.read_state.remember(cell_key(state.path, error.cell_id), error.hash)
            raise
        where = label(cell, state)
        new = _new_source(input, cell)
        if replacing and done.hash != source_hash(_lf(new)):
            raise ToolError(f"Cell `{cell.id}` does not hold what was written. Read it again.")
        change = CellChange(
            cell_id=done.id,
            op="edited" if replacing else "deleted",
            hash=done.hash,
            where=where,
            source_head=first_line(new if replacing else cell.source),
        )
        if replacing:
            context.read_state.remember(cell_key(state.path, done.id), source_hash(_lf(new)))
            fact = lines_fact(*changed_lines(cell.source, new))
            text = f"Replaced cell `{done.id}` {where}: {fact}; it begins {first_line(new)!r}."
        else:
            context.read_state.forget(cell_key(state.path, cell.id))
            fact = lines_fact(0, cell.source.count("\n") + 1)
            text = f"Deleted cell `{cell.id}` {where}, which began {first_line(cell.source)!r}."
        self._tell(state, change, context)
        preview = CellPreview(
            op="replace" if replacing else "delete",
            cell_id=done.id,
            where=where,
            cell_type=input.cell_type or cell.type,
            old=cell.source,
            new=new if replacing else None,
        )
        return ToolResult.text(f"{text} {_channel(state)}", fact=fact, preview=preview)

    def _tell(self, state: NotebookState, change: CellChange, context: ToolContext) -> None:
        touch(context, on_disk(state.path, context.cwd))
        context.emit(
            NotebookChanged(
                run_id=context.run_id,
                agent_id=context.agent_id,
                path=state.path,
                channel=state.channel,
                changes=(change,),
            )
        )


def _found(input: NotebookEditInput, state: NotebookState) -> tuple[int, CellContent]:
    index = find_cell(input.cell_id or "", state.cells)
    return index, state.cells[index]


def _new_source(input: NotebookEditInput, cell: CellContent) -> str:
    """With only a type given the text stays."""
    if input.new_source == "" and input.cell_type is not None:
        return cell.source
    return input.new_source


def _expected(cell: CellContent, state: NotebookState, context: ToolContext) -> str:
    """The hash the cell had when it was read. Raises ``CellChanged`` if that is not now's."""
    key = cell_key(state.path, cell.id)
    known = context.read_state.digest(key)
    if known == cell.hash:
        return known
    # The text below shows the cell, so it counts as read from here on.
    context.read_state.remember(key, cell.hash)
    why = "was not read yet" if known is None else "changed since you read it"
    raise CellChanged(
        f"Cell `{cell.id}` {why}; nothing was done. It now reads:\n{cell.source}\n"
        "If the change still makes sense for this text, call NotebookEdit again.",
        cell_id=cell.id,
        source=cell.source,
        hash=cell.hash,
    )


def _anchor(input: NotebookEditInput, state: NotebookState, context: ToolContext) -> str | None:
    """The cell a new one goes below; None: the end."""
    if input.cell_id:
        return state.cells[find_cell(input.cell_id, state.cells)].id
    present = {cell.id for cell in state.cells}
    for candidate in (_last_made(context).get(state.path), state.running_cell_id):
        if candidate in present:
            return candidate
    return state.cells[-1].id if state.cells else None


def _last_made(context: ToolContext) -> dict[str, str]:
    notes: dict[str, Any] = context.run_notes
    last: dict[str, str] = notes.setdefault(_LAST_MADE, {})
    return last


def _where_key(context: ToolContext) -> str:
    return f"where:{context.tool_use_id}"


def _last_anywhere(context: ToolContext) -> str:
    return next(reversed(_last_made(context).values()), "")


def _below(anchor: str | None, state: NotebookState) -> str:
    if anchor is None:
        return "as the first cell"
    cell = next(cell for cell in state.cells if cell.id == anchor)
    if anchor == state.running_cell_id:
        return "below this cell"
    return f"below {label(cell, state)}"


def _neighbours(anchor: str | None, state: NotebookState) -> str:
    ids = [cell.id for cell in state.cells]
    place = ids.index(anchor) + 1 if anchor is not None else 0
    before = f"`{anchor}` is above it" if anchor is not None else "nothing is above it"
    after = f"`{ids[place]}` below it" if place < len(ids) else "nothing below it"
    return f"{before[0].upper()}{before[1:]}, {after}."


def _channel(state: NotebookState) -> str:
    if state.channel == "page":
        return "The change is in the open notebook."
    return "The change is in the file; no page has it open."


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
