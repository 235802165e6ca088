"""Cells and outputs as the model reads them: text within bounds, pictures as pictures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agent_kernel.messages import ImageBlock, ResultContent, TextBlock
from agent_kernel.notebook.cells import joined
from agent_kernel.notebook.images import first_image, from_output, image_block
from agent_kernel.vocabulary import CellOutput
from agent_kernel.wire import CellContent

OUTPUT_CHARS = 6_000
"""Of one output in a read of a notebook; running code shows more."""
MAX_IMAGES = 8
"""In one result; a session may hold a hundred in all."""

_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])"
)
_SCRIPT = re.compile(r"<(script|style)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_PLAIN = ("text/plain", "text/markdown", "text/latex")


@dataclass
class Budget:
    """What one result may still hold. ``per_output`` bounds each output by itself."""

    chars: int = 60_000
    images: int = MAX_IMAGES
    per_output: int = OUTPUT_CHARS

    def take(self, text: str, how: str = "") -> str:
        """The text, shortened in its middle to what is left; ``how`` says how to get the rest."""
        room = max(200, min(self.per_output, self.chars))
        shown = clip(text, room, how)
        self.chars -= len(shown)
        return shown


def clip(text: str, limit: int, how: str = "") -> str:
    """Head and tail of a text that is too long, and how much is missing between them."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    note = f"[{len(text) - limit:,} characters not shown{how and '; ' + how}]"
    return f"{text[:head]}\n{note}\n{text[-tail:]}"


def clean(text: str) -> str:
    """As a terminal would leave it: no colours, progress bars in their last state."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    text = text.replace("\r\n", "\n")
    if "\r" in text or "\b" in text:
        text = "\n".join(_overwritten(line) for line in text.split("\n"))
    return _CONTROL.sub("", text)


def _overwritten(line: str) -> str:
    shown = ""
    # A bar that was redrawn thousands of times matters only in its last states.
    for part in line.split("\r")[-50:]:
        shown = part + shown[len(part) :]
    while "\b" in shown:
        fewer = re.sub(r"[^\x08]\x08|^\x08+", "", shown)
        if fewer == shown:
            break
        shown = fewer
    return shown


def render_outputs(
    outputs: Iterable[CellOutput], budget: Budget, how: str = ""
) -> list[ResultContent]:
    """Outputs in order. Streams of the same kind that follow each other are one text."""
    content: list[ResultContent] = []
    for output in _merged(outputs):
        if output.output_type == "stream":
            text = clean(_precut(output.text or ""))
            if text.strip():
                label = "[stderr]\n" if output.name == "stderr" else ""
                content.append(TextBlock(text=label + budget.take(text, how)))
        elif output.output_type == "error":
            content.append(TextBlock(text=budget.take(_error(output), how)))
        else:
            content += _bundle(output.data or {}, budget, how)
    return join_texts(content)


def render_cell(
    cell: CellContent, position: int, budget: Budget, *, outputs: Sequence[CellOutput] = ()
) -> list[ResultContent]:
    """One cell with its id, 1-based position, whole source and shortened outputs."""
    count = "" if cell.execution_count is None else f' run="[{cell.execution_count}]"'
    head = f'<cell id="{cell.id}" position="{position}" type="{cell.type}"{count}>'
    budget.chars -= len(cell.source) + len(head)
    how = f"Read with cell_id {cell.id} shows more"
    shown = render_outputs(outputs, budget, how)
    if not shown:
        return [TextBlock(text=f"{head}\n{cell.source}\n</cell>")]
    opening = TextBlock(text=f"{head}\n{cell.source}\n<output>")
    return join_texts([opening, *shown, TextBlock(text="</output>\n</cell>")])


def join_texts(content: Iterable[ResultContent]) -> list[ResultContent]:
    """Neighbouring texts become one, so that pictures stand where they belong."""
    joined_up: list[ResultContent] = []
    for block in content:
        last = joined_up[-1] if joined_up else None
        if isinstance(block, TextBlock) and isinstance(last, TextBlock):
            gap = "" if last.text.endswith("\n") else "\n"
            joined_up[-1] = TextBlock(text=last.text + gap + block.text)
        else:
            joined_up.append(block)
    return joined_up


def _merged(outputs: Iterable[CellOutput]) -> list[CellOutput]:
    merged: list[CellOutput] = []
    parts: list[str] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if (
            output.output_type == "stream"
            and last is not None
            and last.output_type == "stream"
            and last.name == output.name
        ):
            parts.append(output.text or "")
            continue
        _settle(merged, parts)
        merged.append(output)
        parts = [output.text or ""] if output.output_type == "stream" else []
    _settle(merged, parts)
    return merged


def _settle(merged: list[CellOutput], parts: list[str]) -> None:
    if len(parts) > 1:
        merged[-1] = merged[-1].model_copy(update={"text": "".join(parts)})


def _precut(text: str, limit: int = 400_000) -> str:
    """Megabytes are not cleaned only to be cut afterwards."""
    return text if len(text) <= limit else clip(text, limit)


def _error(output: CellOutput) -> str:
    trace = clean("\n".join(output.traceback or ())).strip()
    name = f"{output.ename or 'Error'}: {output.evalue or ''}".rstrip(": ")
    if not trace:
        return name
    return trace if (output.ename or "") in trace else f"{trace}\n{name}"


def _bundle(data: Mapping[str, JsonValue], budget: Budget, how: str) -> list[ResultContent]:
    content: list[ResultContent] = []
    image = first_image(data)
    if image is not None:
        content.append(_image(image[1], budget))
    elif "image/svg+xml" in data:
        svg = clean(joined(data["image/svg+xml"]))
        content.append(TextBlock(text="[SVG image]\n" + clip(svg, 2_000, how)))
        budget.chars -= 2_000
    text = _text_of(data)
    # "<Figure size 640x480 with 1 Axes>" says nothing that the picture does not.
    if text and not (content and re.fullmatch(r"<[^\n]{1,200}>", text.strip())):
        content.append(TextBlock(text=budget.take(text, how)))
    return content


def _image(value: JsonValue, budget: Budget) -> ResultContent:
    if budget.images <= 0:
        return TextBlock(text="[one more image, not shown: a result holds at most 8]")
    data = from_output(value)
    if data is None:
        return TextBlock(text="[image whose base64 is damaged]")
    block = image_block(data)
    if isinstance(block, ImageBlock):
        budget.images -= 1
        return block
    return TextBlock(text=f"[{block}]")


def _text_of(data: Mapping[str, JsonValue]) -> str:
    for mime in _PLAIN:
        if mime in data and (text := clean(_precut(joined(data[mime]))).strip("\n")):
            return text
    if "application/json" in data:
        return _precut(json.dumps(data["application/json"], ensure_ascii=False, indent=1))
    if "text/html" in data:
        html = _precut(joined(data["text/html"]))
        return clean(
            re.sub(r"<(script|style)\b.*?</\1\s*>", "", html, flags=re.DOTALL | re.IGNORECASE)
        )
    others = [mime for mime in data if not mime.startswith("image/")]
    return f"[output of type {', '.join(others)}]" if others else ""
