"""What every test stands on: no key, no endpoint and no home of the person who runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from agent_kernel.model.scripted import ScriptedServer

ROOT = Path(__file__).resolve().parents[1]

# A slow machine is no failure, and a red build must be the same red for everybody.
settings.register_profile("project", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("project")

# Homes change from test to test; matplotlib's list of fonts, slow to make, need not.
os.environ.setdefault("MPLCONFIGDIR", str(ROOT / ".pytest_cache" / "matplotlib"))

FOREIGN = (
    "ANTHROPIC_", "CLAUDE_", "AGENT_KERNEL_HOME", "AGENT_KERNEL_SCRIPT", "AGENT_KERNEL_OFFLINE",
)  # fmt: skip


@pytest.fixture(scope="session")
def fonts() -> None:
    """Make matplotlib's list of fonts now: making it late, it says so on a kernel's stderr."""
    subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], check=True)


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder per test, and an environment without credentials (kernels inherit both)."""
    for name in list(os.environ):
        if name.startswith(FOREIGN):
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("AGENT_KERNEL_HOME", str(home / ".agent_kernel"))
    return home


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the project."""
    return ROOT


@pytest.fixture
def model_server() -> Iterator[ScriptedServer]:
    """A scripted model on a port of its own; ``model_server.client()`` is a real client for it."""
    server = ScriptedServer()
    yield server
    server.stop()


@pytest.fixture
def artifacts(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A git-ignored folder of this test for pictures and notebooks; kept after the run."""
    name = re.sub(r"[^\w.-]+", "-", request.node.name).strip("-")
    folder = ROOT / "artifacts" / Path(request.node.path).stem / name
    folder.mkdir(parents=True, exist_ok=True)
    yield folder
    if not any(folder.iterdir()):
        folder.rmdir()


@pytest.fixture(scope="session")
def ipykernel73() -> str:
    """The Python whose ipykernel is 7.3.0 (``make test`` makes it)."""
    python = os.environ.get("AGENT_KERNEL_IPYKERNEL73")
    if not python:
        default = ROOT / ".venv-ipykernel73" / "bin" / "python"
        if not default.exists():
            pytest.skip("no environment with ipykernel 7.3.0; `make test` creates one")
        python = str(default)
    return python
