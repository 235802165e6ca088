"""``%%agent`` cells in a real kernel: approvals, stops, nested cells, outputs."""

from __future__ import annotations

import asyncio
import secrets

import pytest

from agent_kernel.events import (
    PermissionRequested,
    PermissionResolved,
    RunFinished,
    TextDelta,
    ToolFinished,
)
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.protocols import ApprovalAnswer
from agent_kernel.vocabulary import RunEnd
from agent_kernel.wire import TURN_MIME
from tests.support.kernels import Notebook, allow

pytestmark = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]


def code(prompt: str, source: str, answer: str = "Done.") -> dict[str, object]:
    """A rule: one call of Python, then an answer."""
    call = {"tool": "Python", "input": {"code": source}}
    return {"contains": prompt, "steps": [[call], [{"text": answer}]]}


async def test_code_of_the_agent_cannot_loosen_the_mode(
    notebook: Notebook, server: ScriptedServer
) -> None:
    server.script([code("loosen yourself", "%agent mode bypassPermissions")])
    notebook.decide = allow
    since = notebook.mark()
    await notebook.run(notebook.agent("loosen yourself"))
    done = await notebook.event(ToolFinished, since=since)
    assert done.status == "error"
    assert "cannot change the mode" in str(done.content)


async def test_a_turn_ends_in_its_cell_with_data_that_stands_without_a_kernel(
    notebook: Notebook, server: ScriptedServer
) -> None:
    server.script([{"contains": "say hello plainly", "reply": "Hello there."}])
    since = notebook.mark()
    cell = notebook.agent("say hello plainly")
    reply = await notebook.run(cell)
    assert reply["status"] == "ok"
    finished = await notebook.finished(since)
    assert (finished.end, finished.text) == (RunEnd.COMPLETED, "Hello there.")
    (output,) = notebook.cell(cell)["outputs"]
    assert output["data"][TURN_MIME]["end"] == "completed"
    assert "Hello there." in output["data"]["text/markdown"]


async def test_an_approval_is_answered_while_the_cell_blocks(
    notebook: Notebook, server: ScriptedServer
) -> None:
    server.script([code("bind a name", "answer_cell = 41 + 1; print(answer_cell)")])
    since = notebook.mark()
    running = notebook.start(notebook.agent("bind a name"))
    request = await notebook.event(PermissionRequested, since=since)
    assert not running.done()
    assert request.preview.kind == "code"
    status = await notebook.page.answer(request, ApprovalAnswer(decision="allow_once"))
    assert status == "accepted"
    assert (await running)["status"] == "ok"
    assert await notebook.page.answer(request, ApprovalAnswer(decision="deny")) == "expired"
    assert await notebook.value("answer_cell") == "42"


async def test_a_wrong_nonce_does_not_count(notebook: Notebook, server: ScriptedServer) -> None:
    server.script([code("guess the nonce", "1")])
    since = notebook.mark()
    running = notebook.start(notebook.agent("guess the nonce"))
    request = await notebook.event(PermissionRequested, since=since)
    forged = request.model_copy(update={"nonce": "nonce_0"})
    assert await notebook.page.answer(forged, ApprovalAnswer(decision="allow_once")) == "expired"
    assert await notebook.page.answer(request, ApprovalAnswer(decision="deny")) == "accepted"
    assert (await running)["status"] == "ok"


async def test_a_denied_call_gives_the_model_a_refusal_and_the_turn_goes_on(
    notebook: Notebook, server: ScriptedServer
) -> None:
    server.script([code("be denied", "denied_name = 1", answer="Then not.")])
    notebook.decide = lambda _request: ApprovalAnswer(decision="deny", reason="not now")
    since = notebook.mark()
    assert (await notebook.run(notebook.agent("be denied")))["status"] == "ok"
    finished = await notebook.finished(since)
    assert (finished.end, finished.text) == (RunEnd.COMPLETED, "Then not.")
    assert "not now" in str(server.requests[-1]["messages"][-1])
    assert await notebook.value("'denied_name' in globals()") == "False"


