"""Sessions that close themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_kernel.model.scripted import ScriptedServer
from tests.support.session import Maker


@pytest.fixture
async def make(model_server: ScriptedServer, tmp_path: Path) -> AsyncIterator[Maker]:
    """``make(**parts)`` is a session in ``tmp_path`` that talks to ``model_server``."""
    maker = Maker(model_server, tmp_path)
    yield maker
    for session in maker.made:
        await session.close()
