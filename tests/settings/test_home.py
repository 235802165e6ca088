"""The folder where state is kept, and private files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agent_kernel.settings.home import home_folder, private_folder, write_private


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_home_is_where_the_environment_says_else_in_the_users_data(tmp_path: Path) -> None:
    assert home_folder({"AGENT_KERNEL_HOME": str(tmp_path / "x")}) == tmp_path / "x"
    assert home_folder({}).name == "agent_kernel"
    assert not home_folder({"AGENT_KERNEL_HOME": str(tmp_path / "x")}).exists()


def test_folders_and_files_are_for_their_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_private(tmp_path / "a" / "b" / "key", "secret")
    finally:
        os.umask(before)
    assert (tmp_path / "a" / "b" / "key").read_text(encoding="utf-8") == "secret"
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700
    assert mode(tmp_path / "a" / "b" / "key") == 0o600


def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    private_folder(shared / "mine")
    assert mode(shared) == 0o755


def test_a_file_that_is_replaced_becomes_private_and_leaves_nothing_beside_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "key"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o644)
    write_private(path, b"new")
    assert path.read_bytes() == b"new"
    assert mode(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.mkdir()
    (path / "inside").touch()
    with pytest.raises(OSError, match="key"):
        write_private(path, "new")
    assert list(tmp_path.iterdir()) == [path]
