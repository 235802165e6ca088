"""The notebook as the person sees it: the ``Notebook`` seam over the open page (SPEC N1).

Unsaved changes included. The file is used only when no page can hold a newer version of it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from agent_kernel import wire
from agent_kernel.errors import (
    AmbiguousCell,
    CellChanged,
    CellNotFound,
    NotebookError,
    NotebookUnavailable,
    WireError,
    WireTimeout,
)
from agent_kernel.protocols import Notebook, NotebookState

R = TypeVar("R", bound=BaseModel)

READ_LIMIT = 15.0  # seconds; a page answers in 50 ms unless its computer sleeps
RUN_LIMIT = 7 * 24 * 3600.0  # a cell may take its time; a stop ends the wait


class OpenPage(Protocol):
    """One page that shows the notebook."""

    @property
    def path(self) -> str | None: ...

    async def request(
        self, method: str, params: BaseModel | None, *, timeout: float
    ) -> dict[str, JsonValue]: ...


class PageDirectory(Protocol):
    """Which page to talk to."""

    async def choose(self, cell_id: str | None) -> OpenPage | None:
        """The page that holds that cell, else the one that was focused last; None: no page."""
        ...

    def why_not_file(self) -> str | None:
        """Why the file may not be used though no page answers; None: it may."""
        ...


class CellRun(Protocol):
    """A cell that was asked to run. ``withdrawn`` gets a reason when it cannot be waited for."""

    @property
    def withdrawn(self) -> asyncio.Future[str]: ...


class KernelSide(Protocol):
    """What the notebook has to know of the kernel."""

    @property
    def running_cell_id(self) -> str | None: ...

    @property
    def session_id(self) -> str: ...

    @property
    def is_main_blocked(self) -> bool:
        """Whether a cell of ours blocks the main shell, so that others run on a subshell."""
        ...

    def notebook_file(self) -> Path | None: ...

    def asked(self, cell_id: str, *, main: bool) -> AbstractContextManager[CellRun]: ...

    async def wait_until_free(self) -> None:
        """Raises ``ToolError`` if the main thread stays busy with the person's own cell."""
        ...

    def interrupt_cell(self) -> None: ...


class LiveNotebook:
    """The page's document, else the file. ``from_file`` makes the file's ``Notebook``."""

    def __init__(
        self,
        pages: PageDirectory,
        kernel: KernelSide,
        *,
        from_file: Callable[[Path], Notebook],
    ) -> None:
        self._pages = pages
        self._kernel = kernel
        self._from_file = from_file
        self._files: dict[Path, Notebook] = {}

    async def read(
        self, cell_ids: Sequence[str] | None = None, *, outputs: bool = False
    ) -> NotebookState:
        page = await self._page()
        if page is None:
            state = await self._file().read(cell_ids, outputs=outputs)
            return state.model_copy(update={"running_cell_id": self._kernel.running_cell_id})
        params = wire.NotebookReadParams(
            outputs=outputs, cell_ids=None if cell_ids is None else tuple(cell_ids)
        )
        answer = await self._ask(page, "notebook.read", params, wire.NotebookReadResult)
        return NotebookState(
            path=self._full_path(answer.path),
            channel="page",
            cells=answer.cells,
            active_cell_id=answer.active_cell_id,
            running_cell_id=self._kernel.running_cell_id,
            dirty=answer.dirty,
            total_cells=answer.total_cells or len(answer.cells),
        )

    async def edit(
        self, edits: Sequence[wire.EditOp], *, run_id: str
    ) -> tuple[wire.EditedCell, ...]:
        page = await self._page()
        if page is None:
            return await self._file().edit(edits, run_id=run_id)
        params = wire.NotebookEditParams(
            run_id=run_id, edits=tuple(edits), session_id=self._kernel.session_id
        )
        # A cancelled call must not leave a half-known state: the page's answer is waited for.
        answer = await asyncio.shield(
            asyncio.ensure_future(self._ask(page, "notebook.edit", params, wire.NotebookEditResult))
        )
        _check_read_back(edits, answer.cells)
        return answer.cells

    async def run(
        self,
        cell_id: str,
        *,
        run_id: str,
        timeout: float | None = None,
        expect_hash: str | None = None,
    ) -> wire.NotebookRunResult:
        page = await self._page()
        if page is None:
            return await self._file().run(cell_id, run_id=run_id, timeout=timeout)
        blocked = self._kernel.is_main_blocked
        if not blocked:
            await self._kernel.wait_until_free()
        params = wire.NotebookRunParams(
            cell_id=cell_id, subshell=blocked, run_id=run_id, expect_hash=expect_hash
        )
        with self._kernel.asked(cell_id, main=not blocked) as asked:
            waiting = asyncio.ensure_future(
                self._ask(page, "notebook.run", params, wire.NotebookRunResult, timeout=RUN_LIMIT)
            )
            try:
                watched: set[asyncio.Future[Any]] = {waiting, asked.withdrawn}
                done, _ = await asyncio.wait(
                    watched,
                    timeout=timeout,
                    return_when=asyncio.FIRST_COMPLETED,
                )
            except asyncio.CancelledError:
                self._kernel.interrupt_cell()
                await asyncio.wait({waiting}, timeout=0.8)
                waiting.cancel()
                raise
            if waiting in done:
                return waiting.result()
            waiting.cancel()
            if asked.withdrawn in done:
                raise NotebookError(asked.withdrawn.result())
            raise NotebookError(
                f"Cell `{cell_id}` is still running after {timeout:g} s; its outputs will go on "
                "to appear in it. Read the cell later, or ask the person whether to stop it."
            )

    async def undo(self, run_id: str) -> tuple[wire.EditedCell, ...]:
        page = await self._page()
        if page is None:
            return await self._file().undo(run_id)
        params = wire.RunIdParams(run_id=run_id)
        answer = await self._ask(page, "notebook.undo", params, wire.NotebookEditResult)
        return answer.cells

    async def _page(self) -> OpenPage | None:
        return await self._pages.choose(self._kernel.running_cell_id)

    def _file(self) -> Notebook:
        reason = self._pages.why_not_file()
        if reason is not None:
            raise NotebookUnavailable(reason)
        path = self._kernel.notebook_file()
        if path is None:
            raise NotebookUnavailable(
                "No page shows this kernel's notebook, and its file is not known. "
                "Name a file with notebook_path, or ask the person to open the notebook.",
                maybe_open=False,
            )
        return self._files.setdefault(path, self._from_file(path))

    def _full_path(self, page_path: str) -> str:
        """Where the page's notebook lies on disk, so that page and file are the same notebook."""
        path = self._kernel.notebook_file()
        if path is not None and path.name == PurePosixPath(page_path).name:
            return str(path)
        return page_path

    async def _ask(
        self,
        page: OpenPage,
        method: str,
        params: BaseModel,
        result: type[R],
        *,
        timeout: float = READ_LIMIT,
    ) -> R:
        try:
            return result.model_validate(await page.request(method, params, timeout=timeout))
        except WireError as error:
            raise translated(error, method) from error
        except ValidationError as error:
            raise NotebookError(
                f"The page answered {method} with something that is not understood."
            ) from error


