"""The JavaScript side: its own tests, and what the build leaves for Python."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest


def test_the_typescript_tests_pass(root: Path) -> None:
    labextension = root / "labextension"
    if not (labextension / "node_modules").is_dir() or shutil.which("node") is None:
        pytest.skip("node modules are not installed; `make test` installs them")
    result = subprocess.run(
        ["node", "scripts/test.mjs"],
        cwd=labextension,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]


def test_the_built_extension_is_complete(root: Path) -> None:
    built = root / "agent_kernel" / "labextension"
    if not built.is_dir():
        pytest.skip("the extension is not built; `make extension` builds it")
    package = json.loads((built / "package.json").read_text("utf-8"))
    assert package["name"] == "jupyter-agent-kernel"
    assert (built / package["jupyterlab"]["_build"]["load"]).is_file()
    for schema in (root / "labextension" / "schema").glob("*.json"):
        assert (built / "schemas" / "jupyter-agent-kernel" / schema.name).is_file()


def test_the_widget_is_one_module_without_imports(root: Path) -> None:
    """anywidget loads a single file: whatever is not inlined would be looked up on a network."""
    widget = root / "agent_kernel" / "view" / "static" / "widget.js"
    if not widget.is_file():
        pytest.skip("the widget is not built; `make extension` builds it")
    text = widget.read_text("utf-8")
    assert "export" in text
    assert not any(line.startswith("import ") for line in text.splitlines())