async def test_code_shows_its_outputs_in_order_in_the_agent_cell_and_awaits(
    notebook: Notebook, server: ScriptedServer
) -> None:
    source = (
        "import sys, asyncio\nfrom IPython.display import display, HTML\n"
        "print('one'); await asyncio.sleep(0.01); display(HTML('<b>two</b>'))\n"
        "print('three', file=sys.stderr)\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);\n"
        "'four'"
    )
    server.script([code("show many things", source)])
    notebook.decide = allow
    since = notebook.mark()
    cell = notebook.agent("show many things")
    assert (await notebook.run(cell))["status"] == "ok"
    assert notebook.kinds(cell) == [
        TURN_MIME, "stdout", "text/html", "stderr", "text/plain", "image/png",
    ]  # fmt: skip
    finished = await notebook.event(ToolFinished, since=since)
    assert finished.status == "ok"
    assert [block.type for block in finished.content][-1] == "image"
    text = " ".join(block.text for block in finished.content if block.type == "text")
    assert [text.index(word) for word in ("one", "three", "four")] == sorted(
        text.index(word) for word in ("one", "three", "four")
    )


async def test_an_error_of_code_goes_to_the_model_and_the_turn_goes_on(
    notebook: Notebook, server: ScriptedServer
) -> None:
    server.script([code("divide by zero", "1 / 0", answer="That failed.")])
    notebook.decide = allow
    since = notebook.mark()
    cell = notebook.agent("divide by zero")
    assert (await notebook.run(cell))["status"] == "ok"
    assert "ZeroDivisionError" in notebook.kinds(cell)
    assert (await notebook.event(ToolFinished, since=since)).status == "error"
    assert (await notebook.finished(since)).text == "That failed."


async def test_stop_ends_a_turn_in_mid_stream_and_the_next_one_works(
    notebook: Notebook, server: ScriptedServer
) -> None:
    gate = f"stream-{secrets.token_hex(4)}"
    server.script(
        [{"contains": "stream for long", "steps": [[{"text": "Begin"}, {"wait_for": gate}]]}]
    )
    since = notebook.mark()
    running = notebook.start(notebook.agent("stream for long"))
    await notebook.event(TextDelta, since=since)
    await notebook.page.link.interrupt()
    reply = await running
    assert (reply["status"], reply["ename"]) == ("error", "RunFailed")
    assert (await notebook.finished(since)).end is RunEnd.ABORTED_STREAMING
    await _works(notebook, server, "after the stream")


async def test_stop_ends_sleeping_code_and_the_next_turn_works(
    notebook: Notebook, server: ScriptedServer
) -> None:
    server.script([code("sleep in python", "print('zzz')\nimport time; time.sleep(60)")])
    notebook.decide = allow
    since = notebook.mark()
    cell = notebook.agent("sleep in python")
    running = notebook.start(cell)
    await _printed(notebook, cell, "zzz")
    await notebook.page.link.interrupt()
    reply = await running
    assert (reply["status"], reply["ename"]) == ("error", "RunFailed")
    assert (await notebook.finished(since)).end is RunEnd.ABORTED_TOOLS
    await _works(notebook, server, "after sleeping")


async def test_stop_ends_awaiting_code(notebook: Notebook, server: ScriptedServer) -> None:
    server.script([code("await for long", "print('zzz'); import asyncio; await asyncio.sleep(60)")])
    notebook.decide = allow
    since = notebook.mark()
    cell = notebook.agent("await for long")
    running = notebook.start(cell)
    await _printed(notebook, cell, "zzz")
    await notebook.page.link.interrupt()
    assert (await running)["ename"] == "RunFailed"
    assert (await notebook.finished(since)).end is RunEnd.ABORTED_TOOLS
    assert await notebook.value("await asyncio.sleep(0)") == "None"


async def test_the_panels_stop_ends_sleeping_code(
    notebook: Notebook, server: ScriptedServer
) -> None:
    server.script([code("sleep until the panel", "print('zzz'); import time; time.sleep(60)")])
    notebook.decide = allow
    since = notebook.mark()
    cell = notebook.agent("sleep until the panel")
    running = notebook.start(cell)
    await _printed(notebook, cell, "zzz")
    assert (await notebook.page.request("stop"))["stopped"] is True
    assert (await running)["ename"] == "RunFailed"
    assert (await notebook.finished(since)).end is RunEnd.ABORTED_TOOLS
    await _works(notebook, server, "after the panel stopped it")