def translated(error: WireError, method: str) -> NotebookError:
    """The page's error answer as the error that tools know."""
    data = error.data if isinstance(error.data, dict) else {}
    text = str(error)
    if isinstance(error, WireTimeout):
        return NotebookUnavailable(
            f"{text} Whether it was done is not known: read the notebook before you try again."
            if method != "notebook.read"
            else f"{text} Ask the person to look at the notebook's page."
        )
    if error.code == wire.CELL_NOT_FOUND:
        return CellNotFound(text + _listed(data.get("cell_ids")))
    if error.code == wire.CELL_AMBIGUOUS:
        return AmbiguousCell(text)
    if error.code == wire.CELL_CHANGED:
        source = str(data.get("source", ""))
        return CellChanged(
            text,
            cell_id=str(data.get("cell_id", "")),
            source=source,
            hash=str(data.get("hash") or wire.source_hash(source)),
        )
    if error.code == wire.KERNEL_BUSY:
        return NotebookError(f"The kernel is busy: {text}")
    if error.code in (wire.NO_NOTEBOOK, wire.METHOD_NOT_FOUND):
        return NotebookUnavailable(text)
    return NotebookError(text)


def _listed(ids: object) -> str:
    if not isinstance(ids, list) or not ids:
        return ""
    shown = ", ".join(f"`{item}`" for item in ids[:40])
    return f" The ids are: {shown}" + (", …" if len(ids) > 40 else "") + "."


def _check_read_back(edits: Sequence[wire.EditOp], cells: Sequence[wire.EditedCell]) -> None:
    """What the page says it holds now has to be what was sent."""
    if len(cells) != len(edits):
        raise NotebookError("The page did not say what became of every edit; read the notebook.")
    last = {cell.id: position for position, cell in enumerate(cells)}
    for position, (edit, cell) in enumerate(zip(edits, cells, strict=True)):
        if last[cell.id] != position:
            continue  # a later edit of the batch changed the same cell again
        if edit.op == "delete":
            if cell.hash is not None:
                raise NotebookError(f"Cell `{cell.id}` is still there; read the notebook.")
        elif edit.source is not None and cell.hash != wire.source_hash(edit.source):
            raise NotebookError(
                f"Cell `{cell.id}` does not hold what was written; read the notebook."
            )


def server_root(session_name: str, page_path: str) -> Path | None:
    """The folder the server serves: ``JPY_SESSION_NAME`` minus the page's path for the notebook.

    None when the one does not end with the other, as after a rename.
    """
    relative = PurePosixPath(page_path.removeprefix("RTC:").lstrip("/"))
    full = Path(session_name)
    if not full.is_absolute() or not relative.parts:
        return None
    if full.parts[-len(relative.parts) :] != relative.parts:
        return None
    return Path(*full.parts[: -len(relative.parts)])


def notebook_file(session_name: str | None, page_path: str | None) -> Path | None:
    """The file of the kernel's notebook: as started, or renamed since under the same root."""
    if not session_name:
        return None
    full = Path(session_name)
    if not full.is_absolute():
        return None
    if page_path is None or server_root(session_name, page_path) is not None:
        return full
    relative = PurePosixPath(page_path.removeprefix("RTC:").lstrip("/"))
    for folder in full.parents:
        candidate = folder.joinpath(*relative.parts)
        if os.path.lexists(candidate):
            return candidate
    return full
