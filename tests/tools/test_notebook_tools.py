"""Reading, changing and running cells by id, in the notebook the person sees (SPEC N2, CASES A)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import nbformat
import pytest

from agent_kernel.errors import CellChanged, CellNotFound
from agent_kernel.events import NotebookChanged
from agent_kernel.permissions.gate import Gate
from agent_kernel.settings.rules import RuleSource, parse_rule
from agent_kernel.testing.notebook import FakeNotebook, cell
from agent_kernel.vocabulary import CellChange, CellOutput, CellPreview
from agent_kernel.wire import NotebookRunResult, source_hash
from tests.support.tools import Bench, text_of


@pytest.fixture
def notebook(tmp_path: Path) -> FakeNotebook:
    out = CellOutput(output_type="stream", name="stdout", text="hi\n")
    return FakeNotebook(
        [
            cell("aaa1", "print('hi')", count=3, outputs=[out]),
            cell("bbb2", "# Title", markdown=True),
            cell("ccc3", "%%agent\nplot it"),
            cell("ddd4", "last"),
        ],
        path=str(tmp_path / "tour.ipynb"),
        running_cell_id="ccc3",
    )


@pytest.fixture
def bench(tmp_path: Path, notebook: FakeNotebook) -> Bench:
    return Bench(tmp_path, notebook=notebook)


def sources(notebook: FakeNotebook) -> list[str]:
    return [one.source for one in notebook.cells]


async def test_the_open_notebook_is_read_live_with_ids_and_outputs(bench: Bench) -> None:
    result = await bench.call("Read", file_path="tour.ipynb")
    assert text_of(result) == (
        "tour.ipynb: 4 cells, open, with unsaved changes.\n"
        '<cell id="aaa1" position="1" type="code" run="[3]">\nprint(\'hi\')\n'
        "<output>\nhi\n</output>\n</cell>\n"
        '<cell id="bbb2" position="2" type="markdown">\n# Title\n</cell>\n'
        '<cell id="ccc3" position="3" type="code">\n%%agent\nplot it\n</cell>\n'
        '<cell id="ddd4" position="4" type="code">\nlast\n</cell>'
    )
    assert result.fact == "4 cells"


async def test_an_outline_pages_and_single_cells(bench: Bench) -> None:
    outline = await bench.call("Read", file_path="tour.ipynb", outline=True)
    assert text_of(outline).split("\n")[1:3] == [
        "1. aaa1 code [3], 1 lines: print('hi')",
        "2. bbb2 markdown, 1 lines: # Title",
    ]
    page = await bench.call("Read", file_path="tour.ipynb", offset=2, limit=2)
    assert page.fact == "2 cells of 4"
    one = await bench.call("Read", file_path="tour.ipynb", cell_id="ddd")
    assert text_of(one).split("\n")[1:] == [
        '<cell id="ddd4" position="4" type="code">',
        "last",
        "</cell>",
    ]
    wrong = await bench.call("Read", file_path="tour.ipynb", cell_id="zzz")
    assert "- aaa1: print('hi')" in text_of(wrong)


async def test_a_large_notebook_is_read_in_parts(tmp_path: Path) -> None:
    cells = [cell(f"c{i:03}", f"# {i}\n" + "x" * 1000) for i in range(400)]
    bench = Bench(tmp_path, notebook=FakeNotebook(cells, path=str(tmp_path / "big.ipynb")))
    result = await bench.call("Read", file_path="big.ipynb")
    assert len(text_of(result)) < 62_000
    shown = int(result.fact.split()[0])
    assert text_of(result).endswith(
        f"[Cells up to position {shown} of 400 are shown. Go on with offset {shown + 1}, "
        "or ask for an outline.]"
    )
    rest = await bench.call("Read", file_path="big.ipynb", offset=shown + 1, limit=1)
    assert f'position="{shown + 1}"' in text_of(rest)


async def test_a_cell_is_replaced_in_place(bench: Bench, notebook: FakeNotebook) -> None:
    await bench.call("Read", file_path="tour.ipynb")
    result = await bench.call("NotebookEdit", cell_id="aaa1", new_source="print('ho')\nx")
    assert text_of(result) == (
        "Replaced cell `aaa1` [3]: +2 −1 lines; it begins \"print('ho')\". "
        "The change is in the open notebook."
    )
    assert sources(notebook)[0] == "print('ho')\nx"
    assert (notebook.cells[0].type, len(notebook.cells)) == ("code", 4)
    assert result.preview == CellPreview(
        op="replace", cell_id="aaa1", where="[3]", old="print('hi')", new="print('ho')\nx"
    )
    change = CellChange(
        cell_id="aaa1",
        op="edited",
        hash=source_hash("print('ho')\nx"),
        where="[3]",
        source_head="print('ho')",
    )
    assert bench.events == [
        NotebookChanged(run_id="run1", path=notebook.path, channel="page", changes=(change,))
    ]


async def test_cells_inserted_without_an_anchor_come_in_order_below_the_running_cell(
    bench: Bench, notebook: FakeNotebook
) -> None:
    results = [
        await bench.call("NotebookEdit", edit_mode="insert", new_source=source)
        for source in ("A", "B", "C")
    ]
    assert sources(notebook) == [
        "print('hi')", "# Title", "%%agent\nplot it", "A", "B", "C", "last",
    ]  # fmt: skip
    assert text_of(results[0]) == (
        "Added code cell `made1` below this cell (A). `ccc3` is above it, `ddd4` below it. "
        "The change is in the open notebook."
    )
    assert results[0].fact == "+1 line"
    assert bench.line("NotebookEdit", edit_mode="insert") == "Add cell | below cell 5"


async def test_with_nothing_to_anchor_on_cells_go_to_the_end(tmp_path: Path) -> None:
    notebook = FakeNotebook(
        [cell("o1", "old1"), cell("o2", "old2")], path=str(tmp_path / "n.ipynb")
    )
    bench = Bench(tmp_path, notebook=notebook)
    for source in ("A", "B", "C"):
        await bench.call("NotebookEdit", edit_mode="insert", new_source=source)
    assert sources(notebook) == ["old1", "old2", "A", "B", "C"]


async def test_a_named_anchor_wins_and_markdown_is_markdown(
    bench: Bench, notebook: FakeNotebook
) -> None:
    await bench.call("NotebookEdit", edit_mode="insert", new_source="A")
    await bench.call(
        "NotebookEdit", edit_mode="insert", cell_id="aaa1", new_source="# H", cell_type="markdown"
    )
    assert [(one.source, one.type) for one in notebook.cells[:2]] == [
        ("print('hi')", "code"),
        ("# H", "markdown"),
    ]


async def test_a_cell_the_person_changed_is_refused_with_its_new_text(
    bench: Bench, notebook: FakeNotebook
) -> None:
    await bench.call("Read", file_path="tour.ipynb")
    notebook.cells.insert(0, cell("new0", "above"))
    notebook.cells[4] = cell("ddd4", "their text")
    refused = await bench.call("NotebookEdit", cell_id="ddd4", new_source="ours")
    assert refused.is_error
    assert text_of(refused) == (
        "Cell `ddd4` changed since you read it; nothing was done. It now reads:\ntheir text\n"
        "If the change still makes sense for this text, call NotebookEdit again."
    )
    assert sources(notebook)[4] == "their text"
    again = await bench.call("NotebookEdit", cell_id="ddd4", new_source="ours")
    assert not again.is_error
    assert sources(notebook) == ["above", "print('hi')", "# Title", "%%agent\nplot it", "ours"]


async def test_a_cell_never_read_is_shown_before_it_is_changed(
    bench: Bench, notebook: FakeNotebook
) -> None:
    refused = await bench.call("NotebookEdit", cell_id="ddd4", edit_mode="delete")
    assert "Cell `ddd4` was not read yet; nothing was done. It now reads:\nlast" in text_of(refused)
    done = await bench.call("NotebookEdit", cell_id="ddd4", edit_mode="delete")
    assert text_of(done) == (
        "Deleted cell `ddd4` cell 4, which began 'last'. The change is in the open notebook."
    )
    assert len(notebook.cells) == 3


async def test_what_the_agent_made_it_may_change_at_once(
    bench: Bench, notebook: FakeNotebook
) -> None:
    await bench.call("NotebookEdit", edit_mode="insert", new_source="A")
    assert not (await bench.call("NotebookEdit", cell_id="made1", new_source="B")).is_error
    own = await bench.decide("NotebookEdit", cell_id="made1", new_source="C")
    assert [s.rule for s in own.suggestions] == ["NotebookEdit(own)", "NotebookEdit(own)"]
    bench.gate.remember("NotebookEdit(own)", "session")
    assert (await bench.decide("NotebookEdit", cell_id="made1", new_source="C")).behavior == "allow"
    assert (await bench.decide("NotebookEdit", cell_id="aaa1", new_source="C")).behavior == "ask"


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ({"new_source": "x"}, "replace needs `cell_id`"),
        ({"cell_id": "aaa1"}, "`new_source` is empty"),
        ({"cell_id": "ccc3", "new_source": "x"}, "That is the cell this turn runs in"),
        ({"cell_id": "# plot\nplt.plot(x)", "new_source": "x"}, "No cell has the id `# plot`."),
        ({"cell_id": "aaa1", "new_source": "x", "notebook_path": "no.ipynb"}, "no notebook"),
        ({"cell_id": "aaa1", "new_source": "x", "notebook_path": "/etc/x.ipynb"}, "no notebook"),
    ],
)
async def test_an_edit_that_makes_no_sense_says_how_to_do_it(
    bench: Bench, call: dict[str, str], why: str
) -> None:
    result = await bench.call("NotebookEdit", **call)
    assert result.is_error
    assert why in text_of(result)


async def test_an_edit_the_page_did_not_make_is_an_error(
    bench: Bench, notebook: FakeNotebook
) -> None:
    await bench.call("Read", file_path="tour.ipynb")
    notebook.ignore_edits = True
    result = await bench.call("NotebookEdit", cell_id="aaa1", new_source="new")
    assert result.is_error
    assert "does not hold what was written" in text_of(result)
    made = await bench.call("NotebookEdit", edit_mode="insert", new_source="new")
    assert made.is_error


async def test_approvals_show_the_whole_cell_and_where_it_goes(bench: Bench) -> None:
    await bench.call("Read", file_path="tour.ipynb")
    source = "x\n" * 3000 + "bad()"
    assert await bench.preview("NotebookEdit", edit_mode="insert", new_source=source) == (
        CellPreview(op="insert", where="below this cell", new=source)
    )
    assert await bench.preview("NotebookEdit", cell_id="aaa1", new_source="y") == CellPreview(
        op="replace", cell_id="aaa1", where="[3]", old="print('hi')", new="y"
    )
    deleting = await bench.preview("NotebookEdit", cell_id="aaa1", edit_mode="delete")
    assert deleting == CellPreview(
        op="delete", cell_id="aaa1", where="[3]", old="print('hi')", new=None
    )


async def test_no_question_is_asked_about_an_edit_that_would_be_refused(bench: Bench) -> None:
    with pytest.raises(CellChanged):
        await bench.preview("NotebookEdit", cell_id="aaa1", new_source="y")
    with pytest.raises(CellNotFound):
        await bench.preview("NotebookEdit", cell_id="zzz", new_source="y")


async def test_what_must_not_be_read_is_not_quoted_before_the_gate(
    bench: Bench, tmp_path: Path
) -> None:
    source = RuleSource("user", tmp_path, tmp_path)
    bench.gate = Gate([parse_rule("Read(*.ipynb)", "deny", source)], cwd=tmp_path)
    tool = bench.tools["NotebookEdit"]
    for call in ({"cell_id": "aaa1", "new_source": "y"}, {"cell_id": "zzz", "new_source": "y"}):
        parsed = tool.parse_input(dict(call))
        assert await tool.validate_input(parsed, bench.context) is None
        assert (await bench.decide("NotebookEdit", **call)).behavior == "deny"


async def test_cells_of_a_notebook_that_must_not_be_read_are_not_run(
    bench: Bench, notebook: FakeNotebook, tmp_path: Path
) -> None:
    source = RuleSource("user", tmp_path, tmp_path)
    rules = [parse_rule("RunCell", "allow", source)]
    for behavior in ("deny", "ask"):
        rule = parse_rule("Read(*.ipynb)", behavior, source)
        bench.gate = Gate([*rules, rule], cwd=tmp_path)
        for cell_id in ("aaa1", "zzz"):
            parsed = bench.tools["RunCell"].parse_input({"cell_id": cell_id})
            assert await bench.tools["RunCell"].validate_input(parsed, bench.context) is None
            assert (await bench.decide("RunCell", cell_id=cell_id)).behavior == behavior
    allowing = [parse_rule(text, "allow", source) for text in ("Read", "Edit", "Edit(**)")]
    bench.gate = Gate(allowing, cwd=tmp_path)
    assert (await bench.decide("RunCell", cell_id="aaa1")).behavior == "ask"
    assert (await bench.call("RunCell", cell_id="zzz")).is_error


async def test_new_cells_are_own_in_the_open_notebook_only(bench: Bench, tmp_path: Path) -> None:
    other = tmp_path / "other.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[]), other)
    source = RuleSource("session", tmp_path, tmp_path)
    bench.gate = Gate([parse_rule("NotebookEdit(own)", "allow", source)], cwd=tmp_path)
    new = {"edit_mode": "insert", "new_source": "x"}
    assert (await bench.decide("NotebookEdit", **new)).behavior == "allow"
    here = await bench.decide("NotebookEdit", notebook_path="tour.ipynb", **new)
    assert here.behavior == "allow"
    there = await bench.decide("NotebookEdit", notebook_path="other.ipynb", **new)
    assert there.behavior == "ask"
    assert [s.rule for s in there.suggestions] == ["Edit(./other.ipynb)"] * 2


async def test_another_notebook_is_edited_in_its_file_below_the_folder_only(
    bench: Bench, tmp_path: Path
) -> None:
    other = tmp_path / "sub" / "other.ipynb"
    other.parent.mkdir()
    cells = [nbformat.v4.new_code_cell("x", id="o1")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), other)
    await bench.call("Read", file_path="sub/other.ipynb")
    path = "sub/other.ipynb"
    done = await bench.call("NotebookEdit", notebook_path=path, cell_id="o1", new_source="y")
    assert text_of(done).endswith("The change is in the file; no page has it open.")
    assert nbformat.read(other, as_version=4).cells[0].source == "y"
    outside = tmp_path.parent / f"{tmp_path.name}2.ipynb"
    outside.write_bytes(other.read_bytes())
    (tmp_path / "link.ipynb").symlink_to(outside)
    for path in (f"../{outside.name}", str(outside), "link.ipynb"):
        refused = await bench.call("NotebookEdit", notebook_path=path, cell_id="o1", new_source="z")
        assert "lies outside" in text_of(refused)
    outside.unlink()


def ran(*outputs: CellOutput, status: str = "ok") -> NotebookRunResult:
    return NotebookRunResult(status=status, execution_count=9, outputs=outputs)  # type: ignore[arg-type]


async def test_a_cell_is_run_and_its_output_comes_back(
    bench: Bench, notebook: FakeNotebook
) -> None:
    out = CellOutput(output_type="execute_result", data={"text/plain": "42"})
    notebook.runs["aaa1"] = ran(out)
    result = await bench.call("RunCell", cell_id="aaa")
    assert (text_of(result), result.fact, result.is_error) == ("42", "[9] 1 line", False)
    assert notebook.ran == ["aaa1"]
    assert bench.line("RunCell", cell_id="aaa1") == "Run cell | [9]"
    (event,) = bench.events
    assert isinstance(event, NotebookChanged)
    assert [(change.op, change.where) for change in event.changes] == [("ran", "[9]")]


@pytest.mark.parametrize(
    ("outputs", "status", "text", "fact"),
    [
        ([], "ok", "The cell ran and showed nothing.", "[9] no output"),
        (
            [CellOutput(output_type="error", ename="ZeroDivisionError", evalue="by zero")],
            "error",
            "ZeroDivisionError: by zero",
            "[9] ZeroDivisionError: by zero",
        ),
        ([], "aborted", "The cell was interrupted or did not start.", "[9] interrupted"),
    ],
)
async def test_how_a_cell_ended_is_told(
    bench: Bench,
    notebook: FakeNotebook,
    outputs: Sequence[CellOutput],
    status: str,
    text: str,
    fact: str,
) -> None:
    notebook.runs["aaa1"] = ran(*outputs, status=status)
    result = await bench.call("RunCell", cell_id="aaa1")
    assert (text_of(result), result.fact, result.is_error) == (text, fact, status != "ok")


async def test_only_other_code_cells_run(bench: Bench, notebook: FakeNotebook) -> None:
    assert "markdown cell" in (await bench.call("RunCell", cell_id="bbb2")).fact
    assert "this turn runs in" in (await bench.call("RunCell", cell_id="ccc3")).fact
    assert notebook.ran == []


async def test_a_cell_that_changes_while_it_waits_for_the_kernel_is_not_run(
    bench: Bench, notebook: FakeNotebook
) -> None:
    def person_types() -> None:
        notebook.cells[3] = cell("ddd4", "rm_everything()")

    notebook.before_run = person_types
    result = await bench.call("RunCell", cell_id="ddd4")
    assert (result.is_error, notebook.ran) == (True, [])


async def test_what_runs_is_what_was_shown_for_approval(
    bench: Bench, notebook: FakeNotebook
) -> None:
    shown = await bench.preview("RunCell", cell_id="ddd4")
    assert shown == CellPreview(op="run", cell_id="ddd4", where="cell 4", new="last")
    notebook.cells[3] = cell("ddd4", "rm_everything()")
    result = await bench.call("RunCell", cell_id="ddd4")
    assert text_of(result) == (
        "Cell `ddd4` changed after it was shown for approval, so it was not run. "
        "It is now:\nrm_everything()"
    )
    assert notebook.ran == []
