"""Prompts from the panel while the kernel is idle, and the wire's methods."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import pytest

from agent_kernel import wire
from agent_kernel.errors import WireError
from agent_kernel.events import (
    Event,
    Notice,
    PermissionRequested,
    PromptTaken,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolProgress,
)
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.protocols import ApprovalAnswer
from agent_kernel.vocabulary import RunEnd
from agent_kernel.wire import TURN_MIME
from tests.support.kernels import Notebook, allow

pytestmark = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]


async def prompt(notebook: Notebook, text: str) -> wire.PromptResult:
    answer = await notebook.page.request("prompt", wire.PromptParams(text=text))
    return wire.PromptResult.model_validate(answer)


def python(contains: str, source: str, answer: str = "Done.") -> dict[str, object]:
    call = {"tool": "Python", "input": {"code": source}}
    return {"contains": contains, "steps": [[call], [{"text": answer}]]}


async def test_a_panel_prompt_adds_and_runs_a_cell_while_no_agent_cell_exists(
    notebook: Notebook, server: ScriptedServer
) -> None:
    insert = {
        "tool": "NotebookEdit",
        "input": {"edit_mode": "insert", "new_source": "print('made in the panel'); 5"},
    }
    run = {"tool": "RunCell", "input": {"cell_id": "{{result:-1:[`\"']([0-9a-f-]{8,})[`\"']}}"}}
    server.script(
        [{"contains": "make one and run it", "steps": [[insert], [run], [{"text": "It ran."}]]}]
    )
    notebook.decide = allow
    since = notebook.mark()
    result = await prompt(notebook, "make one and run it")
    finished = await notebook.finished(since)
    assert (finished.run_id, finished.end) == (result.run_id, RunEnd.COMPLETED)
    done = [e for e in notebook.page.events[since:] if isinstance(e, ToolFinished)]
    assert [event.status for event in done] == ["ok", "ok"]
    (cell,) = notebook.cells
    assert notebook.kinds(cell["id"]) == ["stdout", "text/plain"]
    assert cell["execution_count"] is not None


async def test_code_of_a_panel_run_runs_on_the_main_thread_without_history(
    notebook: Notebook, server: ScriptedServer
) -> None:
    source = (
        "import threading\nwhere = threading.current_thread() is threading.main_thread()\n"
        "import asyncio; await asyncio.sleep(0)\nprint('shown to the model', where)"
    )
    server.script([python("run it from the panel", source)])
    notebook.decide = allow
    before = await notebook.value("len(In)")
    since = notebook.mark()
    await prompt(notebook, "run it from the panel")
    await notebook.finished(since)
    finished = await notebook.event(ToolFinished, since=since)
    assert "shown to the model True" in str(finished.content)
    assert await notebook.value("where") == "True"
    assert int(await notebook.value("len(In)")) == int(before) + 2


async def test_an_interrupt_of_the_kernel_stops_a_panel_runs_code(
    notebook: Notebook, server: ScriptedServer
) -> None:
    server.script(
        [python("sleep in the panel", "began = True; print(1)\nimport time; time.sleep(60)")]
    )
    notebook.decide = allow
    since = notebook.mark()
    await prompt(notebook, "sleep in the panel")
    await notebook.event(ToolProgress, since=since)
    await notebook.page.link.interrupt()
    assert (await notebook.finished(since)).end is RunEnd.ABORTED_TOOLS
    assert await notebook.value("began") == "True"


@pytest.mark.parametrize("where", ["code", "cell"])
@pytest.mark.parametrize("moment", ["early", "running"])
async def test_the_panels_stop_ends_what_runs_in_the_idle_kernel(
    notebook: Notebook, server: ScriptedServer, where: str, moment: str
) -> None:
    source = "print('zzz', flush=True); import time; time.sleep(60)"
    cell = notebook.add(source)
    call = (
        {"tool": "Python", "input": {"code": source}}
        if where == "code"
        else {"tool": "RunCell", "input": {"cell_id": cell}}
    )
    words = f"stop the {where}, {moment}"
    server.script([{"contains": words, "steps": [[call], [{"text": "no"}]]}])
    notebook.decide = allow
    since = notebook.mark()
    await prompt(notebook, words)
    if moment == "early":
        await notebook.event(PermissionRequested, since=since)
    elif where == "code":
        await notebook.event(ToolProgress, since=since)
    else:
        await notebook.until(lambda: "zzz" in notebook.text(cell))
    assert (await notebook.page.request("stop"))["stopped"] is True
    assert (await notebook.finished(since)).end is RunEnd.ABORTED_TOOLS
    await _is_free(notebook)


async def test_a_second_prompt_steers_the_run_that_is_on(
    notebook: Notebook, server: ScriptedServer
) -> None:
    gate = f"steer-{secrets.token_hex(4)}"
    call = {"tool": "Variables", "input": {}}
    server.script(
        [
            {
                "contains": "begin slowly",
                "steps": [[{"text": "I begin."}, {"wait_for": gate}, call], [{"text": "End."}]],
            },
            {"contains": "and hurry", "reply": "Hurried."},
        ]
    )
    since = notebook.mark()
    first = await prompt(notebook, "begin slowly")
    await notebook.event(TextDelta, since=since)
    second = await prompt(notebook, "and hurry")
    assert (second.queued, second.run_id) == (True, first.run_id)
    server.release(gate)
    assert (await notebook.event(PromptTaken, since=since)).text == "and hurry"
    assert (await notebook.finished(since)).text == "Hurried."


async def test_an_agent_cell_started_during_a_panel_run_does_that_runs_jobs_and_follows(
    notebook: Notebook, server: ScriptedServer
) -> None:
    gate = f"cell-is-there-{secrets.token_hex(4)}"
    server.script(
        [
            {
                "contains": "panel goes first",
                "steps": [
                    [
                        {"text": "Wait."},
                        {"wait_for": gate},
                        {"tool": "Python", "input": {"code": "panel_job = 'done'"}},
                    ],
                    [{"text": "Panel done."}],
                ],
            },
            {"contains": "cell comes second", "reply": "Cell done."},
        ]
    )
    notebook.decide = allow
    since = notebook.mark()
    await prompt(notebook, "panel goes first")
    await notebook.event(TextDelta, since=since)
    cell = notebook.agent("cell comes second")
    running = notebook.start(cell)
    await asyncio.sleep(0.3)
    server.release(gate)
    assert (await running)["status"] == "ok"
    ends = [e.text for e in notebook.page.events[since:] if isinstance(e, RunFinished)]
    assert ends == ["Panel done.", "Cell done."]
    assert await notebook.value("panel_job") == "done"
    assert notebook.kinds(cell) == [TURN_MIME]


async def test_code_waits_for_the_persons_own_cell_and_says_so(
    notebook: Notebook, server: ScriptedServer
) -> None:
    server.script([python("wait for my cell", "print('after you')")])
    notebook.decide = allow
    own = notebook.start(notebook.add("import time; time.sleep(1.5)"))
    since = notebook.mark()
    await prompt(notebook, "wait for my cell")
    assert (await notebook.event(Notice, since=since)).code == "waiting"
    assert (await notebook.finished(since)).end is RunEnd.COMPLETED
    assert (await own)["status"] == "ok"
    assert "after you" in str((await notebook.event(ToolFinished, since=since)).content)


async def test_a_question_of_a_panel_run_is_answered_in_the_panel(
    notebook: Notebook, server: ScriptedServer
) -> None:
    server.script([python("ask in the panel", "panel_asked = 1")])
    since = notebook.mark()
    await prompt(notebook, "ask in the panel")
    request = await notebook.event(PermissionRequested, since=since)
    assert await notebook.page.answer(request, ApprovalAnswer(decision="allow_session"))
    assert (await notebook.finished(since)).end is RunEnd.COMPLETED


async def test_an_unknown_method_and_wrong_params_are_answered_with_their_codes(
    notebook: Notebook,
) -> None:
    with pytest.raises(WireError) as unknown:
        await notebook.page.request("no.such.method")
    assert unknown.value.code == wire.METHOD_NOT_FOUND
    with pytest.raises(WireError) as wrong:
        await notebook.page.request("answer", wire.StopParams())
    assert wrong.value.code == wire.INVALID_PARAMS
    with pytest.raises(WireError) as empty:
        await prompt(notebook, "   ")
    assert empty.value.code == wire.INVALID_PARAMS


async def test_a_request_sent_twice_acts_once(notebook: Notebook, server: ScriptedServer) -> None:
    server.script([{"contains": "only once", "reply": "Once."}])
    since = notebook.mark()
    body = {"jsonrpc": "2.0", "id": "same", "method": "prompt", "params": {"text": "only once"}}
    assert notebook.page.comm_id is not None
    notebook.page.link.send_comm(
        notebook.page.comm_id, {"batch": [body, body]}, subshell_id=notebook.page.comm_subshell
    )
    await notebook.finished(since)
    await notebook.page.request("ping")
    starts = [e for e in notebook.page.events[since:] if isinstance(e, RunStarted)]
    assert [e.prompt for e in starts] == ["only once"]


async def test_set_changes_mode_and_model_and_the_snapshot_shows_them(notebook: Notebook) -> None:
    result = wire.SetResult.model_validate(
        await notebook.page.request("set", wire.SetParams(mode="plan", model="haiku"))
    )
    assert result.mode == "plan"
    assert "haiku" in result.model.model
    snapshot = wire.Snapshot.model_validate(
        await notebook.page.request("snapshot", wire.SnapshotParams())
    )
    assert snapshot.mode == "plan"
    await notebook.page.request("set", wire.SetParams(mode="default", model="sonnet"))


async def test_a_snapshot_tells_what_the_events_told(
    notebook: Notebook, server: ScriptedServer
) -> None:
    server.script([{"contains": "remember me", "reply": "I do, every word of it."}])
    since = notebook.mark()
    run_id = (await prompt(notebook, "remember me")).run_id
    await notebook.finished(since)
    snapshot = wire.Snapshot.model_validate(
        await notebook.page.request("snapshot", wire.SnapshotParams(run_id=run_id))
    )
    (run,) = snapshot.runs
    assert _text(run.events) == _text(notebook.page.events[since:]) == "I do, every word of it."


async def test_slash_completes_skills_and_commands_and_at_completes_names(
    notebook: Notebook,
) -> None:
    await notebook.code("frame_of_mine = 1")

    async def complete(text: str) -> tuple[str, ...]:
        params = wire.CompleteParams(text=text, cursor=len(text))
        answer = await notebook.page.request("complete", params)
        return wire.CompleteResult.model_validate(answer).matches

    assert "/status" in await complete("/sta")
    assert "@frame_of_mine" in await complete("look at @frame_")
    assert "@cell:1" in await complete("look at @cell:")
    assert await complete("nothing here") == ()


async def test_commands_answer_with_text(notebook: Notebook) -> None:
    answer = wire.CommandResult.model_validate(
        await notebook.page.request("command", wire.CommandParams(name="status"))
    )
    assert "clicks reach a running cell" in (answer.text or "")


async def test_a_key_from_the_panel_is_kept_private_and_used(
    notebook: Notebook, tmp_path: Path
) -> None:
    result = await notebook.page.request("set", wire.SetParams(api_key="sk-test-of-the-panel"))
    assert "sk-test" not in str(result)
    mode = await notebook.value(
        "[oct(p.stat().st_mode & 0o777) for p in __import__('pathlib').Path(__import__('os')"
        ".environ['AGENT_KERNEL_HOME']).glob('key.json')]"
    )
    assert mode == "['0o600']"


async def test_many_turns_use_the_same_two_subshells(
    notebook: Notebook, server: ScriptedServer
) -> None:
    target = notebook.add("1")
    call = {"tool": "RunCell", "input": {"cell_id": target}}
    server.script([{"contains": "again and again", "steps": [[call], [{"text": "ok"}]]}])
    notebook.decide = allow
    for _ in range(3):
        assert (await notebook.run(notebook.agent("again and again")))["status"] == "ok"
    answer = await notebook.page.link.control("list_subshell_request", {})
    assert len(answer["subshell_id"]) <= 2


async def _is_free(notebook: Notebook) -> None:
    """The kernel drops what is queued behind a cell that failed, so ask until it answers."""
    for _ in range(20):
        if (await notebook.run(notebook.add("1 + 1")))["status"] == "ok":
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the kernel runs no cell any more")


def _text(events: list[Event] | tuple[Event, ...]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))
