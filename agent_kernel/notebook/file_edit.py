"""Edits of a notebook file: pure functions from raw cells to raw cells, with their inverses."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, cast

from agent_kernel.errors import CellChanged, NotebookError
from agent_kernel.notebook.cells import find_cell, first_line, joined, outputs_of
from agent_kernel.notebook.raw_json import RawCell, RawNotebook
from agent_kernel.wire import CellContent, EditOp, source_hash

CellType = Literal["code", "markdown", "raw"]
_CELL_TYPES = ("code", "markdown", "raw")


@dataclass(eq=False)
class Entry:
    """One cell on its way; identity is the object's, since ids may be missing or doubled."""

    raw: RawCell

    @property
    def source(self) -> str:
        return joined(self.raw.value.get("source"))

    @property
    def own_id(self) -> str | None:
        """The id that stands in the file, if there is one."""
        found = self.raw.value.get("id")
        return found if isinstance(found, str) and found else None

    @property
    def type(self) -> CellType:
        kind = self.raw.value.get("cell_type")
        return cast("CellType", kind if kind in _CELL_TYPES else "raw")


@dataclass(frozen=True)
class Step:
    """How to take back one edit. ``then`` is what the cell must still be; None: deleted by us."""

    op: Literal["insert", "replace", "delete", "move"]
    cell_id: str
    then: str | None
    before: RawCell | None = None
    after_id: str | None = None


@dataclass(frozen=True)
class Change:
    """The cells after the edits, those touched with the ids they had, and the way back."""

    entries: tuple[Entry, ...]
    touched: tuple[tuple[Entry, str], ...]
    steps: tuple[Step, ...] = field(default=())

    def text(self, raw: RawNotebook) -> str:
        return replace(raw, cells=tuple(entry.raw for entry in self.entries)).text()


def entries_of(raw: RawNotebook) -> tuple[Entry, ...]:
    return tuple(Entry(cell) for cell in raw.cells)


def contents(entries: Sequence[Entry], *, outputs: bool = False) -> tuple[CellContent, ...]:
    """The cells as values. A cell without an id (format 4.4) gets one made of its source."""
    cells: list[CellContent] = []
    seen: dict[str, int] = {}
    for entry in entries:
        value = entry.raw.value
        source = entry.source
        digest = source_hash(source)
        cell_id = entry.own_id
        if cell_id is None:
            cell_id = f"src-{digest[:8]}"
            seen[cell_id] = seen.get(cell_id, 0) + 1
            if seen[cell_id] > 1:
                cell_id += f"-{seen[cell_id]}"
        count = value.get("execution_count")
        cells.append(
            CellContent(
                id=cell_id,
                type=entry.type,
                source=source,
                hash=digest,
                execution_count=count if isinstance(count, int) else None,
                outputs=outputs_of(value.get("outputs")) if outputs else None,
            )
        )
    return tuple(cells)


def id_at(entries: Sequence[Entry], index: int) -> str:
    """The id of one cell, as ``contents`` gives it."""
    return entries[index].own_id or contents(entries)[index].id


def apply(
    raw: RawNotebook, edits: Sequence[EditOp], *, run_id: str, new_id: Callable[[], str]
) -> Change:
    """All edits or none: raises ``NotebookError`` and its kinds before anything is changed."""
    return _Editor(raw, run_id, new_id).apply(edits)


def undo(raw: RawNotebook, steps: Sequence[Step]) -> Change:
    """Take the steps back, newest first."""
    entries = list(entries_of(raw))
    touched: list[tuple[Entry, str]] = []
    for step in reversed(steps):
        cells = contents(entries)
        if step.then is None:
            assert step.before is not None  # noqa: S101 (a deleted cell is always kept)
            entry = Entry(step.before)
            entries.insert(_place_after(step.after_id, cells), entry)
        else:
            index = find_cell(step.cell_id, cells)
            _check(cells[index], step.then)
            entry = entries[index]
            if step.op == "insert":
                del entries[index]
            elif step.op == "replace" and step.before is not None:
                entry.raw = replace(step.before, lead=entry.raw.lead)
            else:
                del entries[index]
                entries.insert(_place_after(step.after_id, contents(entries)), entry)
        touched.append((entry, step.cell_id))
    return Change(tuple(entries), tuple(touched))


