"""A notebook in memory, edited by cell id as the wire asks: all or nothing, with inverse."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell

from agent_kernel.errors import WireError
from agent_kernel.headless.outputs import as_cell_output
from agent_kernel.wire import (
    CELL_AMBIGUOUS,
    CELL_CHANGED,
    CELL_NOT_FOUND,
    INVALID_PARAMS,
    CellContent,
    EditedCell,
    EditOp,
    NotebookReadResult,
    source_hash,
)

_NEW: dict[str, Callable[[str], Any]] = {
    "code": new_code_cell,
    "markdown": new_markdown_cell,
    "raw": new_raw_cell,
}


class Document:
    """The cells. Raises ``WireError`` with the codes of the wire."""

    def __init__(self, notebook: NotebookNode, path: str) -> None:
        self.notebook = notebook
        self.path = path
        self.dirty = False
        self.active_cell_id: str | None = None
        self._before: dict[str, list[NotebookNode]] = {}  # run id -> cells before its first edit
        for cell in notebook.cells:
            cell.setdefault("id", uuid.uuid4().hex[:8])

    @property
    def session_id(self) -> str | None:
        """The session that the notebook's metadata names."""
        mark = self.notebook.metadata.get("agent_kernel")
        named = mark.get("session_id") if isinstance(mark, dict) else None
        return named if isinstance(named, str) else None

    def name_session(self, session_id: str) -> None:
        """Write it into the metadata, as a page does when the person saves."""
        mark = self.notebook.metadata.get("agent_kernel")
        kept = mark if isinstance(mark, dict) else {}
        self.notebook.metadata["agent_kernel"] = {**kept, "session_id": session_id}

    def cell(self, cell_id: str) -> NotebookNode:
        cell: NotebookNode = self.notebook.cells[self.index(cell_id)]
        return cell

    def index(self, cell_id: str) -> int:
        found = [i for i, cell in enumerate(self.notebook.cells) if cell["id"] == cell_id]
        if len(found) > 1:
            raise WireError(f"Several cells have the id {cell_id!r}.", code=CELL_AMBIGUOUS)
        if not found:
            raise WireError(f"There is no cell {cell_id!r}.", code=CELL_NOT_FOUND)
        return found[0]

    def read(self, cell_ids: Sequence[str] | None, *, outputs: bool) -> NotebookReadResult:
        cells = self.notebook.cells
        chosen = cells if cell_ids is None else [self.cell(cell_id) for cell_id in cell_ids]
        return NotebookReadResult(
            path=self.path,
            dirty=self.dirty,
            active_cell_id=self.active_cell_id,
            cells=tuple(_content(cell, outputs=outputs) for cell in chosen),
            total_cells=len(cells),
        )

    def edit(
        self, edits: Sequence[EditOp], *, run_id: str, session_id: str | None = None
    ) -> tuple[EditedCell, ...]:
        before = copy.deepcopy(self.notebook.cells)
        try:
            touched = [self._apply(edit, run_id) for edit in edits]
        except WireError:
            self.notebook.cells = before
            raise
        self._before.setdefault(run_id, before)
        if session_id is not None:
            self.name_session(session_id)
        self.dirty = True
        return tuple(self._edited(cell_id) for cell_id in touched)

    def undo(self, run_id: str) -> tuple[EditedCell, ...]:
        """The cells as they were before the run's first edit; what is gone has no hash."""
        before = self._before.pop(run_id, None)
        if before is None:
            return ()
        known = {cell["id"]: cell for cell in before}
        touched = [
            cell["id"]
            for cell in self.notebook.cells
            if cell["id"] not in known or known[cell["id"]]["source"] != cell["source"]
        ]
        touched += [i for i in known if i not in {c["id"] for c in self.notebook.cells}]
        self.notebook.cells = before
        return tuple(self._edited(cell_id) for cell_id in touched)

    def _apply(self, edit: EditOp, run_id: str) -> str:
        cells = self.notebook.cells
        if edit.op == "insert":
            cell = _NEW[edit.cell_type or "code"](edit.source or "")
            cell["id"] = edit.new_id or uuid.uuid4().hex[:8]
            if any(other["id"] == cell["id"] for other in cells):
                raise WireError(f"The id {cell['id']!r} is taken.", code=CELL_AMBIGUOUS)
            cells.insert(self._place(edit), cell)
            self._mark(cell, run_id, "made")
            return str(cell["id"])
        if edit.cell_id is None:
            raise WireError(f"{edit.op} needs a cell_id", code=INVALID_PARAMS)
        index = self.index(edit.cell_id)
        cell = cells[index]
        self._expect(cell, edit.expect_hash)
        if edit.op == "delete":
            del cells[index]
        elif edit.op == "move":
            del cells[index]
            cells.insert(self._place(edit), cell)
        else:
            if edit.source is not None:
                cell["source"] = edit.source
            if edit.cell_type is not None and edit.cell_type != cell["cell_type"]:
                cell = cells[index] = _retyped(cell, edit.cell_type)
            self._mark(cell, run_id, "edited")
        return edit.cell_id

    def _place(self, edit: EditOp) -> int:
        if edit.after is not None:
            return self.index(edit.after) + 1
        if edit.before is not None:
            return self.index(edit.before)
        return len(self.notebook.cells)

    def _expect(self, cell: NotebookNode, digest: str | None) -> None:
        now = source_hash(cell["source"])
        if digest is not None and digest != now:
            raise WireError(
                "The cell is not what was read.",
                code=CELL_CHANGED,
                data={"cell_id": cell["id"], "source": cell["source"], "hash": now},
            )

    def _mark(self, cell: NotebookNode, run_id: str, what: str) -> None:
        mark: dict[str, Any] = cell["metadata"].setdefault("agent_kernel", {})
        mark["run"] = run_id
        mark.setdefault("mark", what)

    def _edited(self, cell_id: str) -> EditedCell:
        for index, cell in enumerate(self.notebook.cells):
            if cell["id"] == cell_id:
                return EditedCell(id=cell_id, hash=source_hash(cell["source"]), index=index)
        return EditedCell(id=cell_id)


def _content(cell: NotebookNode, *, outputs: bool) -> CellContent:
    shown = cell.get("outputs") if outputs else None
    return CellContent(
        id=cell["id"],
        type=cell["cell_type"],
        source=cell["source"],
        hash=source_hash(cell["source"]),
        execution_count=cell.get("execution_count"),
        outputs=None if shown is None else tuple(as_cell_output(output) for output in shown),
    )


def _retyped(cell: NotebookNode, cell_type: str) -> NotebookNode:
    """A cell of another kind has other keys: only code has outputs and a count."""
    fresh: NotebookNode = _NEW[cell_type](cell["source"])
    fresh["id"] = cell["id"]
    fresh["metadata"] = cell["metadata"]
    return fresh
