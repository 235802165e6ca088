"""The README keeps its promises: every command in it is run, here or by CI itself."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent_kernel.model.scripted import ScriptedServer
from tests.support.kernels import kernel

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text("utf-8")
BLOCKS: list[tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
COMMANDS = [line for kind, block in BLOCKS if kind == "sh" for line in block.splitlines()]
CELLS = [block for kind, block in BLOCKS if kind == "python"]
MAGIC = [cell for cell in CELLS if cell.startswith("%")]
PYTHON = [cell for cell in CELLS if not cell.startswith("%")]


def run(command: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=cwd,
        env={**os.environ, "PATH": path, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )


def test_the_readme_has_only_blocks_that_are_run() -> None:
    assert {kind for kind, _ in BLOCKS} == {"sh", "python"}
    assert len(COMMANDS) >= 7
    assert len(MAGIC) >= 4


def test_the_two_commands_are_on_the_first_screen_and_ci_runs_them() -> None:
    first = "\n".join(TEXT.splitlines()[:25])
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    for command in ("make demo", "make test"):
        assert f"\n{command}\n" in first
        assert re.search(rf"^run \w+ {command}$", ci, re.MULTILINE)


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make ")])
def test_every_make_target_exists_and_can_be_planned(command: str) -> None:
    # demo and test are run by CI; the browser tests open JupyterLab as `make lab` does.
    planned = run(f"{command} --dry-run", ROOT)
    assert planned.returncode == 0, planned.stderr


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("export ")])
def test_every_variable_is_one_that_is_read(command: str, tmp_path: Path) -> None:
    from agent_kernel.settings.settings import load_settings

    name, _, value = shlex.split(command)[1].partition("=")
    before, after = load_settings(tmp_path, {}), load_settings(tmp_path, {name: value})
    assert before != after


@pytest.mark.kernel
@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("agent-kernel ")])
def test_every_command_of_ours_succeeds(command: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    # Not into the environment of the tests.
    command = command.replace("--sys-prefix", f"--prefix {shlex.quote(str(tmp_path))}")
    done = run(command, tmp_path, MPLBACKEND="module://matplotlib_inline.backend_inline")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("pip ")])
def test_what_pip_is_given_can_be_resolved_here(command: str) -> None:
    # The build itself is the matter of test_wheel; here only: the folder, the extra, its name.
    target = shlex.split(command)[-1]
    done = run(
        f"{shlex.quote(sys.executable)} -m pip install --dry-run --quiet --no-deps "
        f"--no-build-isolation {shlex.quote(target)}",
        ROOT,
        SKIP_JUPYTER_BUILDER="1",
    )
    assert done.returncode == 0, done.stderr
    assert "does not provide the extra" not in done.stderr + done.stdout


def test_no_command_is_left_out() -> None:
    known = ("make ", "export ", "agent-kernel ", "pip ")
    assert [c for c in COMMANDS if not c.startswith(known)] == []


@pytest.mark.kernel
async def test_every_cell_runs_in_a_kernel(tmp_path: Path) -> None:
    server = ScriptedServer()
    server.script([{"matches": "[\\s\\S]*", "reply": "An answer."}])
    try:
        async with kernel(tmp_path, python=sys.executable, env=server.environment) as notebook:
            for cell in MAGIC:
                reply = await notebook.run(notebook.add(cell.rstrip("\n")))
                assert reply["status"] == "ok", (cell, reply)
            assert await notebook.value("plan") == "An answer."
    finally:
        server.stop()


@pytest.mark.parametrize("source", PYTHON)
def test_every_script_runs(source: str, tmp_path: Path) -> None:
    server = ScriptedServer()
    server.script([{"matches": "[\\s\\S]*", "reply": "An answer."}])
    try:
        done = subprocess.run(
            [sys.executable, "-c", source],
            cwd=tmp_path,
            env={**os.environ, **server.environment},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    finally:
        server.stop()
    assert done.stdout == "An answer.\n"


def test_every_file_the_readme_names_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", TEXT)
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []
