"""Request after request of one conversation, what was sent before is sent again, byte for byte."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.prompt.build import PromptChoice
from agent_kernel.system import RandomIds
from tests.support.session import Maker, run


def unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: unmarked(item) for key, item in value.items() if key != "cache_control"}
    return [unmarked(item) for item in value] if isinstance(value, list) else value


def marks(body: dict[str, Any]) -> int:
    return json.dumps(body).count('"cache_control"')


def assert_grows(before: dict[str, Any], after: dict[str, Any]) -> None:
    before, after = unmarked(before), unmarked(after)
    head = {key: value for key, value in before.items() if key != "messages"}
    assert json.dumps(head) == json.dumps({k: v for k, v in after.items() if k != "messages"})
    old, new = before["messages"], after["messages"]
    assert len(new) >= len(old)
    assert json.dumps(new[: len(old) - 1]) == json.dumps(old[:-1])
    # The newest message may have grown at its end only: results and prompts are merged into it.
    last = old[-1]["content"]
    assert json.dumps(new[len(old) - 1]["content"][: len(last)]) == json.dumps(last)


SCRIPT = [
    {
        "contains": "look around",
        "steps": [
            [
                {"thinking": "Hm."},
                {"text": "I look."},
                {"tool": "Read", "input": {"file_path": "a.txt"}},
            ],
            [
                {"tool": "Read", "input": {"file_path": "missing.txt"}},
                {"tool": "Nothing", "input": {}},
            ],
            "Seen.",
        ],
    },
    {"contains": "typed", "steps": ["no", "7"]},
    {"contains": "again", "reply": "Again."},
    {"contains": "stop here", "steps": [{"fault": {"status": 529, "times": 2}}, "Never mind."]},
]  # fmt: skip


async def test_each_request_repeats_the_one_before_and_has_at_most_four_marks(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    (tmp_path / "CLAUDE.md").write_text("Use tabs.")
    model_server.script(SCRIPT)
    session = make(prompt=PromptChoice(append="Be kind."))
    await run(session, "look around")
    (tmp_path / "CLAUDE.md").write_text("Use spaces.")  # read once per conversation
    (tmp_path / "b.txt").write_text("new file, and git would show it")
    await run(session, "again")
    await run(session, "typed", schema=int)
    await run(session, "stop here")
    session.set_mode("plan")
    await run(session, "again")
    bodies = model_server.requests
    assert len(bodies) >= 8
    for before, after in pairwise(bodies):
        assert_grows(before, after)
    assert max(marks(body) for body in bodies) <= 4
    assert bodies[0]["system"][-1]["text"].endswith("Be kind.")
    assert "Use tabs." in json.dumps(bodies[-1]["messages"][0])


async def test_a_resumed_conversation_sends_what_was_sent_before(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    model_server.script(SCRIPT)
    one = make(ids=RandomIds())
    await run(one, "look around")
    await one.close()
    two = make(ids=RandomIds())
    two.resume(one.session_id)
    await run(two, "again")
    before, after = (unmarked(body)["messages"] for body in model_server.requests[-2:])
    assert after[: len(before) - 1] == before[:-1]


async def test_another_conversation_reads_the_notes_anew(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    model_server.script(SCRIPT)
    (tmp_path / "CLAUDE.md").write_text("Use tabs.")
    session = make()
    await run(session, "again")
    (tmp_path / "CLAUDE.md").write_text("Use spaces.")
    session.new()
    await run(session, "again")
    assert "Use spaces." in json.dumps(model_server.requests[-1]["messages"][0])
