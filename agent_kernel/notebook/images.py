"""Pictures as the model takes them: checked by their bytes, joined, scaled down."""

from __future__ import annotations

import base64
import binascii
import io
import warnings
from collections.abc import Mapping

from pydantic import JsonValue

from agent_kernel.messages import ImageBlock, MediaType

MAX_SIDE = 2_000
"""Pixels. More than this is refused by the API when many images travel together."""
MAX_BYTES = 3_500_000
"""Of the decoded image: under 5 MB as base64, which is where the API stops."""
_MAX_PIXELS = 80_000_000

_SIGNATURES: tuple[tuple[bytes, MediaType], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def media_type_of(data: bytes) -> MediaType | None:
    """What the bytes are, whatever a name or a label says; None if the API takes no such image."""
    for signature, media_type in _SIGNATURES:
        if data.startswith(signature):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def from_output(value: JsonValue) -> bytes | None:
    """Bytes of an image as nbformat stores it: base64 with line ends, or a list of such lines."""
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode("".join(value.split()), validate=True) or None
    except (binascii.Error, ValueError):
        return None


def image_block(data: bytes) -> ImageBlock | str:
    """A block the API takes, or the reason why there is none.

    Other formats Pillow can read become PNG; large ones are scaled to ``MAX_SIDE``.
    """
    from PIL import Image

    media_type = media_type_of(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data)) as image:
                width, height = image.size
                if width * height > _MAX_PIXELS:
                    return f"image of {width} x {height} pixels is too large to show"
                fits = max(width, height) <= MAX_SIDE and len(data) <= MAX_BYTES
                if fits and media_type is not None:
                    image.verify()
                else:
                    media_type, data = _scaled(image)
    except Exception as error:  # noqa: BLE001 (decoders of foreign bytes raise all kinds)
        return f"image cannot be decoded ({type(error).__name__})"
    return ImageBlock(media_type=media_type, data=base64.b64encode(data).decode("ascii"))


def _scaled(image: object) -> tuple[MediaType, bytes]:
    from PIL import Image

    assert isinstance(image, Image.Image)  # noqa: S101 (for the type checker)
    # Palettes and rarer modes lose their colours when scaled as they are.
    has_alpha = "A" in image.getbands() or "transparency" in image.info
    picture = image.convert("RGBA" if has_alpha else "RGB")
    picture.thumbnail((MAX_SIDE, MAX_SIDE))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=False)
    if buffer.tell() <= MAX_BYTES:
        return "image/png", buffer.getvalue()
    buffer = io.BytesIO()
    picture.convert("RGB").save(buffer, "JPEG", quality=85)
    return "image/jpeg", buffer.getvalue()


def first_image(data: Mapping[str, JsonValue]) -> tuple[str, JsonValue] | None:
    """The raster image of a MIME bundle, best first."""
    for mime in ("image/png", "image/jpeg", "image/gif", "image/webp"):
        if mime in data:
            return mime, data[mime]
    return next(
        (
            (mime, value)
            for mime, value in data.items()
            if mime.startswith("image/") and not mime.startswith("image/svg")
        ),
        None,
    )
