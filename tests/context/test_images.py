"""Images: what their bytes say, scaled at intake, bounded in a request."""

from __future__ import annotations

import base64
import io

import pytest

from agent_kernel.context.image_limits import MAX_IMAGES
from agent_kernel.context.normalise import (
    normalise,
)
from agent_kernel.messages import (
    ImageBlock,
    Message,
    TextBlock,
    UserContent,
    UserMessage,
)

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0" + b"0" * 40).decode()


def user(*content: UserContent | str, meta: bool = False, uuid: str = "") -> Message:
    blocks = tuple(TextBlock(text=c) if isinstance(c, str) else c for c in content)
    return UserMessage(uuid=uuid, content=blocks, is_meta=meta)


def test_images_are_what_their_bytes_say() -> None:
    lied = ImageBlock(media_type="image/png", data=JPEG)
    svg = ImageBlock(media_type="image/png", data=base64.b64encode(b"<svg/>").decode())
    broken = ImageBlock(media_type="image/png", data="not base64!")
    (message,) = normalise([user(lied, svg, broken)])
    first, second, third = message.content
    assert isinstance(first, ImageBlock)
    assert first.media_type == "image/jpeg"
    assert isinstance(second, TextBlock)
    assert isinstance(third, TextBlock)


def test_the_oldest_images_beyond_the_limit_become_text() -> None:
    image = ImageBlock(media_type="image/png", data=PNG)
    (message,) = normalise([user(*[image] * (MAX_IMAGES + 1))])
    kinds = [block.type for block in message.content]
    assert kinds == ["text"] * 20 + ["image"] * (MAX_IMAGES - 19)


def test_images_that_are_too_much_together_lose_the_oldest() -> None:
    big = ImageBlock(media_type="image/png", data=PNG.rstrip("=") + "A" * 3_900_002)
    (message,) = normalise([user(*[big] * 7)])
    assert [block.type for block in message.content] == ["text"] * 2 + ["image"] * 5


@pytest.mark.parametrize("size", [(2400, 1200), (9000, 10), (1, 3000)])
def test_images_are_scaled_at_intake(size: tuple[int, int]) -> None:
    from PIL import Image

    from agent_kernel.context.images import intake_image

    out = io.BytesIO()
    Image.new("RGB", size, "red").save(out, "PNG")
    block = intake_image(out.getvalue())
    assert isinstance(block, ImageBlock)
    with Image.open(io.BytesIO(base64.b64decode(block.data))) as image:
        assert max(image.size) == 2000
        assert min(image.size) >= 1


def test_an_image_that_fits_keeps_its_bytes() -> None:
    from PIL import Image

    from agent_kernel.context.images import intake_image

    out = io.BytesIO()
    Image.new("RGB", (20, 10)).save(out, "JPEG")
    block = intake_image(out.getvalue())
    assert isinstance(block, ImageBlock)
    assert base64.b64decode(block.data) == out.getvalue()
    assert block.media_type == "image/jpeg"


@pytest.mark.parametrize("data", [b"", b"<svg/>", b"BM" + b"0" * 50, b"\x89PNG\r\n\x1a\nbroken"])
def test_bytes_that_are_no_image_become_a_line(data: bytes) -> None:
    from agent_kernel.context.images import intake_image

    assert isinstance(intake_image(data), TextBlock)
