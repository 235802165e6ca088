"""The folder where state is kept, and how files are put there: private and all at once."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

HOME_VARIABLE = "AGENT_KERNEL_HOME"


def home_folder(environ: Mapping[str, str]) -> Path:
    """``AGENT_KERNEL_HOME``, else the user's data folder of this system. Makes nothing."""
    if named := environ.get(HOME_VARIABLE):
        return Path(named).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("agent_kernel", appauthor=False)


def private_folder(path: Path) -> Path:
    """Make the folder, and those above it that are missing, readable by nobody else.

    A folder that was there before keeps its mode. Raises ``OSError``.
    """
    missing = []
    current = path
    while not current.exists():
        missing.append(current)
        current = current.parent
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
    return path


def write_private(path: Path, data: bytes | str) -> None:
    """Write a file of mode 0600 whole or not at all. Raises ``OSError``."""
    private_folder(path.parent)
    content = data.encode() if isinstance(data, str) else data
    # mkstemp makes the file 0600 from the start, so it is never readable in between.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