async def test_the_panels_stop_ends_a_program_that_the_code_waits_for(
    notebook: Notebook, server: ScriptedServer
) -> None:
    # `os.system` ignores interrupts itself while its program runs.
    waits = "print('zzz'); import os; os.system('sleep 60')"
    server.script([code("run a program until the panel", waits)])
    notebook.decide = allow
    since = notebook.mark()
    cell = notebook.agent("run a program until the panel")
    running = notebook.start(cell)
    await _printed(notebook, cell, "zzz")
    assert (await notebook.page.request("stop"))["stopped"] is True
    assert (await running)["ename"] == "RunFailed"
    assert (await notebook.finished(since)).end is RunEnd.ABORTED_TOOLS
    await _works(notebook, server, "after the program")


async def test_stop_at_an_approval_withdraws_the_question(
    notebook: Notebook, server: ScriptedServer
) -> None:
    server.script([code("ask and be stopped", "1")])
    since = notebook.mark()
    running = notebook.start(notebook.agent("ask and be stopped"))
    request = await notebook.event(PermissionRequested, since=since)
    await notebook.page.link.interrupt()
    assert (await running)["ename"] == "RunFailed"
    resolved = await notebook.event(PermissionResolved, since=since)
    assert (resolved.request_id, resolved.by) == (request.request_id, "stop")
    assert await notebook.page.answer(request, allow(request)) == "expired"
    await _works(notebook, server, "after the question")


async def test_run_cell_puts_everything_into_the_target_cell(
    notebook: Notebook, server: ScriptedServer
) -> None:
    target = notebook.add(
        "import sys, os\nprint('from target'); print('err', file=sys.stderr)\n"
        "import matplotlib.pyplot as plt\nplt.plot([1, 2]);\nname = input('who? ')\n"
        "os.system('echo from a program')\nawait __import__('asyncio').sleep(0.01)\nname"
    )
    failing = notebook.add("1 / 0")
    run = {"tool": "RunCell", "input": {"cell_id": target}}
    fail = {"tool": "RunCell", "input": {"cell_id": failing}}
    server.script(
        [{"contains": "run both cells", "steps": [[run], [fail], [{"text": "Both ran."}]]}]
    )
    notebook.decide = allow
    notebook.typed = ["Ada"]
    agent = notebook.agent("run both cells")
    since = notebook.mark()
    assert (await notebook.run(agent))["status"] == "ok"
    assert sorted(notebook.kinds(target)) == sorted(
        ["stdout", "stderr", "stdout", "text/plain", "image/png"]
    ) or "from a program" in notebook.text(target)
    assert "from target" in notebook.text(target)
    assert notebook.prompts == ["who? "]
    assert "image/png" in notebook.kinds(target)
    assert notebook.kinds(failing) == ["ZeroDivisionError"]
    assert notebook.kinds(agent) == [TURN_MIME]
    counts = [notebook.cell(cell)["execution_count"] for cell in (target, failing, agent)]
    assert counts == [counts[0], counts[0] + 1, counts[0] + 2]
    assert await notebook.value("len(In) - 1 == get_ipython().execution_count - 1") == "True"
    done = [e for e in notebook.page.events[since:] if isinstance(e, ToolFinished)]
    assert [e.status for e in done] == ["ok", "error"]
    assert "image" in [block.type for block in done[0].content]


async def test_stop_ends_a_cell_that_run_cell_started(
    notebook: Notebook, server: ScriptedServer
) -> None:
    target = notebook.add("print('zzz')\nimport time; time.sleep(60)")
    call = {"tool": "RunCell", "input": {"cell_id": target}}
    server.script([{"contains": "run the sleeper", "steps": [[call], [{"text": "no"}]]}])
    notebook.decide = allow
    since = notebook.mark()
    running = notebook.start(notebook.agent("run the sleeper"))
    await _printed(notebook, target, "zzz")
    await notebook.page.link.interrupt()
    assert (await running)["ename"] == "RunFailed"
    assert notebook.kinds(target) == ["stdout", "KeyboardInterrupt"]
    assert (await notebook.finished(since)).end is RunEnd.ABORTED_TOOLS
    await _works(notebook, server, "after the sleeper")


async def test_a_figure_stays_in_its_cell_although_messages_arrive_meanwhile(
    notebook: Notebook, server: ScriptedServer
) -> None:
    source = (
        "import matplotlib.pyplot as plt, time\nplt.plot([3, 1]);\nprint('drawn')\n"
        "time.sleep(0.4)\nimport os; os.system('echo late')"
    )
    server.script([code("draw slowly", source)])
    notebook.decide = allow
    cell = notebook.agent("draw slowly")
    running = notebook.start(cell)
    await _printed(notebook, cell, "drawn")
    for _ in range(5):
        await notebook.page.request("ping")
    assert (await running)["status"] == "ok"
    assert notebook.kinds(cell).count("image/png") == 1
    assert "late" in notebook.text(cell)


