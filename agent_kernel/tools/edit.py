"""Edit: one exact piece of a text file becomes another; every other byte stays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import Field

from agent_kernel.errors import ToolError
from agent_kernel.tool_types import RuleTarget, ToolContext, ToolDisplay, ToolResult
from agent_kernel.tools import notebooks
from agent_kernel.tools.base import BaseTool, ToolInput
from agent_kernel.tools.text_files import TextFile, load, resolve, short, store, to_lf, to_newline
from agent_kernel.tools.write import changed_lines, lines_fact, unread
from agent_kernel.vocabulary import DiffPreview, Preview

_LINE_END = r"(?:\r\n|\n|\r)"


class EditInput(ToolInput):
    file_path: Annotated[str, Field(description="Absolute, or relative to the working folder.")]
    old_string: Annotated[str, Field(description="The exact text to replace.")]
    new_string: Annotated[str, Field(description="What stands there afterwards.")]
    replace_all: Annotated[bool, Field(description="Replace every place it stands.")] = False


class Edit(BaseTool[EditInput]):
    name = "Edit"
    aliases: tuple[str, ...] = ("FileEdit",)
    input_model = EditInput
    search_hint = "change replace text in file"
    verb = "Edit"
    description = (
        "Replaces one exact piece of a file that was read before.\n"
        "- old_string is copied from the file, with its indentation and without line numbers, and "
        "must stand there exactly once: add lines around it, or set replace_all.\n"
        "- Encoding and line ends stay as they are.\n"
        "- Notebooks are changed with NotebookEdit."
    )

    async def rule_targets(self, input: EditInput, context: ToolContext) -> tuple[RuleTarget, ...]:
        path = resolve(input.file_path, context.cwd)
        return (RuleTarget(kind="path", value=str(path), access="edit"),)

    def display(self, input: EditInput, context: ToolContext) -> ToolDisplay:
        return ToolDisplay(
            verb="Edit", subject=short(resolve(input.file_path, context.cwd), context.cwd)
        )

    async def preview(self, input: EditInput, context: ToolContext) -> Preview:
        path = resolve(input.file_path, context.cwd)
        file = load(path)
        new = _replaced(file, input, path)
        return DiffPreview(
            path=str(path), old=to_lf(file.text), new=to_lf(new), language=path.suffix.lstrip(".")
        )

    async def validate_input(self, input: EditInput, context: ToolContext) -> str | None:
        path = resolve(input.file_path, context.cwd)
        if refusal := await notebooks.refuse_if_open(path, context):
            return refusal
        if notebooks.is_notebook(path):
            return f"{path.name} is a notebook. Change its cells with NotebookEdit."
        if not path.is_file():
            return f"There is no file {path}. To make it use Write."
        if input.old_string == input.new_string:
            return "old_string and new_string are the same, so nothing would change."
        if refusal := unread(path, context):
            return refusal
        try:
            _replaced(load(path), input, path)
        except ToolError as error:
            return str(error)
        return None

    async def call(self, input: EditInput, context: ToolContext) -> ToolResult:
        path = resolve(input.file_path, context.cwd)
        # A person may have taken a while to allow it; what held then must hold now.
        if complaint := await self.validate_input(input, context):
            raise ToolError(complaint)
        file = load(path)
        new = _replaced(file, input, path)
        store(path, file.encode(new), context)
        before, after = to_lf(file.text), to_lf(new)
        fact = lines_fact(*changed_lines(before, after))
        around = _around(before, after)
        return ToolResult.text(
            f"Changed {short(path, context.cwd)} ({fact}). It now reads there:\n{around}",
            fact=fact,
            preview=DiffPreview(
                path=str(path), old=before, new=after, language=path.suffix.lstrip(".")
            ),
        )


def _replaced(file: TextFile, input: EditInput, path: Path) -> str:
    """The new text of the file. Raises ``ToolError`` if the piece is not there exactly once."""
    old = to_lf(input.old_string)
    if not old:
        raise ToolError("old_string is empty. To fill or make a file use Write.")
    pattern = re.compile(_LINE_END.join(re.escape(line) for line in old.split("\n")))
    places = list(pattern.finditer(file.text))
    if not places:
        raise ToolError(_not_found(old, file, path))
    if len(places) > 1 and not input.replace_all:
        lines = [to_lf(file.text[: place.start()]).count("\n") + 1 for place in places]
        shown = ", ".join(f"{line:,}" for line in lines[:10])
        raise ToolError(
            f"old_string stands in {path.name} {len(places)} times (lines {shown}). "
            "Add lines around it until it is unique, or set replace_all."
        )
    new = to_newline(input.new_string, file.newline)
    return pattern.sub(lambda _: new, file.text)


def _not_found(old: str, file: TextFile, path: Path) -> str:
    text = to_lf(file.text)
    if re.match(r" *\d+\t", old):
        return "old_string begins with a line number. Leave out the numbers and the tab Read shows."
    squeezed = re.compile(r"\s+".join(re.escape(word) for word in old.split()) or r"(?!)")
    if near := squeezed.search(text):
        line = text[: near.start()].count("\n") + 1
        return (
            f"old_string is not in {path.name}, but line {line:,} differs from it only in spaces, "
            f"tabs or line ends. It reads:\n{near.group(0)}"
        )
    first = next((line.strip() for line in old.split("\n") if line.strip()), "")
    lines = [str(n) for n, line in enumerate(text.split("\n"), 1) if first and first in line]
    if lines:
        return (
            f"old_string is not in {path.name}, though its first line is (line "
            f"{', '.join(lines[:5])}). Read there and copy the text exactly."
        )
    return f"old_string is not in {path.name}. Read it and copy the text exactly."


def _around(before: str, after: str, margin: int = 3) -> str:
    """The changed lines with some around them, numbered, at most 40."""
    old, new = before.split("\n"), after.split("\n")
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    first = max(0, start - margin)
    last = min(len(new), len(new) - end + margin)
    lines = [f"{n:>6}\t{new[n - 1][:500]}" for n in range(first + 1, last + 1)]
    if len(lines) > 40:
        lines = [*lines[:20], f"   [{len(lines) - 40} lines]", *lines[-20:]]
    return "\n".join(lines)