class _Editor:
    def __init__(self, raw: RawNotebook, run_id: str, new_id: Callable[[], str]) -> None:
        self.raw = raw
        self.run_id = run_id
        self.new_id = new_id
        self.first = entries_of(raw)
        self.places: dict[str, list[int]] = {}
        for index, entry in enumerate(self.first):
            if entry.own_id is not None:
                self.places.setdefault(entry.own_id, []).append(index)
        self.entries = list(self.first)
        self.made: dict[str, Entry] = {}
        self.touched: list[tuple[Entry, str]] = []
        self.steps: list[Step] = []
        minor = raw.fields.get("nbformat_minor")
        self.has_ids = isinstance(minor, int) and minor >= 5

    @cached_property
    def cells(self) -> tuple[CellContent, ...]:
        """The cells as they were; thousands of them need not be hashed to find one by its id."""
        return contents(self.first)

    def apply(self, edits: Sequence[EditOp]) -> Change:
        for edit in edits:
            if edit.op == "insert":
                self._insert(edit)
            elif edit.op == "replace":
                self._replace(edit)
            elif edit.op == "delete":
                self._delete(edit)
            else:
                self._move(edit)
        return Change(tuple(self.entries), tuple(self.touched), tuple(self.steps))

    def _find(self, cell_id: str | None) -> tuple[Entry, str]:
        """Every id is looked up in the notebook as it was, so that edits do not shift targets."""
        if cell_id is None:
            raise NotebookError("This edit needs a `cell_id`.")
        if cell_id in self.made:
            return self.made[cell_id], cell_id
        exact = self.places.get(cell_id, [])
        index = exact[0] if len(exact) == 1 else find_cell(cell_id, self.cells)
        entry = self.first[index]
        if not any(entry is present for present in self.entries):
            raise NotebookError(f"Cell `{cell_id}` is deleted by an earlier edit of this call.")
        return entry, entry.own_id or self.cells[index].id

    def _checked(self, edit: EditOp) -> tuple[Entry, str]:
        entry, cell_id = self._find(edit.cell_id)
        if edit.expect_hash is not None:
            _check(self._content(entry, cell_id), edit.expect_hash)
        return entry, cell_id

    def _content(self, entry: Entry, cell_id: str) -> CellContent:
        return CellContent(
            id=cell_id, type=entry.type, source=entry.source, hash=source_hash(entry.source)
        )

    def _place(self, edit: EditOp) -> int:
        if edit.after is not None:
            return self._index(self._find(edit.after)[0]) + 1
        if edit.before is not None:
            return self._index(self._find(edit.before)[0])
        return len(self.entries)

    def _index(self, entry: Entry) -> int:
        return next(index for index, other in enumerate(self.entries) if other is entry)

    def _id_before(self, index: int) -> str | None:
        return id_at(self.entries, index - 1) if index > 0 else None

    def _insert(self, edit: EditOp) -> None:
        place = self._place(edit)
        kind = edit.cell_type or "code"
        taken = self.places.keys() | self.made.keys()
        cell_id = edit.new_id or self.new_id()
        while cell_id in taken and edit.new_id is None:
            cell_id = self.new_id()
        if cell_id in taken or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", cell_id):
            raise NotebookError(f"`{cell_id}` cannot be the id of a new cell.")
        value: dict[str, Any] = {"cell_type": kind}
        if kind == "code":
            value["execution_count"] = None
        if self.has_ids:
            value["id"] = cell_id
        value["metadata"] = {"agent_kernel": {"made": True, "run": self.run_id}}
        if kind == "code":
            value["outputs"] = []
        value["source"] = self._lines(edit.source or "", None)
        entry = Entry(self.raw.make(value))
        self.entries.insert(place, entry)
        self.made[cell_id] = entry
        shown = id_at(self.entries, place)
        self.touched.append((entry, shown))
        self.steps.append(Step("insert", shown, source_hash(entry.source)))

    def _replace(self, edit: EditOp) -> None:
        entry, cell_id = self._checked(edit)
        before = entry.raw
        if edit.cell_type is not None and edit.cell_type != entry.type:
            entry.raw = self._retyped(entry.raw, edit.cell_type)
        if edit.source is not None:
            source = self._lines(edit.source, entry.raw.value.get("source"))
            entry.raw = self.raw.with_field(entry.raw, "source", source)
        entry.raw = self._marked(entry.raw)
        self.touched.append((entry, cell_id))
        now = id_at(self.entries, self._index(entry))
        self.steps.append(Step("replace", now, source_hash(entry.source), before))

    def _delete(self, edit: EditOp) -> None:
        entry, cell_id = self._checked(edit)
        index = self._index(entry)
        before = self._id_before(index)
        del self.entries[index]
        self.touched.append((entry, cell_id))
        self.steps.append(Step("delete", cell_id, None, entry.raw, before))

    def _move(self, edit: EditOp) -> None:
        entry, cell_id = self._checked(edit)
        if cell_id in {edit.after, edit.before}:
            raise NotebookError("A cell cannot be moved next to itself.")
        index = self._index(entry)
        came_from = self._id_before(index)
        del self.entries[index]
        self.entries.insert(self._place(edit), entry)
        self.touched.append((entry, cell_id))
        step = Step("move", cell_id, source_hash(entry.source), after_id=came_from)
        self.steps.append(step)

    def _retyped(self, cell: RawCell, kind: CellType) -> RawCell:
        """Another type has other fields: what the new one lacks goes, what it needs comes."""
        value = {**cell.value, "cell_type": kind}
        if kind == "code":
            value.pop("attachments", None)
            value.update(execution_count=None, outputs=[])
        else:
            value.pop("execution_count", None)
            value.pop("outputs", None)
        made = self.raw.make(dict(sorted(value.items())))
        return replace(made, lead=cell.lead)

    def _marked(self, cell: RawCell) -> RawCell:
        metadata = cell.value.get("metadata")
        metadata = dict(metadata) if isinstance(metadata, dict) else {}
        old = metadata.get("agent_kernel")
        mark = {"made": True} if isinstance(old, dict) and old.get("made") else {"edited": True}
        metadata["agent_kernel"] = {**mark, "run": self.run_id}
        return self.raw.with_field(cell, "metadata", metadata)

    def _lines(self, source: str, old: object) -> str | list[str]:
        text = source.replace("\r\n", "\n").replace("\r", "\n")
        # A lone surrogate is a damaged character and cannot be written (``source_hash`` agrees).
        text = text.encode("utf-8", "replace").decode("utf-8")
        if isinstance(old, str):
            return text
        return re.findall(r"[^\n]*\n|[^\n]+", text)


def _place_after(cell_id: str | None, cells: Sequence[CellContent]) -> int:
    return 0 if cell_id is None else find_cell(cell_id, cells) + 1


def _check(cell: CellContent, expected: str) -> None:
    if cell.hash != expected:
        raise CellChanged(
            f"Cell `{cell.id}` ({first_line(cell.source)}) is not what you read; nothing was "
            f"changed. It is now:\n{cell.source}",
            cell_id=cell.id,
            source=cell.source,
            hash=cell.hash,
        )
