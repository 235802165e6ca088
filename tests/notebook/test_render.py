"""Outputs and cells as the model gets them: bounded, cleaned, pictures as pictures."""

from __future__ import annotations

import base64
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from agent_kernel.messages import ImageBlock, ResultContent, TextBlock
from agent_kernel.notebook.images import image_block
from agent_kernel.notebook.render import Budget, clean, clip, render_cell, render_outputs
from agent_kernel.testing.notebook import cell
from agent_kernel.vocabulary import CellOutput


def picture(size: tuple[int, int] = (2, 2), kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, "red").save(buffer, kind)
    return buffer.getvalue()


def stream(text: str, name: Any = "stdout") -> CellOutput:
    return CellOutput(output_type="stream", name=name, text=text)


def shown(**data: Any) -> CellOutput:
    names = {name.replace("__", "/").replace("_svg", "svg+xml"): v for name, v in data.items()}
    return CellOutput(output_type="display_data", data=names)


def texts(content: list[ResultContent]) -> list[str]:
    return [block.text if isinstance(block, TextBlock) else "<image>" for block in content]


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("long line\rab", "abng line"),
        ("a\r\nb", "a\nb"),
        ("abc\b\bX", "aX"),
        ("nul\x00 bell\x07", "nul bell"),
        ("tab\tstays", "tab\tstays"),
    ],
)
def test_text_is_what_a_terminal_would_leave(raw: str, wanted: str) -> None:
    assert clean(raw) == wanted


@given(st.text())
def test_cleaning_leaves_no_control_characters_and_is_done_once(text: str) -> None:
    once = clean(text)
    assert not any(ord(char) < 32 and char not in "\n\t" for char in once)
    assert clean(once) == once


@given(st.text(max_size=400), st.integers(10, 200))
def test_a_clipped_text_keeps_its_head_and_tail(text: str, limit: int) -> None:
    cut = clip(text, limit)
    if len(text) <= limit:
        assert cut == text
    else:
        head, tail = limit * 2 // 3, limit - limit * 2 // 3
        missing = len(text) - limit
        assert cut == f"{text[:head]}\n[{missing:,} characters not shown]\n{text[-tail:]}"


def test_outputs_keep_their_order_and_streams_join() -> None:
    image = base64.b64encode(picture()).decode()
    content = render_outputs(
        [
            stream("a"),
            stream("b\n"),
            stream("oops\n", "stderr"),
            shown(image__png=image, text__plain="<Figure size 640x480 with 1 Axes>"),
            CellOutput(output_type="execute_result", data={"text/plain": "42"}),
        ],
        Budget(),
    )
    assert texts(content) == ["ab\n[stderr]\noops\n", "<image>", "42"]


@pytest.mark.parametrize("style", ["lines", "wrapped", "plain"])
def test_base64_is_joined_and_checked(style: str) -> None:
    encoded = base64.b64encode(picture()).decode()
    value: Any = {
        "plain": encoded,
        "wrapped": encoded[:20] + "\n" + encoded[20:] + "\n",
        "lines": [encoded[:20] + "\n", encoded[20:] + "\n"],
    }[style]
    (block,) = render_outputs([shown(image__png=value)], Budget())
    assert block == ImageBlock(media_type="image/png", data=encoded)


def test_a_damaged_picture_is_a_sentence() -> None:
    outputs = [shown(image__png="no base64!"), shown(image__png=base64.b64encode(b"x").decode())]
    text = "[image whose base64 is damaged]\n[image cannot be decoded (UnidentifiedImageError)]"
    assert texts(render_outputs(outputs, Budget())) == [text]


def test_a_picture_is_named_by_its_bytes_not_its_label() -> None:
    data = base64.b64encode(picture(kind="JPEG")).decode()
    (block,) = render_outputs([shown(image__png=data)], Budget())
    assert isinstance(block, ImageBlock)
    assert block.media_type == "image/jpeg"


def test_a_bitmap_becomes_png_and_a_large_picture_is_scaled() -> None:
    bitmap = image_block(picture(kind="BMP"))
    assert isinstance(bitmap, ImageBlock)
    assert bitmap.media_type == "image/png"
    large = image_block(picture((9000, 10)))
    assert isinstance(large, ImageBlock)
    with Image.open(io.BytesIO(base64.b64decode(large.data))) as image:
        assert image.size == (2000, 2)


def test_svg_is_text() -> None:
    (text,) = texts(render_outputs([shown(image___svg="<svg/>")], Budget()))
    assert text == "[SVG image]\n<svg/>"


def test_a_ninth_picture_is_only_mentioned() -> None:
    image = shown(image__png=base64.b64encode(picture()).decode())
    content = texts(render_outputs([image] * 9, Budget()))
    assert content == [
        *["<image>"] * 8,
        "[one more image, not shown: a result holds at most 8]",
    ]


def test_an_error_is_its_traceback_without_colours() -> None:
    error = CellOutput(
        output_type="error",
        ename="ValueError",
        evalue="bad",
        traceback=("\x1b[31mTraceback\x1b[0m", "ValueError: bad"),
    )
    bare = CellOutput(output_type="error", ename="KeyError", evalue="'x'", traceback=())
    assert texts(render_outputs([error, bare], Budget())) == [
        "Traceback\nValueError: bad\nKeyError: 'x'"
    ]


def test_five_megabytes_of_output_stay_small() -> None:
    outputs = [stream("x" * 5_000_000), stream("y\n" * 500_000, "stderr")]
    content = render_cell(cell("a1", "run()", count=3), 1, Budget(), outputs=outputs)
    (text,) = texts(content)
    assert len(text) < 13_000
    assert text.startswith(
        '<cell id="a1" position="1" type="code" run="[3]">\nrun()\n<output>\nxxx'
    )
    assert "characters not shown; Read with cell_id a1 shows more]" in text
    assert text.endswith("y\n</output>\n</cell>")
