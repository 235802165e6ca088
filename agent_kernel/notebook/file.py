"""A notebook on disk as the ``Notebook`` seam, for when no page holds it."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from agent_kernel.errors import NotebookError, NotebookUnavailable
from agent_kernel.notebook.cells import find_cell
from agent_kernel.notebook.file_edit import (
    Change,
    Entry,
    Step,
    apply,
    contents,
    entries_of,
    id_at,
    undo,
)
from agent_kernel.notebook.raw_json import RawNotebook, parse
from agent_kernel.protocols import NotebookState
from agent_kernel.settings.atomic import write_atomic
from agent_kernel.wire import EditedCell, EditOp, NotebookRunResult, source_hash

MAX_BYTES = 200 * 1024 * 1024
_BOM = "\ufeff"
_TRIES = 3


def random_cell_id() -> str:
    return uuid.uuid4().hex[:8]


class FileNotebook:
    """Reads fresh each time, edits by id, writes whole or not at all.

    ``root``: the folder the file must lie in, by real path. ``new_id`` makes ids of new cells.
    Raises ``NotebookUnavailable`` where the file may not be used.
    """

    def __init__(
        self, path: Path, *, root: Path | None = None, new_id: Callable[[], str] = random_cell_id
    ) -> None:
        self.path = Path(os.path.realpath(path))
        if root is not None and not self.path.is_relative_to(os.path.realpath(root)):
            raise NotebookUnavailable(
                f"{path} lies outside {root}. Notebooks are edited only below that folder."
            )
        self._new_id = new_id
        self._steps: dict[str, list[Step]] = {}
        self._lock = threading.Lock()

    async def read(
        self, cell_ids: Sequence[str] | None = None, *, outputs: bool = False
    ) -> NotebookState:
        return await asyncio.to_thread(self._read, cell_ids, outputs)

    async def edit(self, edits: Sequence[EditOp], *, run_id: str) -> tuple[EditedCell, ...]:
        """All or nothing; the file is read back before this returns."""
        # A cancelled caller must not leave a half-known state: the thread runs to its end.
        return await asyncio.shield(asyncio.to_thread(self._edit, tuple(edits), run_id))

    async def run(
        self,
        cell_id: str,
        *,
        run_id: str,  # noqa: ARG002
        timeout: float | None = None,  # noqa: ARG002
        expect_hash: str | None = None,  # noqa: ARG002
    ) -> NotebookRunResult:
        raise NotebookUnavailable(
            f"Cell `{cell_id}` cannot be run: {self.path.name} is not open in a page with a "
            "kernel. Run the code with Python, or ask the person to open the notebook."
        )

    async def undo(self, run_id: str) -> tuple[EditedCell, ...]:
        """Take back the edits of a run. Raises ``CellChanged`` if a cell was changed since."""
        return await asyncio.shield(asyncio.to_thread(self._undo, run_id))

    def _load(self) -> tuple[bytes, RawNotebook]:
        try:
            if self.path.stat().st_size > MAX_BYTES:
                raise NotebookUnavailable(f"{self.path.name} is larger than 200 MB.")
            data = self.path.read_bytes()
        except OSError as error:
            raise NotebookUnavailable(
                f"{self.path} cannot be read: {error.strerror or error}."
            ) from None
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise NotebookUnavailable(f"{self.path.name} is not UTF-8; left alone.") from None
        raw = parse(text.removeprefix(_BOM), self.path.name)
        if raw.fields.get("nbformat") != 4:
            raise NotebookUnavailable(
                f"{self.path.name} has notebook format {raw.fields.get('nbformat')!r}, not 4. "
                "Ask the person to open and save it in JupyterLab first."
            )
        return data, raw

    def _read(self, cell_ids: Sequence[str] | None, outputs: bool) -> NotebookState:
        _, raw = self._load()
        cells = contents(entries_of(raw), outputs=outputs)
        chosen = cells
        if cell_ids is not None:
            chosen = tuple(cells[find_cell(cell_id, cells)] for cell_id in cell_ids)
        return NotebookState(
            path=str(self.path), channel="file", cells=chosen, total_cells=len(cells)
        )

    def _edit(self, edits: tuple[EditOp, ...], run_id: str) -> tuple[EditedCell, ...]:
        def change(raw: RawNotebook) -> Change:
            done = apply(raw, edits, run_id=run_id, new_id=self._new_id)
            _refuse_loss(len(raw.cells), len(done.entries), self.path.name)
            return done

        with self._lock:
            change_made = self._change(change)
            self._steps.setdefault(run_id, []).extend(change_made.steps)
            return _edited(change_made.touched, change_made.entries)

    def _undo(self, run_id: str) -> tuple[EditedCell, ...]:
        with self._lock:
            steps = self._steps.get(run_id, [])
            if not steps:
                return ()
            done = self._change(lambda raw: undo(raw, steps))
            del self._steps[run_id]
            return _edited(done.touched, done.entries)

    def _change(self, change: Callable[[RawNotebook], Change]) -> Change:
        """Read, change, check that nobody wrote meanwhile, write, read back."""
        for _ in range(_TRIES):
            data, raw = self._load()
            done = change(raw)
            mark = _BOM if data.startswith(_BOM.encode()) else ""
            text = mark + done.text(raw)
            # What is put together from pieces must be JSON again before it replaces the file.
            if len(json.loads(text.removeprefix(_BOM))["cells"]) != len(done.entries):
                raise NotebookError(f"{self.path.name} could not be changed as asked.")
            if self.path.read_bytes() == data:
                self._write(text.encode("utf-8"))
                return done
        raise NotebookUnavailable(f"{self.path.name} is being written by somebody else. Read it.")

    def _write(self, data: bytes) -> None:
        try:
            write_atomic(self.path, data)
        except OSError as error:
            raise NotebookUnavailable(
                f"{self.path} cannot be written: {error.strerror or error}."
            ) from None
        if self.path.read_bytes() != data:
            raise NotebookError(f"{self.path.name} does not hold what was written. Read it again.")


def _refuse_loss(before: int, after: int, name: str) -> None:
    if before - after > 1 and after * 2 < before:
        raise NotebookError(
            f"This would leave {after} of {before} cells of {name}, so nothing was changed. "
            "Delete cells one at a time if that is really meant."
        )


def _edited(
    touched: Sequence[tuple[Entry, str]], entries: Sequence[Entry]
) -> tuple[EditedCell, ...]:
    places = {id(entry): index for index, entry in enumerate(entries)}
    result = []
    for entry, old_id in touched:
        index = places.get(id(entry))
        if index is None:
            result.append(EditedCell(id=old_id))
        else:
            digest = source_hash(entry.source)
            result.append(EditedCell(id=id_at(entries, index), hash=digest, index=index))
    return tuple(result)
