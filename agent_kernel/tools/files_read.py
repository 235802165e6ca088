"""Files as they were read, said again after a compact (SPEC C2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from agent_kernel.errors import ToolError
from agent_kernel.messages import AttachmentMessage, TextBlock
from agent_kernel.tool_types import ToolContext
from agent_kernel.tools.text_files import decode, digest_of, load_bytes, to_lf

MOST_FILES = 5
EACH_CHARS = 17_500
ALL_CHARS = 87_500
"""About 5,000 tokens of a file, 25,000 in all."""


async def files_read(context: ToolContext) -> Sequence[AttachmentMessage]:
    """The files read last that are still what was read; the rest counts as unread from now on.

    Cells too: what the model no longer sees it must not edit unseen. A file that changed is left
    for the model to read, so that the rules judge that anew.
    """
    reads = context.read_state
    attachments: list[AttachmentMessage] = []
    left = ALL_CHARS
    for key in reads.recent():
        kind, _, name = key.partition(":")
        if kind not in ("file", "cell"):
            continue
        text = None
        if kind == "file" and len(attachments) < MOST_FILES and left > 0:
            text = await asyncio.to_thread(_unchanged, Path(name), reads.digest(key))
        if text is None:
            reads.forget(key)
            continue
        shown = text[: min(EACH_CHARS, left)]
        left -= len(shown)
        note = f"{name}, as you read it before the summary:\n\n{shown}"
        if len(shown) < len(text):
            reads.forget(key)
            note += f"\n\n[cut here: {len(text):,} characters in all; read what you need]"
        attachments.append(
            AttachmentMessage(uuid="", is_meta=True, kind="file", content=(TextBlock(text=note),))
        )
    return attachments


def _unchanged(path: Path, digest: str | None) -> str | None:
    """The text of a file that is still what was read; None if it is not, or is no text."""
    try:
        data = load_bytes(path)
        if digest_of(data) != digest:
            return None
        return to_lf(decode(data, path).text)
    except (ToolError, OSError):
        return None
