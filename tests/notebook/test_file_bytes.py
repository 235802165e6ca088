"""An edit of a notebook on disk changes the cell it is about and no other byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_kernel.errors import (
    AmbiguousCell,
    CellChanged,
    CellNotFound,
    NotebookError,
    NotebookUnavailable,
)
from agent_kernel.notebook.file import FileNotebook
from agent_kernel.wire import EditOp, source_hash


def code(cell_id: str | None, source: Any, **more: Any) -> dict[str, Any]:
    ident = {} if cell_id is None else {"id": cell_id}
    base = {"cell_type": "code", "execution_count": 7, "metadata": {}, "outputs": []}
    return {**base, **ident, "source": source, **more}


def notebook(*cells: dict[str, Any], minor: int = 5) -> dict[str, Any]:
    return {"cells": list(cells), "metadata": {"é": 1.0}, "nbformat": 4, "nbformat_minor": minor}


def written(path: Path, content: Any, **style: Any) -> FileNotebook:
    text = json.dumps(content, **{"indent": 1, "ensure_ascii": False, **style}) + "\n"
    path.write_bytes(text.encode())
    return FileNotebook(path, new_id=iter(["new1", "new2", "new3"]).__next__)


async def test_only_the_edited_cell_of_fifty_changes(tmp_path: Path) -> None:
    cells = [code(f"c{i}", [f"x = {i}\n", "'é' # \u2028"]) for i in range(50)]
    path = tmp_path / "n.ipynb"
    file = written(path, notebook(*cells))
    before = path.read_text("utf-8").split("\n")
    await file.edit([EditOp(op="replace", cell_id="c20", source="y = 1\nz")], run_id="r")
    after = path.read_text("utf-8").split("\n")
    start = next(i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
    end = next(i for i, (a, b) in enumerate(zip(before[::-1], after[::-1], strict=False)) if a != b)
    changed = "\n".join(after[start : len(after) - end])
    assert json.loads(path.read_bytes())["cells"][20]["source"] == ["y = 1\n", "z"]
    assert (len(after) - end - start) < 15
    assert "x = 19" not in changed
    assert "x = 21" not in changed


@pytest.mark.parametrize(
    "style",
    [
        {"indent": 1},
        {"indent": 4},
        {"indent": "\t"},
        {"indent": None},
        {"indent": None, "separators": (",", ":")},
        {"indent": 2, "ensure_ascii": True},
    ],
)
async def test_the_style_of_the_file_is_kept(tmp_path: Path, style: dict[str, Any]) -> None:
    path = tmp_path / "n.ipynb"
    file = written(path, notebook(code("a", "x"), code("b", "y")), **style)
    edits = [
        EditOp(op="insert", after="a", source="made", cell_type="markdown"),
        EditOp(op="delete", cell_id="b"),
    ]
    await file.edit(edits, run_id="r")
    content = notebook(
        code("a", "x"),
        {
            "cell_type": "markdown",
            "id": "new1",
            "metadata": {"agent_kernel": {"made": True, "run": "r"}},
            "source": ["made"],
        },
    )
    expected = json.dumps(content, **{"ensure_ascii": False, **style}) + "\n"
    assert path.read_text("utf-8") == expected


async def test_windows_line_ends_a_mark_and_a_missing_last_newline_survive(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    text = json.dumps(notebook(code("a", ["x"])), indent=1, ensure_ascii=False)
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    await FileNotebook(path).edit([EditOp(op="replace", cell_id="a", source="y")], run_id="r")
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf{\r\n")
    assert data.count(b"\n") == data.count(b"\r\n")
    assert data.endswith(b"}")
    assert json.loads(data.decode("utf-8-sig"))["cells"][0]["source"] == ["y"]


async def test_a_source_kept_as_one_string_stays_one_string(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    file = written(path, notebook(code("a", "x\ny")))
    await file.edit([EditOp(op="replace", cell_id="a", source="u\nv")], run_id="r")
    assert json.loads(path.read_bytes())["cells"][0]["source"] == "u\nv"


async def test_a_change_of_type_leaves_a_valid_notebook(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    output = {"output_type": "stream", "name": "stdout", "text": ["hi\n"]}
    plain = {"cell_type": "markdown", "id": "b", "metadata": {}, "source": ["y"]}
    file = written(path, notebook(code("a", ["x"], outputs=[output]), plain))
    edits = [
        EditOp(op="replace", cell_id="a", cell_type="markdown"),
        EditOp(op="replace", cell_id="b", cell_type="code", source="z"),
    ]
    await file.edit(edits, run_id="r")
    first, second = json.loads(path.read_bytes())["cells"]
    assert sorted(first) == ["cell_type", "id", "metadata", "source"]
    assert (first["cell_type"], first["source"]) == ("markdown", ["x"])
    assert (second["outputs"], second["execution_count"], second["source"]) == ([], None, ["z"])
    nbformat.validate(nbformat.read(path, as_version=4))


async def test_replacing_keeps_outputs_count_and_type(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    output = {"output_type": "stream", "name": "stdout", "text": ["hi\n"]}
    file = written(path, notebook(code("a", ["x"], outputs=[output])))
    await file.edit([EditOp(op="replace", cell_id="a", source="y")], run_id="r")
    (cell,) = json.loads(path.read_bytes())["cells"]
    assert (cell["cell_type"], cell["execution_count"], cell["outputs"]) == ("code", 7, [output])


async def test_a_lone_surrogate_is_written_as_a_question_mark(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    file = written(path, notebook(code("a", ["x"])))
    await file.edit([EditOp(op="replace", cell_id="a", source="s = '\ud83c'")], run_id="r")
    assert json.loads(path.read_bytes())["cells"][0]["source"] == ["s = '?'"]


async def test_several_deletes_hit_the_cells_they_name(tmp_path: Path) -> None:
    file = written(tmp_path / "n.ipynb", notebook(*(code(f"c{i}", str(i)) for i in range(8))))
    edits = [EditOp(op="delete", cell_id=f"cell-{i}") for i in (2, 3, 4)]
    await file.edit(edits, run_id="r")
    assert [cell.source for cell in (await file.read()).cells] == ["0", "1", "5", "6", "7"]


async def test_an_edit_that_would_drop_most_cells_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    file = written(path, notebook(*(code(f"c{i}", str(i)) for i in range(21))))
    before = path.read_bytes()
    edits = [EditOp(op="delete", cell_id=f"c{i}") for i in range(20)]
    with pytest.raises(NotebookError, match="would leave 1 of 21 cells"):
        await file.edit(edits, run_id="r")
    assert path.read_bytes() == before


async def test_two_cells_with_one_id_are_named_by_position(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    file = written(path, notebook(code("a1", "x"), code("b2", "m"), code("a1", "y")))
    with pytest.raises(AmbiguousCell, match="`cell-0`, `cell-2`"):
        await file.edit([EditOp(op="replace", cell_id="a1", source="z")], run_id="r")
    await file.edit([EditOp(op="replace", cell_id="cell-2", source="z")], run_id="r")
    assert [cell.source for cell in (await file.read()).cells] == ["x", "m", "z"]


@pytest.mark.parametrize("wrong", ["# plot\nplt.plot(x)", "2", "zzz", ""])
async def test_a_wrong_id_gets_the_ids_there_are(tmp_path: Path, wrong: str) -> None:
    file = written(tmp_path / "n.ipynb", notebook(code("abcd", "import os"), code("efgh", "\n\ny")))
    with pytest.raises(CellNotFound) as caught:
        await file.read([wrong])
    assert "- abcd: import os" in str(caught.value)
    assert "- efgh: y" in str(caught.value)


async def test_a_unique_beginning_and_a_position_are_taken_for_the_id(tmp_path: Path) -> None:
    cells = [code("abcd", "0"), code("abef", "1"), code("cell-0", "2")]
    file = written(tmp_path / "n.ipynb", notebook(*cells))
    found = await file.read(["abc", "cell-1", "cell-0"])
    assert [cell.source for cell in found.cells] == ["0", "1", "2"]
    with pytest.raises(AmbiguousCell):
        await file.read(["ab"])


async def test_cells_without_ids_are_named_and_stay_without(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    file = written(path, notebook(code(None, "x"), code(None, "x"), code(None, "y"), minor=4))
    ids = [cell.id for cell in (await file.read()).cells]
    x, y = source_hash("x")[:8], source_hash("y")[:8]
    assert ids == [f"src-{x}", f"src-{x}-2", f"src-{y}"]
    (done,) = await file.edit([EditOp(op="replace", cell_id=ids[2], source="z")], run_id="r")
    (made,) = await file.edit([EditOp(op="insert", after=done.id, source="w")], run_id="r")
    assert [cell.source for cell in (await file.read([made.id])).cells] == ["w"]
    assert ["id" in cell for cell in json.loads(path.read_bytes())["cells"]] == [False] * 4
    await file.undo("r")
    assert [cell.id for cell in (await file.read()).cells] == ids


async def test_what_somebody_else_wrote_meanwhile_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    file = written(path, notebook(code("a", "x"), code("b", "y")))
    seen = {cell.id: cell.hash for cell in (await file.read()).cells}
    written(path, notebook(code("c", "new"), code("a", "theirs"), code("b", "y")))
    ours = EditOp(op="replace", cell_id="a", source="ours", expect_hash=seen["a"])
    with pytest.raises(CellChanged, match="theirs"):
        await file.edit([ours], run_id="r")
    other = EditOp(op="replace", cell_id="b", source="ours", expect_hash=seen["b"])
    await file.edit([other], run_id="r")
    assert [cell.source for cell in (await file.read()).cells] == ["new", "theirs", "ours"]


async def test_undo_does_not_take_back_what_the_person_changed_since(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    file = written(path, notebook(code("a", "x")))
    await file.edit([EditOp(op="replace", cell_id="a", source="ours")], run_id="r")
    written(path, notebook(code("a", "theirs")))
    with pytest.raises(CellChanged):
        await file.undo("r")
    assert [cell.source for cell in (await file.read()).cells] == ["theirs"]


async def test_undo_restores_the_very_bytes(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    cells = [code("a", ["x"]), code("b", ["y"]), code("c", ["z"])]
    file = written(path, notebook(*cells), indent=2)
    before = path.read_bytes()
    await file.edit([EditOp(op="move", cell_id="c", before="a")], run_id="r")
    await file.edit([EditOp(op="replace", cell_id="a", cell_type="markdown")], run_id="r")
    await file.edit([EditOp(op="insert", source="w", before="b")], run_id="r")
    await file.edit([EditOp(op="delete", cell_id="b")], run_id="r")
    await file.undo("r")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not valid JSON"),
        (b'{"cells": [', "not valid JSON"),
        (b'{"cells": [{}], "nbformat": 4} x', "not valid JSON"),
        (b"[1]", "not valid JSON"),
        (b'{"cells": [1], "nbformat": 4}', "not valid JSON"),
        (b'{"worksheets": [], "nbformat": 3}', "format 3"),
        (b'{"cells": [], "nbformat": 5}', "format 5"),
        (b'{"cells": []}', "format None"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
async def test_what_is_no_notebook_is_left_alone(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "n.ipynb"
    path.write_bytes(content)
    with pytest.raises(NotebookUnavailable, match=why):
        await FileNotebook(path).edit([EditOp(op="insert", source="x")], run_id="r")
    assert path.read_bytes() == content


async def test_a_file_cannot_run_cells_and_says_what_can(tmp_path: Path) -> None:
    file = written(tmp_path / "n.ipynb", notebook(code("a", "x")))
    with pytest.raises(NotebookUnavailable, match="Run the code with Python"):
        await file.run("a", run_id="r")


@pytest.mark.parametrize("where", ["../x.ipynb", "/etc/x.ipynb", "link.ipynb", "../work2/x.ipynb"])
def test_notebooks_outside_the_folder_are_refused(tmp_path: Path, where: str) -> None:
    (work := tmp_path / "work").mkdir()
    (tmp_path / "work2").mkdir()
    (tmp_path / "secret.ipynb").write_text("{}")
    (work / "link.ipynb").symlink_to(tmp_path / "secret.ipynb")
    with pytest.raises(NotebookUnavailable, match="lies outside"):
        FileNotebook(work / where, root=work)


sources = st.text(st.characters(codec="utf-8"), max_size=30).map(
    lambda text: text.replace("\r\n", "\n").replace("\r", "\n")
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=st.lists(sources, max_size=5), new=sources, data=st.data())
async def test_any_edit_reads_back_and_undoes_to_the_same_bytes(
    tmp_path: Path, first: list[str], new: str, data: st.DataObject
) -> None:
    path = tmp_path / "n.ipynb"
    indent = data.draw(st.sampled_from([1, None, 3]))
    cells = [code(f"c{i}", [source]) for i, source in enumerate(first)]
    file = written(path, notebook(*cells), indent=indent)
    before = path.read_bytes()
    wanted = list(first)
    place = data.draw(st.integers(0, len(first)))
    anchor = f"c{place - 1}" if place else None
    edit = EditOp(op="insert", source=new, after=anchor, before=None if place else "c0")
    if not first:
        edit = EditOp(op="insert", source=new)
    await file.edit([edit], run_id="r")
    wanted.insert(place, new)
    assert [cell.source for cell in (await file.read()).cells] == wanted
    if first:
        target = data.draw(st.integers(0, len(first) - 1))
        change = EditOp(op="delete", cell_id=f"c{target}")
        if data.draw(st.booleans()):
            change = EditOp(op="replace", cell_id=f"c{target}", source=new)
        await file.edit([change], run_id="r")
    json.loads(path.read_bytes())
    await file.undo("r")
    assert path.read_bytes() == before
