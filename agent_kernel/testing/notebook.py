"""A notebook and a namespace in memory, and what every notebook must do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

import pytest

from agent_kernel.errors import CellChanged, CellNotFound
from agent_kernel.protocols import CodeRun, Notebook, NotebookState, VariableInfo
from agent_kernel.vocabulary import CellOutput
from agent_kernel.wire import CellContent, EditedCell, EditOp, NotebookRunResult, source_hash


def cell(
    cell_id: str,
    source: str,
    *,
    markdown: bool = False,
    count: int | None = None,
    outputs: Sequence[CellOutput] = (),
) -> CellContent:
    """A cell as a notebook holds it."""
    return CellContent(
        id=cell_id,
        type="markdown" if markdown else "code",
        source=source,
        hash=source_hash(source),
        execution_count=count,
        outputs=None if markdown else tuple(outputs),
    )


class FakeNotebook:
    """The ``Notebook`` seam in memory, as an open page would be.

    ``runs`` says what running a cell gives; ``ran`` lists what was run; ``before_run`` is called
    when a cell would begin. Change ``cells`` to play a person who types.
    """

    def __init__(
        self,
        cells: Sequence[CellContent] = (),
        *,
        path: str = "/home/me/tour.ipynb",
        running_cell_id: str | None = None,
        runs: Mapping[str, NotebookRunResult] | None = None,
    ) -> None:
        self.cells = list(cells)
        self.path = path
        self.running_cell_id = running_cell_id
        self.runs = dict(runs or {})
        self.ran: list[str] = []
        self.before_run: Callable[[], object] = lambda: None
        self.ignore_edits = False
        self._made = 0
        self._before: dict[str, list[CellContent]] = {}

    async def read(
        self, cell_ids: Sequence[str] | None = None, *, outputs: bool = False
    ) -> NotebookState:
        cells = self.cells if cell_ids is None else [self._get(cell_id) for cell_id in cell_ids]
        if not outputs:
            cells = [one.model_copy(update={"outputs": None}) for one in cells]
        return NotebookState(
            path=self.path,
            channel="page",
            cells=tuple(cells),
            running_cell_id=self.running_cell_id,
            dirty=True,
            total_cells=len(self.cells),
        )

    async def edit(self, edits: Sequence[EditOp], *, run_id: str) -> tuple[EditedCell, ...]:
        cells = list(self.cells)
        touched = [self._apply(cells, edit) for edit in edits]
        if not self.ignore_edits:
            self._before.setdefault(run_id, self.cells)
            self.cells = cells
        return tuple(self._edited(cell_id) for cell_id in touched)

    async def run(
        self,
        cell_id: str,
        *,
        run_id: str,
        timeout: float | None = None,
        expect_hash: str | None = None,
    ) -> NotebookRunResult:
        del run_id, timeout
        self.before_run()
        one = self._get(cell_id)
        if expect_hash not in {None, one.hash}:
            raise CellChanged(
                f"It is now:\n{one.source}", cell_id=one.id, source=one.source, hash=one.hash
            )
        self.ran.append(cell_id)
        return self.runs.get(cell_id, NotebookRunResult(status="ok", execution_count=1))

    async def undo(self, run_id: str) -> tuple[EditedCell, ...]:
        after = self.cells
        self.cells = self._before.pop(run_id, after)
        ids = dict.fromkeys(one.id for one in (*self.cells, *after))
        changed = [i for i in ids if self._edited(i).hash != _hash_in(after, i)]
        return tuple(self._edited(cell_id) for cell_id in changed)

    def _get(self, cell_id: str) -> CellContent:
        for one in self.cells:
            if one.id == cell_id:
                return one
        raise CellNotFound(f"No cell has the id `{cell_id}`.")

    def _edited(self, cell_id: str) -> EditedCell:
        for index, one in enumerate(self.cells):
            if one.id == cell_id:
                return EditedCell(id=cell_id, hash=one.hash, index=index)
        return EditedCell(id=cell_id)

    def _apply(self, cells: list[CellContent], edit: EditOp) -> str:
        if edit.op == "insert":
            self._made += 1
            new_id = edit.new_id or f"made{self._made}"
            made = cell(new_id, edit.source or "", markdown=edit.cell_type == "markdown")
            cells.insert(self._place(cells, edit), made)
            return new_id
        old = self._get(edit.cell_id or "")
        if edit.expect_hash not in {None, old.hash}:
            raise CellChanged(
                f"It is now:\n{old.source}", cell_id=old.id, source=old.source, hash=old.hash
            )
        index = next(i for i, one in enumerate(cells) if one.id == old.id)
        if edit.op == "delete":
            del cells[index]
        elif edit.op == "move":
            del cells[index]
            cells.insert(self._place(cells, edit), old)
        else:
            source = old.source if edit.source is None else edit.source
            cells[index] = old.model_copy(
                update={
                    "source": source,
                    "hash": source_hash(source),
                    "type": edit.cell_type or old.type,
                }
            )
        return old.id

    def _place(self, cells: list[CellContent], edit: EditOp) -> int:
        ids = [one.id for one in cells]
        anchor = edit.after or edit.before
        if anchor is None:
            return len(cells)
        if anchor not in ids:
            raise CellNotFound(f"No cell has the id `{anchor}`.")
        return ids.index(anchor) + (1 if edit.after is not None else 0)


def _hash_in(cells: Sequence[CellContent], cell_id: str) -> str | None:
    return next((one.hash for one in cells if one.id == cell_id), None)


class FakeNamespace:
    """The ``Namespace`` seam: ``answers`` maps code to what running it gives."""

    def __init__(
        self,
        variables: Sequence[VariableInfo] = (),
        answers: Mapping[str, CodeRun] | None = None,
    ) -> None:
        self._variables = tuple(variables)
        self._answers = dict(answers or {})
        self.ran: list[str] = []
        self.interrupted = 0

    async def run_code(
        self, code: str, *, on_output: Callable[[CellOutput], None] | None = None
    ) -> CodeRun:
        self.ran.append(code)
        run = self._answers.get(code, CodeRun(status="ok"))
        for output in run.outputs:
            if on_output is not None:
                on_output(output)
        return run

    async def variables(self, names: Sequence[str] | None = None) -> tuple[VariableInfo, ...]:
        return tuple(info for info in self._variables if names is None or info.name in names)

    async def interrupt(self) -> None:
        self.interrupted += 1


class NotebookConformance(ABC):
    """What callers rely on. Subclass it in a test module and give :meth:`make_notebook`."""

    @abstractmethod
    def make_notebook(self, cells: Sequence[tuple[str, str]]) -> Notebook:
        """A notebook of code cells with these ids and sources."""

    async def _sources(self, notebook: Notebook) -> list[str]:
        return [one.source for one in (await notebook.read()).cells]

    async def test_reading_gives_every_cell_with_the_hash_of_its_source(self) -> None:
        state = await self.make_notebook([("a1", "x = 1"), ("b2", "")]).read()
        assert [(one.id, one.type, one.source, one.hash) for one in state.cells] == [
            ("a1", "code", "x = 1", source_hash("x = 1")),
            ("b2", "code", "", source_hash("")),
        ]
        assert state.total_cells == 2

    async def test_reading_no_cells_still_tells_where_the_notebook_is(self) -> None:
        state = await self.make_notebook([("a1", "x")]).read(())
        assert (state.cells, state.total_cells, bool(state.path)) == ((), 1, True)

    async def test_reading_some_cells_gives_those(self) -> None:
        state = await self.make_notebook([("a1", "x"), ("b2", "y")]).read(["b2"])
        assert [one.id for one in state.cells] == ["b2"]

    async def test_an_unknown_cell_is_not_found(self) -> None:
        notebook = self.make_notebook([("a1", "x")])
        with pytest.raises(CellNotFound):
            await notebook.read(["zz"])
        with pytest.raises(CellNotFound):
            await notebook.edit([EditOp(op="delete", cell_id="zz")], run_id="r")

    async def test_replacing_keeps_place_and_count(self) -> None:
        notebook = self.make_notebook([("a1", "x"), ("b2", "y")])
        edit = EditOp(op="replace", cell_id="a1", source="z\n", expect_hash=source_hash("x"))
        done = await notebook.edit([edit], run_id="r")
        assert done == (EditedCell(id="a1", hash=source_hash("z\n"), index=0),)
        assert await self._sources(notebook) == ["z\n", "y"]

    async def test_a_cell_that_changed_is_refused_with_what_it_is_now(self) -> None:
        notebook = self.make_notebook([("a1", "x")])
        edit = EditOp(op="replace", cell_id="a1", source="z", expect_hash=source_hash("old"))
        with pytest.raises(CellChanged) as caught:
            await notebook.edit([edit], run_id="r")
        assert (caught.value.source, caught.value.hash) == ("x", source_hash("x"))
        assert await self._sources(notebook) == ["x"]

    async def test_inserting_goes_after_before_or_to_the_end(self) -> None:
        notebook = self.make_notebook([("a1", "x"), ("b2", "y")])
        edits = [
            EditOp(op="insert", source="end"),
            EditOp(op="insert", source="second", after="a1", new_id="new2"),
            EditOp(op="insert", source="first", before="a1", new_id="new1"),
        ]
        done = await notebook.edit(edits, run_id="r")
        assert [one.id for one in done][1:] == ["new2", "new1"]
        assert await self._sources(notebook) == ["first", "x", "second", "y", "end"]

    async def test_edits_are_all_or_nothing(self) -> None:
        notebook = self.make_notebook([("a1", "x"), ("b2", "y")])
        edits = [
            EditOp(op="replace", cell_id="a1", source="z"),
            EditOp(op="delete", cell_id="missing"),
        ]
        with pytest.raises(CellNotFound):
            await notebook.edit(edits, run_id="r")
        assert await self._sources(notebook) == ["x", "y"]

    async def test_a_move_keeps_the_cell(self) -> None:
        notebook = self.make_notebook([("a1", "x"), ("b2", "y"), ("c3", "z")])
        await notebook.edit([EditOp(op="move", cell_id="a1", after="b2")], run_id="r")
        state = await notebook.read()
        assert [(one.id, one.source) for one in state.cells] == [
            ("b2", "y"),
            ("a1", "x"),
            ("c3", "z"),
        ]

    async def test_undo_takes_back_the_edits_of_a_run(self) -> None:
        notebook = self.make_notebook([("a1", "x"), ("b2", "y")])
        await notebook.edit([EditOp(op="replace", cell_id="a1", source="changed")], run_id="r")
        await notebook.edit([EditOp(op="insert", source="made", after="a1")], run_id="r")
        await notebook.edit([EditOp(op="delete", cell_id="b2")], run_id="r")
        await notebook.undo("r")
        assert await self._sources(notebook) == ["x", "y"]
        assert await notebook.undo("r") == ()
