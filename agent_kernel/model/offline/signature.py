"""Signatures of thinking: a block that comes back changed is refused, as the real API does."""

from __future__ import annotations

import hashlib

_PREFIX = "scripted-"


def sign(thinking: str) -> str:
    """The signature of a text."""
    return _PREFIX + hashlib.sha256(thinking.encode("utf-8", "replace")).hexdigest()[:24]


def is_forged(thinking: str, signature: str) -> bool:
    """Whether a signature of ours stands under another text. Others cannot be judged."""
    return signature.startswith(_PREFIX) and signature != sign(thinking)
