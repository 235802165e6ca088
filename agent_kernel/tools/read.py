"""Read: text with line numbers, images, notebooks by cell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from agent_kernel.errors import ToolError
from agent_kernel.messages import TextBlock
from agent_kernel.notebook.images import image_block, media_type_of
from agent_kernel.tool_types import Opinion, RuleTarget, ToolContext, ToolDisplay, ToolResult
from agent_kernel.tools import notebooks
from agent_kernel.tools.base import BaseTool, ToolInput
from agent_kernel.tools.text_files import (
    decode,
    digest_of,
    load_bytes,
    read_key,
    resolve,
    short,
    to_lf,
    touch,
)
from agent_kernel.vocabulary import Preview, TextPreview

MAX_CHARS = 60_000
MAX_LINES = 2_000
MAX_LINE_CHARS = 2_000
_IMAGE_SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".ico"}


class ReadInput(ToolInput):
    file_path: Annotated[str, Field(description="Absolute, or relative to the working folder.")]
    offset: Annotated[
        int | None,
        Field(ge=1, description="First line to show, from 1; in a notebook the first cell."),
    ] = None
    limit: Annotated[int | None, Field(ge=1, description="How many lines or cells.")] = None
    cell_id: Annotated[str | None, Field(description="Notebooks: only this cell.")] = None
    outline: Annotated[
        bool, Field(description="Notebooks: one line per cell instead of the sources.")
    ] = False


class Read(BaseTool[ReadInput]):
    name = "Read"
    aliases: tuple[str, ...] = ("FileRead",)
    input_model = ReadInput
    search_hint = "open look at file text image notebook cells"
    max_result_chars = 100_000
    verb = "Read"
    description = (
        "Reads a file: text with line numbers, an image as an image, a notebook as its cells with "
        "ids, sources and shortened outputs. The open notebook is read as the person sees it, "
        "unsaved changes included.\n"
        f"- Shows up to {MAX_LINES:,} lines; go on with offset and limit.\n"
        "- The number and the tab before each line are not part of the file.\n"
        "- For a large notebook start with outline, then read cells by cell_id or offset."
    )

    def is_read_only(self, input: ReadInput) -> bool:
        return True

    def is_concurrency_safe(self, input: ReadInput) -> bool:
        return True

    async def check_permissions(self, input: ReadInput, context: ToolContext) -> Opinion:
        return Opinion(behavior="allow", reason="Reading changes nothing.")

    async def rule_targets(self, input: ReadInput, context: ToolContext) -> tuple[RuleTarget, ...]:
        path = resolve(input.file_path, context.cwd)
        return (RuleTarget(kind="path", value=str(path), access="read"),)

    def display(self, input: ReadInput, context: ToolContext) -> ToolDisplay:
        subject = short(resolve(input.file_path, context.cwd), context.cwd)
        if input.cell_id:
            subject += f" · {input.cell_id}"
        return ToolDisplay(verb="Read", subject=subject)

    async def preview(self, input: ReadInput, context: ToolContext) -> Preview:
        return TextPreview(text=str(resolve(input.file_path, context.cwd)))

    async def call(self, input: ReadInput, context: ToolContext) -> ToolResult:
        path = resolve(input.file_path, context.cwd)
        if notebooks.is_notebook(path):
            touch(context, path)
            return await notebooks.read(input, path, context)
        if input.cell_id is not None or input.outline:
            raise ToolError("cell_id and outline are for notebooks (.ipynb); leave them out.")
        data = load_bytes(path)
        touch(context, path)
        if media_type_of(data) is not None or path.suffix.lower() in _IMAGE_SUFFIXES:
            return _image(data, path, context)
        return _text(data, path, input, context)


def _image(data: bytes, path: Path, context: ToolContext) -> ToolResult:
    block = image_block(data)
    if isinstance(block, str):
        raise ToolError(f"{path}: {block}.")
    name = TextBlock(text=f"{short(path, context.cwd)}: {len(data):,} bytes.")
    return ToolResult((name, block), fact=f"{_size(len(data))} image")


def _text(data: bytes, path: Path, input: ReadInput, context: ToolContext) -> ToolResult:
    file = decode(data, path)
    context.read_state.remember(read_key(path), digest_of(data))
    if not file.text:
        return ToolResult.text(f"{path} is empty.", fact="empty")
    lines = to_lf(file.text).split("\n")
    if lines[-1] == "":
        lines.pop()
    first = input.offset or 1
    if first > len(lines):
        raise ToolError(f"{path} has {len(lines):,} lines; offset {first:,} is behind its end.")
    shown: list[str] = []
    size = 0
    for number, line in enumerate(lines[first - 1 :][: input.limit or MAX_LINES], start=first):
        cut = line
        if len(line) > MAX_LINE_CHARS:
            more = len(line) - MAX_LINE_CHARS
            cut = f"{line[:MAX_LINE_CHARS]} [{more:,} more characters in this line]"
        size += len(cut) + 8
        if shown and size > MAX_CHARS:
            break
        shown.append(f"{number:>6}\t{cut}")
    notes = [note for note in (file.note,) if note]
    last = first + len(shown) - 1
    if first > 1 or last < len(lines):
        note = f"Lines {first:,} to {last:,} of {len(lines):,}."
        if last < len(lines):
            note += f" Go on with offset {last + 1}."
        notes.append(note)
    if any(other in file.text for other in ("\r\n", "\r")):
        notes.append("The file has Windows or old Mac line ends; edits keep them.")
    text = "\n".join(shown)
    if notes:
        text += "\n\n[" + " ".join(notes) + "]"
    fact = f"{len(shown):,} line" + ("" if len(shown) == 1 else "s")
    if len(shown) < len(lines):
        fact += f" of {len(lines):,}"
    return ToolResult.text(text, fact=fact)


def _size(count: int) -> str:
    return f"{count / 1024:.0f} KB" if count < 1024 * 1024 else f"{count / 1024 / 1024:.1f} MB"
