"""After a reload in mid-run the cell's output came to nobody: the finished turn is put in it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from pydantic import JsonValue

from agent_kernel.errors import WireError
from agent_kernel.jupyter.pages import Page
from agent_kernel.view.mime import final_bundle
from agent_kernel.wire import NotebookOutputsParams, RunSnapshot

LIMIT = 15.0  # seconds for the page's answer


async def mend(
    pages: Sequence[Page],
    snapshot: RunSnapshot,
    cell_id: str,
    *,
    count: int | None,
    scrub: Callable[[str], str],
) -> None:
    """Show the turn in that cell of each page that was not there when the turn began."""
    bundle: dict[str, JsonValue] = final_bundle(snapshot, scrub=scrub)
    output: dict[str, JsonValue] = {
        "output_type": "display_data",
        "data": bundle,
        "metadata": {},
    }
    params = NotebookOutputsParams(cell_id=cell_id, outputs=(output,), execution_count=count)
    for page in pages:
        if page.has_notebook:
            with contextlib.suppress(WireError):  # another notebook of the same kernel
                await page.request("notebook.outputs", params, timeout=LIMIT)
