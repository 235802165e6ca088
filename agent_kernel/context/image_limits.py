"""How many images one request may carry, and how large they may be together (CASES 68)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from agent_kernel.messages import (
    ImageBlock,
    ResultContent,
    TextBlock,
    ToolResultBlock,
    UserContent,
)
from agent_kernel.model_types import ApiMessage, ApiUserMessage

MAX_IMAGES = 100
"""Images one request may carry; the oldest beyond it become text, in steps of 20."""

MAX_IMAGE_CHARS = 20_000_000
"""Base64 of all images of one request; the API takes 32 MB in all."""


def image_sizes(messages: Iterable[ApiMessage]) -> list[int]:
    """Base64 characters of each image, in order."""
    return [size for m in messages if isinstance(m, ApiUserMessage) for size in _sizes(m.content)]


def limited(messages: tuple[ApiMessage, ...], sizes: Sequence[int]) -> tuple[ApiMessage, ...]:
    """The oldest images beyond the limits become a line of text."""
    drop = 0
    if len(sizes) > MAX_IMAGES:
        # In steps, so that not every further image changes the head of the request.
        drop = -(-(len(sizes) - MAX_IMAGES) // 20) * 20
    while sum(sizes[drop:]) > MAX_IMAGE_CHARS:
        drop += 1
    if not drop:
        return messages
    out: list[ApiMessage] = []
    for message in messages:
        if isinstance(message, ApiUserMessage) and drop:
            content, drop = _drop_images(message.content, drop)
            message = ApiUserMessage(content=content)  # noqa: PLW2901
        out.append(message)
    return tuple(out)


def _sizes(content: Iterable[UserContent]) -> Iterator[int]:
    for block in content:
        if isinstance(block, ImageBlock):
            yield len(block.data)
        elif isinstance(block, ToolResultBlock):
            yield from (len(inner.data) for inner in block.content if isinstance(inner, ImageBlock))


def _drop_images(
    content: tuple[UserContent, ...], drop: int
) -> tuple[tuple[UserContent, ...], int]:
    marker = TextBlock(text="[an earlier image, left out to keep the request small]")
    out: list[UserContent] = []
    for block in content:
        if isinstance(block, ImageBlock) and drop:
            out.append(marker)
            drop -= 1
        elif isinstance(block, ToolResultBlock):
            inner: list[ResultContent] = []
            for part in block.content:
                replace = isinstance(part, ImageBlock) and drop > 0
                inner.append(marker if replace else part)
                drop -= replace
            out.append(block.model_copy(update={"content": tuple(inner)}))
        else:
            out.append(block)
    return tuple(out), drop


_PLACE = re.compile(r"messages\.(\d+)\.content\.(\d+)(?:\.[a-z_]+)?(?:\.content\.(\d+))?")


def image_at(messages: Sequence[ApiMessage], complaint: str) -> ImageBlock | None:
    """The image an endpoint names in its complaint: ``messages.3.content.0.image: too large``."""
    match = _PLACE.search(complaint)
    if match is None:
        return None
    place, outer, inner = (None if part is None else int(part) for part in match.groups())
    try:
        block: object = messages[place or 0].content[outer or 0]
        if isinstance(block, ToolResultBlock):
            block = block.content[inner or 0]
    except IndexError:
        return None
    return block if isinstance(block, ImageBlock) else None
