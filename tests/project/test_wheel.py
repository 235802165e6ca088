"""What the wheel holds, with and without the JavaScript."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

DATA = "jupyter_agent_kernel-{version}.data/data/share/jupyter"


def _names(root: Path, folder: Path, **environment: str) -> set[str]:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=root,
        env={**os.environ, **environment},
        capture_output=True,
        check=True,
    )
    (wheel,) = folder.glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture
def data() -> str:
    import agent_kernel

    return DATA.format(version=agent_kernel.__version__)


def test_a_python_only_wheel_has_kernelspec_and_scripts(
    root: Path, tmp_path: Path, data: str
) -> None:
    names = _names(root, tmp_path, SKIP_JUPYTER_BUILDER="1")
    assert f"{data}/kernels/agent_kernel/kernel.json" in names
    assert "agent_kernel/py.typed" in names
    tour = {"tour.ipynb", "flats.csv", ".claude/skills/column-report/SKILL.md"}
    assert {f"agent_kernel/notebooks/{name}" for name in tour} <= names
    assert not any("share/jupyter/labextensions" in name for name in names)


def test_a_whole_wheel_installs_the_extension(root: Path, tmp_path: Path, data: str) -> None:
    if not (root / "agent_kernel" / "labextension" / "package.json").is_file():
        pytest.skip("the extension is not built; `make extension` builds it")
    # The JavaScript is built already; npm is left out and everything else is as in a release.
    names = _names(root, tmp_path, HATCH_JUPYTER_BUILDER_SKIP_NPM="1")
    extension = f"{data}/labextensions/jupyter-agent-kernel"
    assert f"{extension}/package.json" in names
    assert f"{extension}/install.json" in names
    assert any(name.startswith(f"{extension}/static/remoteEntry.") for name in names)
    assert "agent_kernel/view/static/widget.js" in names
