"""The parts a session is wired from keep the promises of their seams."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_kernel.agents.reads import ReadMemory
from agent_kernel.errors import StoreError
from agent_kernel.hooks.null import NullHooks
from agent_kernel.permissions.desk import Desk
from agent_kernel.store.blobs import FileBlobs
from agent_kernel.system import RandomIds, SystemClock
from agent_kernel.testing import conformance
from agent_kernel.testing.approver import ScriptedApprover
from agent_kernel.testing.clock import CountingIds, FakeClock
from agent_kernel.testing.store import MemoryBlobs
from tests.support.session import Maker


async def test_clocks() -> None:
    await conformance.check_clock(SystemClock())
    await conformance.check_clock(FakeClock())


def test_ids() -> None:
    conformance.check_ids(RandomIds())
    conformance.check_ids(CountingIds())


def test_read_states() -> None:
    conformance.check_read_state(ReadMemory())


async def test_hooks() -> None:
    await conformance.check_hooks(NullHooks())


async def test_blobs(tmp_path: Path) -> None:
    await conformance.check_blobs(MemoryBlobs())
    await conformance.check_blobs(FileBlobs(tmp_path / "s"))
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]  # noqa: ASYNC240
    assert all(path.parent == tmp_path / "s" / "results" for path in kept)
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}


async def test_approvers_withdraw_a_question() -> None:
    await conformance.check_approver_withdraws(ScriptedApprover())
    await conformance.check_approver_withdraws(Desk(somebody=lambda: True))


@pytest.mark.parametrize("session_id", ["../../out", "/abs/out", "..", "a/../../out"])
async def test_a_session_id_is_never_a_way_out_of_the_folder(make: Maker, session_id: str) -> None:
    session = make(session_id=session_id)
    path = await session.parts.blobs(session.session_id).put("../../x.txt", b"data")
    assert path.resolve().parents[3] == session.settings.home.resolve() / "projects"
    with pytest.raises(StoreError):
        session.parts.store.load(session_id)
