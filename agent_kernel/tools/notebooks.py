"""What the file tools and the notebook tools share about notebooks."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_kernel.errors import NotebookError, NotebookUnavailable, ToolError
from agent_kernel.messages import ResultContent, TextBlock
from agent_kernel.notebook.cells import find_cell, first_line
from agent_kernel.notebook.file import FileNotebook
from agent_kernel.notebook.render import Budget, join_texts, render_cell
from agent_kernel.protocols import Notebook, NotebookState
from agent_kernel.tool_types import ToolContext, ToolResult
from agent_kernel.tools.text_files import resolve, short
from agent_kernel.wire import CellContent

if TYPE_CHECKING:
    from agent_kernel.tools.read import ReadInput

PAGE_CHARS = 60_000


def cell_key(path: str, cell_id: str) -> str:
    """The key of a cell in ``ReadState``."""
    return f"cell:{path}#{cell_id}"


def made_key(path: str, cell_id: str) -> str:
    """Set for cells this agent made in this session: ``NotebookEdit(own)`` goes by it.

    Marks in the notebook's own metadata are not believed: whoever wrote the file wrote them.
    """
    return f"made:{path}#{cell_id}"


def is_notebook(path: Path) -> bool:
    """By its name or by that of the file a link leads to."""
    return ".ipynb" in {path.suffix.lower(), Path(os.path.realpath(path)).suffix.lower()}


def on_disk(other: str, cwd: Path) -> Path:
    """Where a notebook lies. A page may know its path only from the server's root."""
    if os.path.isabs(other):  # noqa: PTH117 (a text that may be no path of this system)
        return Path(os.path.normpath(other))
    other = other.removeprefix("RTC:").lstrip("/")
    places = [folder / other for folder in (cwd, *cwd.parents)]
    return next((place for place in places if place.is_file()), resolve(other, cwd))


def same_file(path: Path, other: str, cwd: Path) -> bool:
    """Whether both name one file."""
    return os.path.realpath(path) == os.path.realpath(on_disk(other, cwd))


async def open_path(context: ToolContext) -> str | None:
    """Path of the notebook of this session, or None where there is none.

    Raises ``NotebookUnavailable`` if there is one that a page may hold unsaved.
    """
    if context.notebook is None:
        return None
    try:
        return (await context.notebook.read(())).path
    except NotebookUnavailable as error:
        if error.maybe_open:
            raise
        return None


async def notebook_at(path: str | None, context: ToolContext) -> Notebook:
    """The open notebook if ``path`` is its or None, else the file. Raises ``ToolError``."""
    if path is None:
        if context.notebook is None:
            raise ToolError("There is no open notebook here. Give notebook_path.")
        return context.notebook
    full = resolve(path, context.cwd)
    known = await open_path(context)
    if known is not None and context.notebook is not None and same_file(full, known, context.cwd):
        return context.notebook
    if known is not None and _may_be(full, known, context.cwd):
        raise ToolError(
            f"{full} may be the notebook that is open ({known}), so its file is left alone. "
            "Leave notebook_path out to change the open one."
        )
    if full.suffix.lower() != ".ipynb":
        raise ToolError(f"{full.name} is not a notebook (.ipynb).")
    if not full.is_file():
        raise ToolError(f"There is no notebook {full}.")
    return FileNotebook(full, root=context.cwd)


def label(cell: CellContent, state: NotebookState) -> str:
    """A cell as a person finds it: by its number in brackets, else by its place."""
    if cell.execution_count is not None:
        return f"[{cell.execution_count}]"
    if cell.id == state.running_cell_id:
        return "this cell"
    place = next((i for i, other in enumerate(state.cells, 1) if other is cell), 0)
    return f"cell {place}"


def note_labels(state: NotebookState, context: ToolContext) -> None:
    """Keep how a person finds each cell, for lines that are shown before anything is read."""
    context.run_notes["notebook_name"] = Path(state.path).name
    labels: dict[str, str] = context.run_notes.setdefault("cell_labels", {})
    labels.update((cell.id, label(cell, state)) for cell in state.cells)


def noted_label(cell_id: str, context: ToolContext) -> str:
    return str(context.run_notes.get("cell_labels", {}).get(cell_id, cell_id))


def noted_notebook(context: ToolContext) -> str:
    """The name of the notebook that was looked at last; empty if none was."""
    return str(context.run_notes.get("notebook_name", ""))


async def refuse_if_open(path: Path, context: ToolContext) -> str | None:
    """Why this file is not written by Write or Edit: a page may hold unsaved changes of it."""
    if not is_notebook(path):
        return None
    try:
        known = await open_path(context)
    except NotebookError as error:
        return f"{path.name} may be open with unsaved changes, so it is left alone: {error}"
    if known is None or not _may_be(path, known, context.cwd):
        return None
    return (
        f"{path.name} is the open notebook; writing the file under it would lose what the person "
        "has not saved. Change its cells with NotebookEdit."
    )


def _may_be(path: Path, other: str, cwd: Path) -> bool:
    """Like ``same_file``, but of a path that only the server knows in full the end is enough."""
    if same_file(path, other, cwd) or os.path.isabs(other):  # noqa: PTH117
        return same_file(path, other, cwd)
    parts = Path(other.removeprefix("RTC:")).parts
    return Path(os.path.realpath(path)).parts[-len(parts) :] == parts


