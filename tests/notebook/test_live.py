"""The open notebook through a page, and when its file may be used instead."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from pydantic import BaseModel, JsonValue

from agent_kernel import wire
from agent_kernel.errors import (
    CellChanged,
    CellNotFound,
    NotebookError,
    NotebookUnavailable,
    WireError,
    WireTimeout,
)
from agent_kernel.headless.document import Document
from agent_kernel.jupyter.asked import AskedCell
from agent_kernel.notebook.file import FileNotebook
from agent_kernel.notebook.live import LiveNotebook, OpenPage, notebook_file, server_root


class PageOfDocument:
    """A page that answers from a document; ``fault`` is raised instead, ``lie`` edits nothing."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.path: str | None = document.path
        self.fault: WireError | None = None
        self.lie = False
        self.asked: list[tuple[str, BaseModel | None]] = []

    async def request(
        self, method: str, params: BaseModel | None, *, timeout: float
    ) -> dict[str, JsonValue]:
        self.asked.append((method, params))
        if self.fault is not None:
            raise self.fault
        result: BaseModel
        match params:
            case wire.NotebookReadParams():
                result = self.document.read(params.cell_ids, outputs=params.outputs)
            case wire.NotebookEditParams() if self.lie:
                ids = [edit.cell_id or "" for edit in params.edits]
                cells = tuple(wire.EditedCell(id=i, hash="0" * 12, index=0) for i in ids)
                result = wire.NotebookEditResult(cells=cells)
            case wire.NotebookEditParams():
                cells = self.document.edit(params.edits, run_id=params.run_id)
                result = wire.NotebookEditResult(cells=cells)
            case wire.RunIdParams():
                result = wire.NotebookEditResult(cells=self.document.undo(params.run_id))
            case _:
                await asyncio.sleep(60)
                raise AssertionError(method)
        return result.model_dump(mode="json")


class Directory:
    def __init__(self, page: OpenPage | None, refusal: str | None = None) -> None:
        self.page = page
        self.refusal = refusal

    async def choose(self, cell_id: str | None) -> OpenPage | None:
        return self.page

    def why_not_file(self) -> str | None:
        return self.refusal


class Side:
    running_cell_id: str | None = "one"
    session_id = "s"
    is_main_blocked = True

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.interrupted = 0
        self.cells: list[AskedCell] = []

    def notebook_file(self) -> Path | None:
        return self.file

    @contextlib.contextmanager
    def asked(self, cell_id: str, *, main: bool) -> Iterator[AskedCell]:
        self.cells.append(AskedCell(cell_id, main=main))
        yield self.cells[-1]

    async def wait_until_free(self) -> None:
        return

    def interrupt_cell(self) -> None:
        self.interrupted += 1


@pytest.fixture
def document() -> Document:
    cells = [new_code_cell("1"), new_code_cell("2")]
    cells[0]["id"], cells[1]["id"] = "one", "two"
    return Document(new_notebook(cells=cells), "folder/nb.ipynb")


@pytest.fixture
def page(document: Document) -> PageOfDocument:
    return PageOfDocument(document)


def live(
    page: OpenPage | None, side: Side | None = None, refusal: str | None = None
) -> LiveNotebook:
    return LiveNotebook(Directory(page, refusal), side or Side(), from_file=FileNotebook)


async def test_it_reads_the_page_with_the_path_on_disk(page: PageOfDocument) -> None:
    state = await live(page, Side(Path("/srv/folder/nb.ipynb"))).read()
    assert (state.channel, state.path) == ("page", "/srv/folder/nb.ipynb")
    assert [cell.id for cell in state.cells] == ["one", "two"]
    assert state.running_cell_id == "one"


async def test_an_edit_of_a_cell_that_changed_carries_its_new_text(page: PageOfDocument) -> None:
    edit = wire.EditOp(op="replace", cell_id="two", source="3", expect_hash=wire.source_hash("old"))
    with pytest.raises(CellChanged) as changed:
        await live(page).edit([edit], run_id="r")
    assert (changed.value.cell_id, changed.value.source) == ("two", "2")
    assert changed.value.hash == wire.source_hash("2")


