"""Large results in files beside the transcript."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agent_kernel.settings.home import write_private
from agent_kernel.store.folders import file_name


class FileBlobs:
    """The ``Blobs`` seam: files of mode 0600 in ``<session>/results``, made when needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "results"

    async def put(self, name: str, data: bytes) -> Path:
        """Keep the data; the same name replaces it. Raises ``OSError``."""
        path = self._folder / file_name(name)
        await asyncio.to_thread(write_private, path, data)
        return path
