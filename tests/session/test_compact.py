"""A session makes room: by hand and by itself, with files and skills said again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_kernel.compacting import NOTHING
from agent_kernel.events import Compacted, RunFinished, RunStarted
from agent_kernel.jupyter.context_commands import report_text
from agent_kernel.model.offline import Fault
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.session import AgentSession
from agent_kernel.testing.store import MemoryStore
from agent_kernel.vocabulary import RunEnd
from tests.support.loop import told
from tests.support.session import Maker, run

SUMMARY = {"contains": "no longer fits and will", "reply": "<summary>Two rows.</summary>"}


async def compact(session: AgentSession, focus: str = "") -> list[Any]:
    return [event async for event in session.compact(focus)]


def words(body: dict[str, Any]) -> str:
    return "\n".join(
        block.get("text", "") for message in body["messages"] for block in message["content"]
    )


async def test_a_conversation_is_summarised_by_hand_and_goes_on(
    make: Maker, model_server: ScriptedServer
) -> None:
    model_server.script([SUMMARY, {"contains": "how many", "reply": "Two."}])
    store = MemoryStore()
    session = make(store=store)
    await run(session, "how many rows")
    events = await compact(session, "the row count")
    assert told(events) == [
        "run_started",
        "agent_started",
        "usage",
        "agent_finished completed",
        "compacted",
        "run_finished completed",
    ]
    assert isinstance(events[0], RunStarted)
    assert events[0].prompt == "/compact the row count"
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.text.startswith("Summarised: ")
    assert last.usage.total_input > 0
    await run(session, "how many columns, and how many rows")
    body = model_server.requests[-1]
    assert "Two rows." in words(body)
    assert "how many columns" in words(body)
    assert "assistant" not in [message["role"] for message in body["messages"]]
    again = make(store=store, session_id=session.session_id)
    await run(again, "how many, again")
    assert "Two rows." in words(model_server.requests[-1])


async def test_with_nothing_to_summarise_nothing_is_asked(
    make: Maker, model_server: ScriptedServer
) -> None:
    session = make()
    last = (await compact(session))[-1]
    assert (last.end, last.text) == (RunEnd.COMPLETED, NOTHING)
    assert model_server.requests == []


async def test_a_summary_that_fails_says_why_and_leaves_the_conversation(
    make: Maker, model_server: ScriptedServer
) -> None:
    model_server.script([{"contains": "how many", "reply": "Two."}])
    session = make()
    await run(session, "how many rows")
    model_server.fail_next(Fault(status=401, message="invalid x-api-key"))
    last = (await compact(session))[-1]
    assert last.end is RunEnd.MODEL_ERROR
    assert "could not be summarised" in last.detail
    await run(session, "how many columns")
    assert "how many rows" in words(model_server.requests[-1])


async def test_a_summary_can_be_stopped(make: Maker, model_server: ScriptedServer) -> None:
    step = {"wait_for": "held", "blocks": [{"text": "<summary>Late.</summary>"}]}
    slow = {"contains": "no longer fits and will", "steps": [step]}
    model_server.script([slow, {"contains": "how many", "reply": "Two."}])
    session = make()
    await run(session, "how many rows")
    task = asyncio.ensure_future(compact(session))
    await asyncio.to_thread(model_server.reached, "held")
    assert await session.stop()
    model_server.release("held")
    last = (await task)[-1]
    assert last.end is RunEnd.ABORTED_STREAMING
    await run(session, "how many columns")
    assert "how many rows" in words(model_server.requests[-1])
    assert "Late." not in words(model_server.requests[-1])


async def test_files_and_skills_come_again_after_a_summary(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "kept.txt").write_text("the kept text\n")
    (tmp_path / "changed.txt").write_text("as it was\n")
    skill = tmp_path / ".claude" / "skills" / "count" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndescription: counts\n---\nCount with care.\n")
    reads = [
        {"tool": "Read", "id": f"r-{name}", "input": {"file_path": str(tmp_path / name)}}
        for name in ("kept.txt", "changed.txt")
    ]
    edit = {
        "tool": "Edit",
        "id": "e1",
        "input": {
            "file_path": str(tmp_path / "changed.txt"), "old_string": "now", "new_string": "then",
        },
    }  # fmt: skip
    model_server.script(
        [
            SUMMARY,
            {"contains": "Count with care", "reply": "Counted."},
            {"contains": "look", "steps": [reads, [{"text": "Seen."}]]},
            {"contains": "edit", "steps": [[edit], [{"text": "Done."}]]},
        ]
    )
    session = make(mode="acceptEdits")
    await run(session, "", command=("count", ""))
    await run(session, "look")
    listed = "Skills you can call"
    assert listed not in str(model_server.requests[-1]["messages"][-1])
    (tmp_path / "changed.txt").write_text("now different\n")
    await compact(session)
    events = await run(session, "edit")
    body = words(next(b for b in model_server.requests[::-1] if "edit" in words(b)))
    assert "the kept text" in body
    assert "now different" not in body
    assert "Count with care." in body
    assert listed in body
    # What is not seen any more has to be read before it is changed.
    assert "tool_finished e1 error" in told(events)


async def test_it_happens_by_itself_in_the_middle_of_a_run(
    make: Maker, model_server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    read = {"tool": "Read", "id": "r1", "input": {"file_path": str(tmp_path / "a.txt")}}
    full = {"input_tokens": 170_000, "output_tokens": 5}
    model_server.script(
        [SUMMARY, {"contains": "go", "steps": [{"blocks": [read], "usage": full}, [{"text": "x"}]]}]
    )
    settings = model_server.settings(tmp_path, context_window=200_000)
    session = make(settings=settings)
    events = await run(session, "go")
    assert any(isinstance(event, Compacted) for event in events)
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.end is RunEnd.COMPLETED
    assert last.usage.total_input > 170_000


async def test_the_report_says_what_fills_the_window(
    make: Maker, model_server: ScriptedServer
) -> None:
    model_server.script([{"contains": "how many", "reply": "Two."}])
    session = make()
    await run(session, "how many rows")
    report = await session.context_report()
    names = dict(report.parts)
    assert names["Your prompts"] > 0
    assert names["Replies"] > 0
    assert names["Tools"] > names["Your prompts"]
    assert report.total > 0
    text = report_text(report)
    assert text.splitlines()[0].startswith(f"{report.total:,} of {report.window.effective:,}")


@pytest.mark.parametrize("name", ["compact", "clear", "context"])
def test_the_commands_are_in_the_table(name: str) -> None:
    from agent_kernel.jupyter.commands import find

    assert find(name) is not None
