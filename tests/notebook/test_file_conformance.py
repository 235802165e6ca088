"""The notebook on disk and the one in memory keep what every notebook promises."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import nbformat
import pytest

from agent_kernel.notebook.file import FileNotebook
from agent_kernel.protocols import Notebook
from agent_kernel.testing.notebook import FakeNotebook, NotebookConformance, cell


class TestFakeNotebook(NotebookConformance):
    def make_notebook(self, cells: Sequence[tuple[str, str]]) -> Notebook:
        return FakeNotebook([cell(cell_id, source) for cell_id, source in cells])


class TestFileNotebook(NotebookConformance):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_notebook(self, cells: Sequence[tuple[str, str]]) -> Notebook:
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(source, id=cell_id) for cell_id, source in cells]
        )
        path = self.folder / "some.ipynb"
        nbformat.write(notebook, path)
        return FileNotebook(path, root=self.folder)
