"""Write: a whole file, new or replaced."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated

from pydantic import Field

from agent_kernel.errors import ToolError
from agent_kernel.tool_types import RuleTarget, ToolContext, ToolDisplay, ToolResult
from agent_kernel.tools import notebooks
from agent_kernel.tools.base import BaseTool, ToolInput
from agent_kernel.tools.text_files import (
    TextFile,
    digest_of,
    load,
    read_key,
    resolve,
    short,
    store,
    to_lf,
    to_newline,
)
from agent_kernel.vocabulary import DiffPreview, Preview


class WriteInput(ToolInput):
    file_path: Annotated[str, Field(description="Absolute, or relative to the working folder.")]
    content: Annotated[str, Field(description="The whole new content.")]


class Write(BaseTool[WriteInput]):
    name = "Write"
    aliases: tuple[str, ...] = ("FileWrite",)
    input_model = WriteInput
    search_hint = "create new file replace content"
    verb = "Write"
    description = (
        "Writes a whole file, and the folders above it. A file that exists must have been read "
        "before and keeps its encoding and line ends. For a change of some lines use Edit; for "
        "cells use NotebookEdit (the open notebook is never written here)."
    )

    async def rule_targets(self, input: WriteInput, context: ToolContext) -> tuple[RuleTarget, ...]:
        path = resolve(input.file_path, context.cwd)
        return (RuleTarget(kind="path", value=str(path), access="edit"),)

    def display(self, input: WriteInput, context: ToolContext) -> ToolDisplay:
        return ToolDisplay(
            verb="Write", subject=short(resolve(input.file_path, context.cwd), context.cwd)
        )

    async def preview(self, input: WriteInput, context: ToolContext) -> Preview:
        path = resolve(input.file_path, context.cwd)
        old: str | None = None
        if path.exists():
            try:
                old = to_lf(load(path).text)
            except ToolError as error:
                old = f"[{error}]"
        return DiffPreview(
            path=str(path), old=old, new=to_lf(input.content), language=path.suffix.lstrip(".")
        )

    async def validate_input(self, input: WriteInput, context: ToolContext) -> str | None:
        path = resolve(input.file_path, context.cwd)
        if refusal := await notebooks.refuse_if_open(path, context):
            return refusal
        if notebooks.is_notebook(path):
            if path.exists():
                return f"{path.name} exists. Change its cells with NotebookEdit."
            return notebooks.fault_of_new(input.content)
        if not path.exists():
            return None
        if path.is_dir():
            return f"{path} is a folder. Give the path of a file in it."
        return unread(path, context)

    async def call(self, input: WriteInput, context: ToolContext) -> ToolResult:
        path = resolve(input.file_path, context.cwd)
        # A person may have taken a while to allow it; what held then must hold now.
        if complaint := await self.validate_input(input, context):
            raise ToolError(complaint)
        old = load(path) if path.exists() else None
        file = old or TextFile("", "utf-8", b"", "\n", "")
        text = to_newline(input.content, file.newline) if old and old.text else input.content
        store(path, file.encode(text), context)
        name = short(path, context.cwd)
        if old is None:
            count = len(to_lf(input.content).splitlines())
            return ToolResult.text(f"Made {name} ({count:,} lines).", fact=lines_fact(count, 0))
        added, gone = changed_lines(to_lf(old.text), to_lf(text))
        return ToolResult.text(
            f"Replaced {name}: {lines_fact(added, gone)}.", fact=lines_fact(added, gone)
        )


def unread(path: Path, context: ToolContext) -> str | None:
    """Why a file may not be changed yet: never read, or changed since; else None."""
    known = context.read_state.digest(read_key(path))
    name = short(path, context.cwd)
    if known is None:
        return f"Read {name} first, so that what it holds is known; then change it."
    if known != digest_of(path.read_bytes()):
        return f"{name} has changed since it was read. Read it again, then make the change anew."
    return None


def changed_lines(old: str, new: str) -> tuple[int, int]:
    """Lines added and lines gone."""
    before, after = old.split("\n"), new.split("\n")
    if len(before) + len(after) > 20_000:
        return max(0, len(after) - len(before)), max(0, len(before) - len(after))
    added = gone = 0
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=True)
    for kind, a1, a2, b1, b2 in matcher.get_opcodes():
        if kind != "equal":
            gone += a2 - a1
            added += b2 - b1
    return added, gone


def lines_fact(added: int, gone: int) -> str:
    if added and gone:
        return f"+{added:,} −{gone:,} lines"
    if gone:
        return f"−{gone:,} line" + "s" * (gone != 1)
    if added:
        return f"+{added:,} line" + "s" * (added != 1)
    return "no change"
