"""Read, Write and Edit: exact, whole, and never at the cost of other bytes (CASES 83)."""

from __future__ import annotations

import io
import stat
from pathlib import Path

import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from agent_kernel.permissions.gate import Gate
from agent_kernel.settings.rules import RuleSource, parse_rule
from agent_kernel.testing.notebook import FakeNotebook, cell
from agent_kernel.vocabulary import DiffPreview
from tests.support.tools import Bench, text_of


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_text_comes_with_line_numbers_and_pages(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    result = await bench.call("Read", file_path="a.txt")
    assert text_of(result) == "     1\tone\n     2\ttwo\n     3\tthree"
    assert (result.fact, bench.line("Read", file_path="a.txt")) == ("3 lines", "Read | a.txt")
    page = await bench.call("Read", file_path="a.txt", offset=2, limit=1)
    assert text_of(page) == "     2\ttwo\n\n[Lines 2 to 2 of 3. Go on with offset 3.]"
    assert page.fact == "1 line of 3"
    beyond = await bench.call("Read", file_path="a.txt", offset=9)
    assert (beyond.is_error, beyond.fact) == (
        True,
        f"{tmp_path}/a.txt has 3 lines; offset 9 is behind its end.",
    )


async def test_long_files_and_long_lines_are_bounded(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("x" * 5000 + "\n" + "y\n" * 50_000)
    text = text_of(await bench.call("Read", file_path="long.txt"))
    assert "x [3,000 more characters in this line]" in text
    assert text.endswith("[Lines 1 to 2,000 of 50,001. Go on with offset 2001.]")
    assert len(text) < 70_000


async def test_what_is_not_there_is_told_with_what_is_near(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("")
    (tmp_path / "sub").mkdir()
    near = await bench.call("Read", file_path="price.csv")
    assert near.fact == f"There is no file {tmp_path}/price.csv. Near it: prices.csv."
    folder = await bench.call("Read", file_path=".")
    assert folder.fact == f"{tmp_path} is a folder. It holds: prices.csv, sub/."
    assert text_of(await bench.call("Read", file_path="prices.csv")).endswith("is empty.")


async def test_an_image_comes_as_an_image(bench: Bench, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (3, 3)).save(buffer, "JPEG")
    (tmp_path / "plot.png").write_bytes(buffer.getvalue())
    result = await bench.call("Read", file_path="plot.png")
    assert text_of(result).split("\n")[1:] == ["<image/jpeg>"]
    (tmp_path / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    assert "cannot be decoded" in (await bench.call("Read", file_path="bad.png")).fact


async def test_bytes_that_are_no_text_are_refused(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(bytes(range(256)) * 10)
    result = await bench.call("Read", file_path="data.bin")
    assert result.fact == (
        f"{tmp_path}/data.bin is not text (2,560 bytes). Use Python to look into it."
    )


@pytest.mark.parametrize(
    "data",
    [
        b"first\n" + b"ok\n" * 997 + b"\x99 last\n",
        "first\nnaïve café\n".encode("cp1252"),
        "first\n中文的文本，很多字。再来一些\n".encode("gb18030"),
        "first\nzwei ä\n".encode("utf-16"),
        "first\nzwei\n".encode("utf-16-le"),
        b"\xef\xbb\xbffirst\r\nzwei \xc3\xa4\r\n",
        b"first\rzwei\r",
        b"first\r\nmixed\nends\rhere",
        b"# -*- coding: koi8-r -*-\nfirst\n'\xf0\xd2\xc9'\n",
        "first\nзима\n".encode("utf-32"),
    ],
    ids=["lone", "cp1252", "gbk", "utf16", "utf16le", "bom", "mac", "mixed", "cookie", "utf32"],
)
async def test_an_edit_keeps_every_other_byte(bench: Bench, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(data)
    assert not (await bench.call("Read", file_path="a.py")).is_error
    result = await bench.call("Edit", file_path="a.py", old_string="first", new_string="1st")
    assert not result.is_error, text_of(result)
    codec = "utf-16-le" if b"f\x00" in data else "ascii"
    if b"f\x00\x00\x00" in data:
        codec = "utf-32-le"
    assert path.read_bytes() == data.replace("first".encode(codec), "1st".encode(codec))


async def test_a_character_the_encoding_lacks_is_refused(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"caf\xe9\n")
    await bench.call("Read", file_path="a.txt")
    result = await bench.call("Edit", file_path="a.txt", old_string="caf", new_string="→")
    assert "The file is cp1252 and cannot hold '→'" in result.fact
    assert path.read_bytes() == b"caf\xe9\n"


async def test_edits_across_lines_follow_the_files_line_ends(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\r\nb\r\nc\r\n")
    await bench.call("Read", file_path="a.txt")
    result = await bench.call("Edit", file_path="a.txt", old_string="a\nb", new_string="a\nnew\nb")
    assert path.read_bytes() == b"a\r\nnew\r\nb\r\nc\r\n"
    assert result.fact == "+1 line"
    assert text_of(result) == (
        "Changed a.txt (+1 line). It now reads there:\n"
        "     1\ta\n     2\tnew\n     3\tb\n     4\tc\n     5\t"
    )
    assert result.preview == DiffPreview(
        path=str(path), old="a\nb\nc\n", new="a\nnew\nb\nc\n", language="txt"
    )


async def test_replacements_are_literal(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a.c abc\n")
    await bench.call("Read", file_path="a.txt")
    await bench.call("Edit", file_path="a.txt", old_string="a.c", new_string=r"\1\g<0>\n")
    assert path.read_text() == "\\1\\g<0>\\n abc\n"


async def test_a_piece_that_is_not_there_once_is_refused_with_advice(
    bench: Bench, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x = 1\n  y = 2\nx = 1\n")
    await bench.call("Read", file_path="a.txt")

    async def refusal(old: str, new: str = "z") -> str:
        result = await bench.call("Edit", file_path="a.txt", old_string=old, new_string=new)
        assert result.is_error
        return text_of(result)

    assert await refusal("x = 1") == (
        "old_string stands in a.txt 2 times (lines 1, 3). "
        "Add lines around it until it is unique, or set replace_all."
    )
    assert "line 1 differs from it only in spaces" in await refusal("x = 1\ny = 2")
    assert "its first line is (line 2)" in await refusal("y = 2\nnope")
    assert "Leave out the numbers" in await refusal("     1\tx = 1")
    assert "Read it and copy the text exactly" in await refusal("absent")
    assert "old_string is empty" in await refusal("")
    assert "are the same" in await refusal("x", "x")
    await bench.call(
        "Edit", file_path="a.txt", old_string="x = 1", new_string="z", replace_all=True
    )
    assert path.read_text() == "z\n  y = 2\nz\n"


async def test_a_file_is_changed_only_as_it_was_read(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    assert (await bench.call("Edit", **edit)).fact.startswith("Read a.txt first")
    write = await bench.call("Write", file_path="a.txt", content="new")
    assert write.fact.startswith("Read a.txt first")
    await bench.call("Read", file_path="a.txt")
    path.write_text("one more\n")
    assert "a.txt has changed since it was read" in (await bench.call("Edit", **edit)).fact
    await bench.call("Read", file_path="a.txt")
    assert not (await bench.call("Edit", **edit)).is_error
    again = await bench.call("Edit", file_path="a.txt", old_string="two", new_string="three")
    assert not again.is_error
    assert path.read_text() == "three more\n"


async def test_a_link_is_followed_and_stays_a_link(bench: Bench, tmp_path: Path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    path.write_text("one\n")
    path.chmod(0o640)
    link.symlink_to(path)
    await bench.call("Read", file_path="a.txt")
    result = await bench.call("Edit", file_path="link.txt", old_string="one", new_string="two")
    assert not result.is_error
    assert (link.is_symlink(), path.read_text()) == (True, "two\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


async def test_write_makes_folders_and_keeps_the_form_of_what_was_there(
    bench: Bench, tmp_path: Path
) -> None:
    made = await bench.call("Write", file_path="new/dir/a.py", content="a\nb\n")
    assert (text_of(made), made.fact) == ("Made new/dir/a.py (2 lines).", "+2 lines")
    path = tmp_path / "b.txt"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    await bench.call("Read", file_path="b.txt")
    done = await bench.call("Write", file_path="b.txt", content="a\nc\nd\n")
    assert path.read_bytes() == b"\xef\xbb\xbfa\r\nc\r\nd\r\n"
    assert done.fact == "+2 −1 lines"
    preview = await bench.preview("Write", file_path="b.txt", content="x\n")
    assert preview == DiffPreview(path=str(path), old="a\nc\nd\n", new="x\n", language="txt")
    assert (await bench.call("Write", file_path="new", content="")).is_error


async def test_the_open_notebook_is_never_written_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tour.ipynb"
    path.write_text("{}")
    bench = Bench(tmp_path, notebook=FakeNotebook([cell("a1", "x")], path=str(path)))
    write = await bench.call("Write", file_path="tour.ipynb", content="{}")
    assert write.fact.startswith("tour.ipynb is the open notebook")
    edit = await bench.call("Edit", file_path="tour.ipynb", old_string="{", new_string="[")
    assert "NotebookEdit" in edit.fact
    other = await bench.call("Edit", file_path="x.ipynb", old_string="{", new_string="[")
    assert other.fact == "x.ipynb is a notebook. Change its cells with NotebookEdit."
    assert path.read_text() == "{}"


async def test_a_link_to_a_notebook_is_a_notebook_whatever_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "tour.ipynb"
    path.write_text("{}")
    (tmp_path / "notes.txt").symlink_to(path)
    bench = Bench(tmp_path, notebook=FakeNotebook([cell("a1", "unsaved")], path=str(path)))
    assert "unsaved" in text_of(await bench.call("Read", file_path="notes.txt"))
    write = await bench.call("Write", file_path="notes.txt", content="{}")
    assert write.fact.startswith("notes.txt is the open notebook")
    edit = await bench.call("Edit", file_path="notes.txt", old_string="{", new_string="[")
    assert "is the open notebook" in edit.fact
    assert path.read_text() == "{}"


async def test_a_notebook_only_the_server_can_place_is_told_from_its_namesakes(
    tmp_path: Path,
) -> None:
    cwd = tmp_path / "root" / "books"
    for folder in (cwd, tmp_path / "elsewhere" / "books"):
        folder.mkdir(parents=True)
        (folder / "a.ipynb").write_text('{"nbformat": 4, "nbformat_minor": 5, "cells": []}')
    bench = Bench(cwd, notebook=FakeNotebook([cell("a1", "unsaved")], path="books/a.ipynb"))
    assert "unsaved" in text_of(await bench.call("Read", file_path="a.ipynb"))
    other = str(tmp_path / "elsewhere" / "books" / "a.ipynb")
    assert "unsaved" not in text_of(await bench.call("Read", file_path=other))
    refused = await bench.call("NotebookEdit", notebook_path=other, cell_id="a1", new_source="x")
    assert "may be the notebook that is open" in refused.fact
    source = RuleSource("user", cwd, cwd)
    bench.gate = Gate([parse_rule("Edit(./a.ipynb)", "deny", source)], cwd=cwd)
    decision = await bench.decide("NotebookEdit", cell_id="a1", new_source="x")
    assert decision.behavior == "deny"


async def test_a_new_notebook_must_open_well(bench: Bench, tmp_path: Path) -> None:
    bad = await bench.call("Write", file_path="n.ipynb", content='{"nbformat": 4, "metadata": {}}')
    assert "needs a kernelspec" in bad.fact
    assert "is JSON" in (await bench.call("Write", file_path="n.ipynb", content="x")).fact
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    good = nbformat.writes(nbformat.v4.new_notebook(metadata={"kernelspec": spec}))
    assert not (await bench.call("Write", file_path="n.ipynb", content=good)).is_error
    nbformat.read(tmp_path / "n.ipynb", as_version=4)


words = st.text(st.sampled_from("ab \n"), min_size=1, max_size=6)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(st.sampled_from("ab \n"), max_size=30),
    old=words,
    new=words,
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    everywhere=st.booleans(),
)
async def test_an_edit_is_a_replacement_or_nothing(
    tmp_path: Path, text: str, old: str, new: str, newline: str, everywhere: bool
) -> None:
    bench = Bench(tmp_path)
    path = tmp_path / "a.txt"
    data = text.replace("\n", newline).encode()
    path.write_bytes(data)
    await bench.call("Read", file_path="a.txt")
    result = await bench.call(
        "Edit", file_path="a.txt", old_string=old, new_string=new, replace_all=everywhere
    )
    times = text.count(old)
    if result.is_error:
        assert path.read_bytes() == data
        assert old == new or times == 0 or (not everywhere and times != 1)
    else:
        wanted = text.replace(old, new)
        # A file without any line end has none to follow.
        end = newline if "\n" in text else "\n"
        assert path.read_bytes() == wanted.replace("\n", end).encode()
