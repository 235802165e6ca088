"""Python and Variables: the user's kernel as the model sees it."""

from __future__ import annotations

import base64
import io
from pathlib import Path

from PIL import Image

from agent_kernel.events import ToolProgress
from agent_kernel.protocols import CodeRun, VariableInfo
from agent_kernel.testing.notebook import FakeNamespace
from agent_kernel.vocabulary import CellOutput, CodePreview
from tests.support.tools import Bench, text_of

DF = VariableInfo(
    name="df", type="DataFrame", shape="1,204 × 8", size=80_000, summary="columns: a, b\n  a  b"
)
N = VariableInfo(name="n", type="int", summary="42")


def stream(text: str) -> CellOutput:
    return CellOutput(output_type="stream", name="stdout", text=text)


async def test_code_gives_text_and_pictures_in_order_and_tells_them_at_once(
    tmp_path: Path,
) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (2, 2)).save(buffer, "PNG")
    image = {"image/png": base64.b64encode(buffer.getvalue()).decode(), "text/plain": "<Figure>"}
    outputs = (
        stream("\x1b[1m50%\r100%\x1b[0m\n"),
        CellOutput(output_type="display_data", data=dict(image)),
        CellOutput(output_type="execute_result", data={"text/plain": "3"}),
    )
    namespace = FakeNamespace(answers={"go()": CodeRun(status="ok", outputs=outputs)})
    bench = Bench(tmp_path, namespace=namespace)
    result = await bench.call("Python", code="go()")
    assert text_of(result) == "100%\n\n<image/png>\n3"
    assert (result.fact, result.is_error) == ("1 image", False)
    assert result.preview == CodePreview(code="go()")
    assert bench.events == [
        ToolProgress(run_id="run1", tool_use_id="use1", outputs=(output,)) for output in outputs
    ]


async def test_errors_interrupts_and_silence(tmp_path: Path) -> None:
    error = CellOutput(
        output_type="error",
        ename="ValueError",
        evalue="bad",
        traceback=("Trace", "ValueError: bad"),
    )
    answers = {
        "bad()": CodeRun(status="error", outputs=(stream("before\n"), error)),
        "slow()": CodeRun(status="interrupted", outputs=(stream("a\n"),)),
        "x = 1": CodeRun(status="ok"),
    }
    bench = Bench(tmp_path, namespace=FakeNamespace(answers=answers))
    bad = await bench.call("Python", code="bad()")
    assert (text_of(bad), bad.fact, bad.is_error) == (
        "before\nTrace\nValueError: bad",
        "ValueError: bad",
        True,
    )
    slow = await bench.call("Python", code="slow()")
    assert text_of(slow) == "a\nThe code was interrupted before it ended."
    assert (slow.fact, slow.is_error) == ("interrupted", True)
    silent = await bench.call("Python", code="x = 1")
    assert (text_of(silent), silent.fact) == ("The code ran and showed nothing.", "no output")
    assert (await bench.call("Python", code=" \n")).fact == "`code` is empty."


async def test_much_output_keeps_its_head_and_tail_within_the_limit(tmp_path: Path) -> None:
    run = CodeRun(status="ok", outputs=(stream("head\n" + "x" * 100_000 + "\ntail\n"),))
    bench = Bench(tmp_path, namespace=FakeNamespace(answers={"f()": run}))
    text = text_of(await bench.call("Python", code="f()"))
    assert (len(text) < 30_000, text[:5], text[-6:]) == (True, "head\n", "\ntail\n")


async def test_an_approval_shows_all_of_the_code(tmp_path: Path) -> None:
    code = "ok()\n" * 1000 + "bad()"
    bench = Bench(tmp_path, namespace=FakeNamespace())
    assert await bench.preview("Python", code=code) == CodePreview(code=code)
    assert bench.line("Python", code="\n  df.head()\nx") == "Run Python | df.head()"


async def test_variables_are_listed_and_looked_at(tmp_path: Path) -> None:
    bench = Bench(tmp_path, namespace=FakeNamespace([DF, N]))
    listing = await bench.call("Variables")
    assert text_of(listing) == "- df: DataFrame, 1,204 × 8, 78.1 KB\n- n: int"
    assert listing.fact == "2 variables"
    one = await bench.call("Variables", names=["df", "nope"])
    assert text_of(one) == (
        "df: DataFrame, 1,204 × 8, 78.1 KB\ncolumns: a, b\n  a  b\n\nNot in memory: nope."
    )
    assert (one.fact, bench.line("Variables", names=["df"])) == ("1,204 × 8", "Variables | df")
    assert (await bench.call("Variables", names="n")).fact == "1 found"
    assert (await bench.call("Variables", names='["df", "n"]')).fact == "2 found"
    missing = await bench.call("Variables", names=["nope"])
    assert (missing.is_error, text_of(missing)) == (
        True,
        "Not in memory: nope. There are: df, n.",
    )


async def test_without_a_kernel_there_are_no_kernel_tools(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    enabled = [name for name, tool in bench.tools.items() if tool.is_enabled(bench.context)]
    assert enabled == ["Read", "Write", "Edit", "NotebookEdit"]
    assert "no kernel" in (await bench.call("Python", code="1")).fact
    assert "no open notebook" in (await bench.call("RunCell", cell_id="a")).fact
    assert (
        "no open notebook" in (await bench.call("NotebookEdit", new_source="x", cell_id="a")).fact
    )