async def test_the_persons_hooks_are_not_called_for_messages_of_the_page(
    notebook: Notebook, server: ScriptedServer
) -> None:
    await notebook.code(
        "import threading\nhits = []\nhook = lambda: hits.append(threading.current_thread().name)\n"
        "get_ipython().events.register('post_execute', hook)"
    )
    server.script([code("call no hooks", "print('in'); import time; time.sleep(0.3)")])
    notebook.decide = allow
    cell = notebook.agent("call no hooks")
    running = notebook.start(cell)
    await _printed(notebook, cell, "in")
    for _ in range(5):
        await notebook.page.request("ping")
    assert (await running)["status"] == "ok"
    assert await notebook.value("set(hits) == {'MainThread'}") == "True"
    await notebook.code("get_ipython().events.unregister('post_execute', hook)")


async def test_turns_of_one_kernel_keep_to_their_own_cells(
    notebook: Notebook, server: ScriptedServer
) -> None:
    server.script([code("print number", "print('{{prompt:number (\\d)}}')")])
    notebook.decide = allow
    cells = [notebook.agent(f"print number {number}") for number in range(3)]
    for cell in cells:
        assert (await notebook.run(cell))["status"] == "ok"
    assert [notebook.text(cell) for cell in cells] == ["0\n", "1\n", "2\n"]


async def test_an_agent_cell_run_by_the_agent_waits_for_nobody(
    notebook: Notebook, server: ScriptedServer
) -> None:
    inner = notebook.agent("the inner question")
    call = {"tool": "RunCell", "input": {"cell_id": inner}}
    server.script(
        [
            {"contains": "the inner question", "reply": "Inner answer."},
            {"contains": "run my twin", "steps": [[call], [{"text": "Outer answer."}]]},
        ]
    )
    notebook.decide = allow
    since = notebook.mark()
    outer = notebook.agent("run my twin")
    assert (await notebook.run(outer))["status"] == "ok"
    ends = [e for e in notebook.page.events[since:] if isinstance(e, RunFinished)]
    assert [e.text for e in ends] == ["Inner answer.", "Outer answer."]
    assert notebook.kinds(inner) == [TURN_MIME]
    assert "Inner answer." in notebook.cell(inner)["outputs"][0]["data"]["text/markdown"]


async def test_edits_reach_the_open_notebook_while_the_cell_runs(
    notebook: Notebook, server: ScriptedServer
) -> None:
    insert = {"tool": "NotebookEdit", "input": {"edit_mode": "insert", "new_source": "made = 7"}}
    server.script([{"contains": "add a cell", "steps": [[insert], [{"text": "Added."}]]}])
    notebook.decide = allow
    agent = notebook.agent("add a cell")
    after = notebook.add("# the person's own")
    assert (await notebook.run(agent))["status"] == "ok"
    assert [cell["source"] for cell in notebook.cells[1:]] == ["made = 7", "# the person's own"]
    assert notebook.cells[2]["id"] == after


async def test_cells_queued_behind_an_agent_cell_run_in_order(
    notebook: Notebook, server: ScriptedServer
) -> None:
    server.script([code("take your time", "order = ['agent']")])
    notebook.decide = allow
    first = notebook.start(notebook.agent("take your time"))
    await asyncio.sleep(0)
    second = notebook.start(notebook.add("order.append('person'); print(order)"))
    replies = await asyncio.gather(first, second)
    assert [reply["status"] for reply in replies] == ["ok", "ok"]
    assert "['agent', 'person']" in notebook.text(notebook.cells[1]["id"])


async def _printed(notebook: Notebook, cell_id: str, text: str) -> None:
    await notebook.until(lambda: text in notebook.text(cell_id))


async def _works(notebook: Notebook, server: ScriptedServer, prompt: str) -> None:
    server.script([{"contains": prompt, "reply": f"Fine {prompt}."}])
    since = notebook.mark()
    assert (await notebook.run(notebook.agent(prompt)))["status"] == "ok"
    finished = await notebook.finished(since)
    assert (finished.end, finished.text) == (RunEnd.COMPLETED, f"Fine {prompt}.")
