"""Images that the API takes: known by their bytes, small enough, else a line of text."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io

from agent_kernel.messages import ImageBlock, MediaType, TextBlock

LONG_SIDE = 2000
"""Pixels of the long side beyond which an image is scaled down at intake."""

MAX_BYTES = 3_700_000
"""Of an image file; its base64 form stays under the 5 MB the API takes."""

_MAGIC: tuple[tuple[bytes, MediaType], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def sniff(data: bytes) -> MediaType | None:
    """The media type by the first bytes; None if the API would not take it (CASES 70)."""
    for magic, media_type in _MAGIC:
        if data.startswith(magic):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def image_digest(block: ImageBlock) -> str:
    """Names an image by its content."""
    return hashlib.sha256(block.data.encode("ascii", "replace")).hexdigest()[:16]


def intake_image(data: bytes) -> ImageBlock | TextBlock:
    """Image bytes from anywhere as a block: scaled to what the API takes (CASES 68).

    Bytes that are no image the API takes become a line that says so. Loads Pillow only for an
    image, and works without it for those that need no scaling.
    """
    media_type = sniff(data)
    if media_type is None:
        return TextBlock(text=f"[{len(data):,} bytes that are no PNG, JPEG, GIF or WebP image]")
    try:
        scaled, media_type = _fit(data, media_type)
    except Exception as error:  # noqa: BLE001 - a decoder may raise anything on hostile bytes
        return TextBlock(text=f"[an image that cannot be read: {type(error).__name__}]")
    return ImageBlock(media_type=media_type, data=base64.b64encode(scaled).decode("ascii"))


def _fit(data: bytes, media_type: MediaType) -> tuple[bytes, MediaType]:
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        width, height = image.size
        if max(width, height) <= LONG_SIDE and len(data) <= MAX_BYTES:
            return data, media_type
        scale = min(1.0, LONG_SIDE / max(width, height))
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        picture = image.convert("RGBA" if "A" in image.getbands() else "RGB").resize(size)
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    if out.tell() <= MAX_BYTES:
        return out.getvalue(), "image/png"
    # Photographs do not shrink as PNG.
    out = io.BytesIO()
    picture.convert("RGB").save(out, "JPEG", quality=80)
    return out.getvalue(), "image/jpeg"


def intake_block(block: ImageBlock) -> ImageBlock | TextBlock:
    """The same for a block that a tool made, whatever type it declares."""
    data = _decode(block.data)
    if data is None:
        return TextBlock(text="[an image whose data is not base64]")
    return intake_image(data)


def checked_image(block: ImageBlock) -> ImageBlock | TextBlock:
    """A stored block with the type its bytes have.

    Asked for every image of every request, so it looks at the head only: intake has decoded all.
    """
    data = block.data
    plain = len(data) % 4 == 0 and data.isascii() and not any(c in data for c in " \r\n\t%")
    head = _decode(data[:64]) if plain else None
    media_type = sniff(head) if head is not None else None
    if media_type is None:
        return TextBlock(text="[an image that is no PNG, JPEG, GIF or WebP]")
    if media_type == block.media_type:
        return block
    return block.model_copy(update={"media_type": media_type})


def _decode(data: str) -> bytes | None:
    joined = "".join(data.split())
    try:
        return base64.b64decode(joined + "=" * (-len(joined) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