def fault_of_new(content: str) -> str | None:
    """Why a text is no notebook that opens well, or None."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        return f"A notebook is JSON, and this is not: {error}."
    if not isinstance(data, dict) or data.get("nbformat") != 4:
        return "A new notebook needs `nbformat: 4`, `nbformat_minor: 5`, `metadata` and `cells`."
    metadata = data.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("kernelspec"), dict):
        return (
            "A new notebook needs a kernelspec in its metadata, or its page waits for one: "
            '{"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}, '
            '"language_info": {"name": "python"}}.'
        )
    import nbformat

    try:
        nbformat.validate(data)
    except nbformat.ValidationError as error:
        return f"This is no valid notebook: {str(error).splitlines()[0]}."
    return None


async def read(input: ReadInput, path: Path, context: ToolContext) -> ToolResult:
    """A notebook as the model reads it: an outline, one cell, or cells within bounds."""
    notebook = await notebook_at_for_reading(path, context)
    state = await notebook.read()
    note_labels(state, context)
    cells = state.cells
    name = short(path, context.cwd)
    head = f"{name}: {_count(len(cells))}, {_channel(state)}."
    if input.outline:
        lines = [_outline(cell, number) for number, cell in enumerate(cells, 1)]
        page = lines[(input.offset or 1) - 1 :][: input.limit or 1_000]
        return ToolResult.text("\n".join([head, *page]), fact=_count(len(cells)))
    if input.cell_id is not None:
        index = find_cell(input.cell_id, cells)
        chosen, budget = [index], Budget(per_output=20_000)
    else:
        first = (input.offset or 1) - 1
        if first and first >= len(cells):
            raise ToolError(f"{name} has {_count(len(cells))}; offset {first + 1} is behind them.")
        stop = len(cells) if input.limit is None else min(len(cells), first + input.limit)
        chosen, budget = list(range(first, stop)), Budget(chars=PAGE_CHARS)
    return await _page(notebook, state, chosen, budget, head, context)


async def notebook_at_for_reading(path: Path, context: ToolContext) -> Notebook:
    """Like ``notebook_at``; a file is read wherever it lies, as other files are."""
    try:
        known = await open_path(context)
    except NotebookError:
        known = None  # The page cannot be asked; another notebook's file can still be read.
        if context.notebook is not None:
            return context.notebook
    if known is not None and context.notebook is not None and same_file(path, known, context.cwd):
        return context.notebook
    if not path.is_file():
        raise ToolError(f"There is no notebook {path}.")
    return FileNotebook(path)


async def _page(
    notebook: Notebook,
    state: NotebookState,
    chosen: Sequence[int],
    budget: Budget,
    head: str,
    context: ToolContext,
) -> ToolResult:
    content: list[ResultContent] = [TextBlock(text=head)]
    shown = 0
    last = -1
    for start in range(0, len(chosen), 20):
        batch = chosen[start : start + 20]
        full = await _with_outputs(notebook, state, batch)
        for index, cell in zip(batch, full, strict=True):
            if shown and budget.chars - len(cell.source) < 0:
                break
            content += render_cell(cell, index + 1, budget, outputs=cell.outputs or ())
            context.read_state.remember(cell_key(state.path, cell.id), cell.hash)
            shown += 1
            last = index
        if last != batch[-1]:
            break
    if last >= 0 and chosen and last < chosen[-1]:
        content.append(
            TextBlock(
                text=f"[Cells up to position {last + 1} of {len(state.cells)} are shown. Go on "
                f"with offset {last + 2}, or ask for an outline.]"
            )
        )
    fact = _count(shown) + (f" of {len(state.cells)}" if shown < len(state.cells) else "")
    return ToolResult(tuple(join_texts(content)), fact=fact)


async def _with_outputs(
    notebook: Notebook, state: NotebookState, indexes: Sequence[int]
) -> list[CellContent]:
    wanted = [state.cells[index] for index in indexes]
    ids = [cell.id for cell in state.cells]
    if len(set(ids)) != len(ids):
        # Ids that several cells share cannot be asked for one by one.
        whole = (await notebook.read(outputs=True)).cells
        return [whole[index] for index in indexes] if len(whole) == len(ids) else wanted
    if not wanted:
        return []
    fresh = await notebook.read([cell.id for cell in wanted], outputs=True)
    by_id = {cell.id: cell for cell in fresh.cells}
    return [by_id.get(cell.id, cell) for cell in wanted]


def _outline(cell: CellContent, number: int) -> str:
    lines = cell.source.count("\n") + 1
    count = "" if cell.execution_count is None else f" [{cell.execution_count}]"
    line = first_line(cell.source, 100)
    return f"{number}. {cell.id} {cell.type}{count}, {lines} lines: {line}"


def _count(number: int) -> str:
    return f"{number:,} cell" + ("" if number == 1 else "s")


def _channel(state: NotebookState) -> str:
    if state.channel == "file":
        return "from its file"
    return "open, with unsaved changes" if state.dirty else "open"
