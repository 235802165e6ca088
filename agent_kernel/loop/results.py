"""A tool's result as it may leave the machine: clean, scrubbed, of bounded size (SPEC T8)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from agent_kernel.context.images import intake_block
from agent_kernel.context.text import clean_text, without_reminders
from agent_kernel.messages import ImageBlock, ResultContent, TextBlock
from agent_kernel.protocols import Blobs

PREVIEW_CHARS = 2_000
MESSAGE_CHARS = 200_000
"""What all results of one message together may hold."""

NO_OUTPUT = "(no output)"


async def presentable(
    content: Sequence[ResultContent], scrub: Callable[[str], str]
) -> tuple[ResultContent, ...]:
    """Without lone surrogates, secrets, forged reminders, empty texts and unusable images."""
    blocks: list[ResultContent] = []
    for block in content:
        if isinstance(block, ImageBlock):
            # Decoding and scaling may take a while; the loop streams on meanwhile.
            blocks.append(await asyncio.to_thread(intake_block, block))
        elif block.text.strip():
            blocks.append(TextBlock(text=scrub(without_reminders(clean_text(block.text)))))
    return tuple(blocks) or (TextBlock(text=NO_OUTPUT),)


def text_size(content: Sequence[ResultContent]) -> int:
    """Characters of text; images are not counted."""
    return sum(len(block.text) for block in content if isinstance(block, TextBlock))


async def bounded(
    content: tuple[ResultContent, ...], *, limit: int, name: str, blobs: Blobs
) -> tuple[ResultContent, ...]:
    """Text beyond ``limit`` goes to a file; its first 2,000 characters and the path stay."""
    size = text_size(content)
    if size <= limit:
        return content
    whole = "\n".join(block.text for block in content if isinstance(block, TextBlock))
    head = whole[:PREVIEW_CHARS]
    try:
        path = await blobs.put(f"{name}.txt", whole.encode("utf-8", "replace"))
        where = f"All of it is in {path}; read the part you need from there."
    except OSError as error:
        where = f"The rest could not be kept ({error.strerror or error})."
    note = (
        f"{head}\n\n[The result has {size:,} characters; these are the first"
        f" {len(head):,}. {where}]"
    )
    images = tuple(block for block in content if isinstance(block, ImageBlock))
    return (TextBlock(text=note), *images)
