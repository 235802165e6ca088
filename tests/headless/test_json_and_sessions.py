"""Headless runs for other programs: JSON lines, exit status, conversations that go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_kernel.model.scripted import ScriptedServer
from tests.headless.test_cli import cli, executed, notebook

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    server.script(
        [
            {"contains": "remember", "reply": "Kept\u2028in mind."},
            {"contains": "what was it", "reply": "Seven."},
            {"contains": "fail", "steps": [{"fault": {"status": 401, "times": 99}}]},
        ]
    )
    yield server
    server.stop()


def lines(text: str) -> list[dict[str, Any]]:
    """Every line is an object; split as careless readers do."""
    return [json.loads(line) for line in text.splitlines()]


def test_the_output_is_json_lines_and_the_outcome_is_last(
    server: ScriptedServer, tmp_path: Path
) -> None:
    path = notebook(tmp_path, "print('not in the output')", "%%agent\nremember seven")
    done = cli("run", str(path), "--json", cwd=tmp_path, **server.environment)
    assert done.returncode == 0, done.stdout + done.stderr
    told = lines(done.stdout)
    assert [line["type"] for line in told] == [
        "run_started", "message_started", "text_delta", "usage", "run_finished", "outcome",
    ]  # fmt: skip
    assert told[-2]["text"] == "Kept\u2028in mind."
    outcome = told[-1]
    assert outcome["ok"] is True
    assert (outcome["turns"], outcome["completed"], outcome["problems"]) == (1, 1, [])
    out = Path(outcome["notebook"])
    assert executed(out)["metadata"]["agent_kernel"]["session_id"] == outcome["session_id"]


def test_a_failure_is_in_the_outcome_and_in_the_status(
    server: ScriptedServer, tmp_path: Path
) -> None:
    path = notebook(tmp_path, "%%agent\nfail")
    done = cli("run", str(path), "--json", cwd=tmp_path, **server.environment)
    assert done.returncode == 1
    outcome = lines(done.stdout)[-1]
    assert (outcome["ok"], outcome["completed"]) == (False, 0)
    assert "model_error" in outcome["problems"][0]


def test_what_cannot_begin_is_an_outcome_too(tmp_path: Path) -> None:
    done = cli("run", "missing.ipynb", "--json", cwd=tmp_path)
    assert done.returncode == 2
    (outcome,) = lines(done.stdout)
    assert (outcome["type"], outcome["ok"]) == ("outcome", False)
    assert "cannot be read" in outcome["problems"][0]
    assert "cannot be read" in done.stderr


def test_a_run_goes_on_with_a_stored_conversation(server: ScriptedServer, tmp_path: Path) -> None:
    first = cli(
        "run", str(notebook(tmp_path, "%%agent\nremember seven")), "--json",
        cwd=tmp_path, **server.environment,
    )  # fmt: skip
    session_id = lines(first.stdout)[-1]["session_id"]
    listed = cli("sessions", "--json", cwd=tmp_path)
    (summary,) = lines(listed.stdout)
    assert (summary["session_id"], summary["title"]) == (session_id, "remember seven")
    assert session_id in cli("sessions", cwd=tmp_path).stdout
    path = notebook(tmp_path, "%%agent\nwhat was it")
    for flags in (["--continue"], [f"--resume={session_id[:8]}"]):
        done = cli("run", str(path), "--json", *flags, cwd=tmp_path, **server.environment)
        assert done.returncode == 0, done.stdout + done.stderr
        assert lines(done.stdout)[-1]["session_id"] == session_id
        assert "remember seven" in str(server.requests[-1]["messages"][0])
    # The executed notebook names its conversation, so it needs no id.
    (tmp_path / "work.run.ipynb").replace(path)
    done = cli("run", str(path), "--resume", cwd=tmp_path, **server.environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Going on with {session_id}" in done.stdout
    done = cli("run", str(path), "--resume", "s_nothing", cwd=tmp_path, **server.environment)
    assert done.returncode == 2
    assert "no session 's_nothing'" in done.stderr
