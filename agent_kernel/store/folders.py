"""Where the sessions of a folder are kept."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

LONGEST = 200


def slug(cwd: Path) -> str:
    """A folder's name for its path: characters other than letters and digits become ``-``."""
    text = str(cwd)
    name = re.sub(r"[^A-Za-z0-9]", "-", text)
    if len(name) <= LONGEST and text.isascii():
        return name
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"{name[:LONGEST]}-{digest}"


def file_name(text: str) -> str:
    """The text as the name of one file or folder, wherever it comes from."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", text).lstrip(".")[:120] or "unnamed"


def session_folder(home: Path, cwd: Path) -> Path:
    """``<home>/projects/<slug>``: one ``<session>.jsonl`` per session and its side files."""
    return home / "projects" / slug(cwd)
