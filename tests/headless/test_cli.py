"""``agent-kernel``: the demo, headless runs and their exit status, the kernelspec."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from agent_kernel.model.scripted import ScriptedServer

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.stop()


def cli(*arguments: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "agent_kernel", *arguments],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=110,
    )


def notebook(folder: Path, *sources: str) -> Path:
    made = new_notebook(cells=[new_code_cell(source) for source in sources])
    path = folder / "work.ipynb"
    nbformat.write(made, path)
    return path


def executed(path: Path) -> NotebookNode:
    made: NotebookNode = nbformat.read(path, as_version=4)
    nbformat.validate(made)
    return made


def call(tool: str, **input: Any) -> dict[str, Any]:
    return {"tool": tool, "input": input}


def test_the_demo_completes_and_its_notebook_holds_the_plot(root: Path, tmp_path: Path) -> None:
    before = (root / "notebooks" / "tour.ipynb").read_bytes()
    done = cli("demo", "--out", str(tmp_path / "tour.ipynb"), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 of 3 turns completed." in done.stdout
    assert "(not found)" not in done.stdout
    assert "Allowed once by the declared policy" in done.stdout
    cells = executed(tmp_path / "tour.ipynb").cells
    made = [cell for cell in cells if cell["metadata"].get("agent_kernel")]
    assert len(made) == 1
    assert made[0]["execution_count"]
    assert any("image/png" in output.get("data", {}) for output in made[0]["outputs"])
    assert not list(tmp_path.glob("**/*.jsonl")), "the demo keeps its state to itself"

    # The number in the explanation is the one the cell printed.
    printed = next(o["text"] for o in made[0]["outputs"] if o["output_type"] == "stream")
    number = printed.split("correlation ")[1].split()[0]
    turn = next(cell for cell in cells if cell["id"] == "plot")["outputs"][-1]
    assert f"**{number}**" in turn["data"]["text/markdown"]
    assert (root / "notebooks" / "tour.ipynb").read_bytes() == before


def test_the_tour_in_the_repository_has_no_outputs(root: Path) -> None:
    cells = executed(root / "notebooks" / "tour.ipynb").cells
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in code] == [([], None)] * len(code)


def test_what_no_rule_allows_is_denied_and_the_turn_goes_on(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.script(
        [
            {
                "contains": "add and run",
                "steps": [
                    [call("NotebookEdit", edit_mode="insert", new_source="print(6 * 7)")],
                    [call("RunCell", cell_id="{{result:-1:`([^`]+)`}}")],
                    "That is all.",
                ],
            }
        ]
    )
    path = notebook(tmp_path, "%%agent\nadd and run", "x = 1")
    out, log = tmp_path / "out.ipynb", tmp_path / "log.jsonl"
    done = cli(
        "run", str(path), "--allow", "NotebookEdit", "--out", str(out), "--log", str(log),
        cwd=tmp_path, **server.environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Denied by the declared policy" in done.stdout
    assert "--allow 'RunCell'" in str(server.requests[-1]["messages"][-1])
    sources = [cell["source"] for cell in executed(out).cells]
    assert sources == ["%%agent\nadd and run", "print(6 * 7)", "x = 1"]
    kinds = [json.loads(line)["type"] for line in log.read_text().splitlines()]
    assert (kinds[0], kinds[-1]) == ("run_started", "run_finished")
    assert "permission_resolved" in kinds


def test_a_failed_turn_ends_the_run_with_status_1_and_keeps_the_notebook(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.script([{"contains": "be refused", "steps": [{"fault": {"status": 401, "times": 99}}]}])
    path = notebook(tmp_path, "a = 1; a", "%%agent\nbe refused", "b = 2")
    done = cli("run", str(path), cwd=tmp_path, **server.environment)
    assert done.returncode == 1
    assert "Failed: Cell 2: the turn ended: model_error" in done.stdout
    cells = executed(tmp_path / "work.run.ipynb").cells
    assert [cell["execution_count"] for cell in cells] == [1, 2, None]


def test_the_limit_of_turns_holds(server: ScriptedServer, tmp_path: Path) -> None:
    looks = {"contains": "go on for ever", "repeat": True, "steps": [[call("Variables")]]}
    server.script([looks])
    path = notebook(tmp_path, "%%agent\ngo on for ever")
    done = cli("run", str(path), "--max-turns", "2", cwd=tmp_path, **server.environment)
    assert done.returncode == 1
    assert "max_turns" in done.stdout


def test_a_dead_kernel_and_a_cell_that_never_ends_have_an_end(tmp_path: Path) -> None:
    path = notebook(tmp_path, "import os; os._exit(3)")
    done = cli("run", str(path), cwd=tmp_path)
    assert (done.returncode, "the kernel died" in done.stdout) == (1, True)
    path = notebook(tmp_path, "while True: pass")
    done = cli("run", str(path), "--timeout", "1", cwd=tmp_path)
    assert (done.returncode, "was interrupted" in done.stdout) == (1, True)


def test_a_cell_that_asks_for_input_fails_instead_of_waiting(tmp_path: Path) -> None:
    done = cli("run", str(notebook(tmp_path, "input('name? ')")), cwd=tmp_path)
    assert done.returncode == 1
    assert "StdinNotImplementedError" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("run", "missing.ipynb"), "cannot be read"),
        (("run", "work.ipynb", "--allow", "Edit("), "bracket"),
        (("run", "work.ipynb", "--mode", "fast"), "invalid choice"),
        (("run", "work.ipynb", "--max-turns", "0"), "from 1 on"),
    ],
)
def test_what_cannot_begin_is_said_with_status_2(
    tmp_path: Path, arguments: tuple[str, ...], hint: str
) -> None:
    notebook(tmp_path, "1")
    done = cli(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


def test_install_writes_a_kernelspec_with_this_interpreter(tmp_path: Path) -> None:
    done = cli("install", "--prefix", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "share" / "jupyter" / "kernels" / "agent_kernel"
    spec = json.loads((folder / "kernel.json").read_text("utf-8"))
    assert spec["argv"][:3] == [sys.executable, "-m", "agent_kernel.jupyter"]
    assert spec["display_name"] == "Python 3 (Agent)"


def test_help_answers_without_the_slow_libraries() -> None:
    code = (
        "import sys\nfrom agent_kernel.__main__ import parser\nparser().format_help()\n"
        "print([n for n in ('pydantic', 'anthropic', 'nbformat') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
