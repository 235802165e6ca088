"""Files are replaced whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


def write_atomic(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Write ``data`` beside ``path`` and rename it into place.

    A link is followed, so the file it names is replaced and the link stays. Without ``mode`` an
    existing file keeps its permission bits and a new one gets the process's default. Raises
    ``OSError``; the old file is then untouched.
    """
    target = Path(os.path.realpath(path))
    if mode is None:
        mode = _present_mode(target)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:60]}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _present_mode(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except OSError:
        # Reading the mask means setting it, which other threads would see; the parent's own
        # choice of who may read is a good stand-in.
        try:
            folder = stat.S_IMODE(target.parent.stat().st_mode)
        except OSError:
            folder = 0o755
        return 0o600 | (folder & 0o044)
