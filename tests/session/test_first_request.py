"""What the model is given first: skills, notes, tools that fit the place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_kernel.errors import SkillError
from agent_kernel.events import (
    Notice,
    RunStarted,
    SkillStarted,
)
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.testing.notebook import FakeNamespace, FakeNotebook
from tests.support.session import Maker, run


def skill(root: Path, name: str, text: str) -> None:
    folder = root / ".claude" / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")


async def test_a_skill_is_run_by_name_with_its_text_as_the_prompt(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    skill(tmp_path, "greet", "---\ndescription: greets\n---\nGreet $ARGUMENTS warmly.")
    model_server.script([{"contains": "Greet Ada", "reply": "Hello Ada."}])
    session = make(tools=())
    events = await run(session, "", command=("greet", "Ada"))
    assert [event.type for event in events[:2]] == ["run_started", "skill_started"]
    first, second = events[:2]
    assert isinstance(first, RunStarted)
    assert first.prompt == "/greet Ada"
    assert isinstance(second, SkillStarted)
    sent = model_server.requests[0]["messages"][0]["content"]
    assert any(b["text"].startswith("<command-name>/greet</command-name>") for b in sent)


async def test_a_skill_that_is_not_there_or_not_for_people_is_refused_before_the_run(
    make: Maker, tmp_path: Path
) -> None:
    skill(tmp_path, "hidden", "---\ndescription: x\nuser-invocable: false\n---\nText.")
    session = make(tools=())
    for name in ("nope", "hidden"):
        with pytest.raises(SkillError, match=name):
            await run(session, "", command=(name, ""))
    assert session.running is None
    assert session.snapshot().runs == ()


async def test_skills_are_listed_to_the_model_once(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    skill(tmp_path, "greet", "---\ndescription: greets people\n---\nText.")
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    session = make(tools=())
    await run(session, "hi")
    await run(session, "hi")
    assert json.dumps(model_server.requests[-1]["messages"]).count("greets people") == 1


async def test_notes_of_the_project_and_the_date_come_first_and_do_not_change(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "CLAUDE.md").write_text("Always use pandas.", encoding="utf-8")
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    session = make(tools=())
    await run(session, "hi")
    (tmp_path / "CLAUDE.md").write_text("Changed meanwhile.", encoding="utf-8")
    await run(session, "hi")
    first, second = (body["messages"][0]["content"][0]["text"] for body in model_server.requests)
    assert first == second
    assert "# claudeMd" in first
    assert "Always use pandas." in first
    assert "# currentDate" in first


async def test_the_first_request_with_all_tools_is_small(
    make: Maker, model_server: ScriptedServer
) -> None:
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    session = make(notebook=FakeNotebook(()), namespace=FakeNamespace())
    await run(session, "hi")
    (body,) = model_server.requests
    names = {tool["name"] for tool in body["tools"]}
    assert {"Read", "Write", "Edit", "NotebookEdit", "Python", "RunCell", "Variables"} <= names
    assert len(json.dumps(body, ensure_ascii=False)) <= 40_000


async def test_tools_that_need_a_notebook_are_absent_without_one(
    make: Maker, model_server: ScriptedServer
) -> None:
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    await run(make(), "hi")
    (body,) = model_server.requests
    assert not {"RunCell", "Python", "Variables"} & {tool["name"] for tool in body["tools"]}
    assert "No notebook here" in json.dumps(body["system"])


async def test_what_settings_hold_that_cannot_be_used_is_told_once(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    folder = tmp_path / ".claude"
    folder.mkdir()
    rules = {"permissions": {"allow": ["Read(", 7], "deny": ["Write(x)"]}}
    (folder / "settings.json").write_text(json.dumps(rules), encoding="utf-8")
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    session = make(tools=())
    events = await run(session, "hi") + await run(session, "hi")
    told = [event.text for event in events if isinstance(event, Notice)]
    assert len(told) == 2
    assert all("permissions" in text or "Read(" in text for text in told)


async def test_a_skill_that_cannot_be_loaded_is_told_once(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / ".claude" / "skills" / "bad").mkdir(parents=True)
    (tmp_path / ".claude" / "skills" / "bad" / "SKILL.md").write_bytes(b"\xff\xfe\x00")
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    session = make(tools=())
    events = await run(session, "hi") + await run(session, "hi")
    assert [e.code for e in events if isinstance(e, Notice)] == ["skills"]


async def test_a_tool_that_a_rule_denies_as_a_whole_is_not_shown_to_the_model(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / ".claude").mkdir()
    rules = {"permissions": {"deny": ["Write", "Read(./secret/**)"]}}
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps(rules), encoding="utf-8")
    model_server.script([{"contains": "hi", "reply": "Hello."}])
    await run(make(), "hi")
    names = {tool["name"] for tool in model_server.requests[0]["tools"]}
    assert "Write" not in names
    assert "Read" in names