async def test_edits_are_all_or_nothing_and_undone_together(page: PageOfDocument) -> None:
    notebook = live(page)
    good = wire.EditOp(op="insert", after="one", source="new", new_id="three")
    bad = wire.EditOp(op="delete", cell_id="nowhere")
    with pytest.raises(CellNotFound):
        await notebook.edit([good, bad], run_id="r")
    assert len(page.document.notebook.cells) == 2
    (made,) = await notebook.edit([good], run_id="r")
    assert (made.id, made.index, made.hash) == ("three", 1, wire.source_hash("new"))
    await notebook.undo("r")
    assert [cell["id"] for cell in page.document.notebook.cells] == ["one", "two"]


async def test_an_edit_that_the_page_did_not_make_is_noticed(page: PageOfDocument) -> None:
    page.lie = True
    with pytest.raises(NotebookError, match="does not hold what was written"):
        await live(page).edit([wire.EditOp(op="replace", cell_id="two", source="3")], run_id="r")


async def test_a_page_that_does_not_answer_is_no_reason_to_use_the_file(
    page: PageOfDocument, tmp_path: Path
) -> None:
    page.fault = WireTimeout("no answer", code=-32000)
    file = tmp_path / "nb.ipynb"
    nbformat.write(page.document.notebook, file)
    with pytest.raises(NotebookUnavailable, match="read the notebook"):
        await live(page, Side(file)).edit(
            [wire.EditOp(op="replace", cell_id="two", source="3")], run_id="r"
        )
    assert nbformat.read(file, as_version=4).cells[1]["source"] == "2"


async def test_without_a_page_the_file_is_read_unless_something_stands_against_it(
    document: Document, tmp_path: Path
) -> None:
    file = tmp_path / "nb.ipynb"
    nbformat.write(document.notebook, file)
    state = await live(None, Side(file)).read()
    assert (state.channel, state.path) == ("file", str(file))
    with pytest.raises(NotebookUnavailable, match="gone without saying"):
        await live(None, Side(file), "The page has gone without saying.").read()
    with pytest.raises(NotebookUnavailable, match="not known"):
        await live(None, Side(None)).read()


async def test_a_cancelled_run_interrupts_the_cell(page: PageOfDocument) -> None:
    side = Side()
    running = asyncio.ensure_future(live(page, side).run("two", run_id="r"))
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert side.interrupted == 1


async def test_a_time_limit_says_that_the_cell_is_still_running(page: PageOfDocument) -> None:
    side = Side()
    with pytest.raises(NotebookError, match="still running after"):
        await live(page, side).run("two", run_id="r", timeout=0.01)
    assert side.interrupted == 0


async def test_a_cell_that_cannot_be_waited_for_gives_the_reason(page: PageOfDocument) -> None:
    side = Side()
    side.is_main_blocked = False
    running = asyncio.ensure_future(live(page, side).run("two", run_id="r"))
    await asyncio.sleep(0.01)
    side.cells[0].withdrawn.set_result("It runs later.")
    with pytest.raises(NotebookError, match="It runs later"):
        await running
    assert page.asked[-1][1] == wire.NotebookRunParams(cell_id="two", subshell=False, run_id="r")


def test_the_servers_root_is_what_is_left_of_the_session_name() -> None:
    assert server_root("/srv/jupyter/a/nb.ipynb", "a/nb.ipynb") == Path("/srv/jupyter")
    assert server_root("/srv/jupyter/a/nb.ipynb", "RTC:a/nb.ipynb") == Path("/srv/jupyter")
    assert server_root("/srv/jupyter/a/nb.ipynb", "b/nb.ipynb") is None
    assert server_root("nb.ipynb", "nb.ipynb") is None


def test_a_renamed_notebook_is_found_below_the_same_root(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "new.ipynb").touch()
    old = str(tmp_path / "a" / "old.ipynb")
    assert notebook_file(old, "a/new.ipynb") == tmp_path / "a" / "new.ipynb"
    assert notebook_file(old, "a/old.ipynb") == Path(old)
    assert notebook_file(None, "a/new.ipynb") is None
