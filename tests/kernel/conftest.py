"""Kernels that several tests share: starting one takes seconds."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from agent_kernel.model.scripted import ScriptedServer
from tests.support.kernels import Notebook, kernel


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    """One scripted model for the kernels of a module; each test brings prompts of its own."""
    server = ScriptedServer()
    yield server
    server.stop()


@pytest.fixture(scope="module", params=["7.4", "7.3"])
def python(request: pytest.FixtureRequest) -> str:
    """The Python of a kernel: with the newest ipykernel, and with the one before."""
    if request.param == "7.4":
        return sys.executable
    return str(request.getfixturevalue("ipykernel73"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    python: str, server: ScriptedServer, tmp_path_factory: pytest.TempPathFactory, fonts: None
) -> AsyncIterator[Notebook]:
    folder = tmp_path_factory.mktemp("kernel")
    env = {**server.environment, "MPLCONFIGDIR": os.environ["MPLCONFIGDIR"]}
    async with kernel(folder, python=python, env=env) as notebook:
        yield notebook


@pytest.fixture
def notebook(shared: Notebook) -> Notebook:
    """The shared kernel with an empty notebook; nobody answers questions unless the test does."""
    shared.cells.clear()
    shared.decide = lambda _request: None
    shared.prompts.clear()
    shared.typed.clear()
    return shared
