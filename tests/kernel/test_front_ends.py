"""Other front ends: an ordinary kernel, two kernels, no subshells, a page that was loaded anew."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_kernel import wire
from agent_kernel.errors import WireError
from agent_kernel.events import PermissionRequested, TextDelta
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.protocols import ApprovalAnswer
from agent_kernel.vocabulary import RunEnd
from agent_kernel.wire import TURN_MIME
from tests.support.kernels import allow, kernel

pytestmark = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture
def env(server: ScriptedServer) -> Mapping[str, str]:
    return {**server.environment, "MPLCONFIGDIR": os.environ["MPLCONFIGDIR"]}


def _python(contains: str, source: str, answer: str = "Done.") -> dict[str, object]:
    call = {"tool": "Python", "input": {"code": source}}
    return {"contains": contains, "steps": [[call], [{"text": answer}]]}


async def test_an_ordinary_kernel_rings_when_the_extension_is_loaded(
    tmp_path: Path, python: str, server: ScriptedServer, env: Mapping[str, str]
) -> None:
    target = "print('nested')"
    async with kernel(tmp_path, python=python, env=env, agent=False, connect=False) as notebook:
        await notebook.code("%load_ext agent_kernel")
        await asyncio.wait_for(notebook.page.bell.wait(), 10)
        await notebook.page.open()
        cell = notebook.add(target)
        call = {"tool": "RunCell", "input": {"cell_id": cell}}
        server.script([{"contains": "in plain python", "steps": [[call], [{"text": "ok"}]]}])
        notebook.decide = allow
        agent = notebook.agent("in plain python")
        assert (await notebook.run(agent))["status"] == "ok"
        assert notebook.text(cell) == "nested\n"
        assert notebook.kinds(agent) == [TURN_MIME]


async def test_two_kernels_do_not_mix(
    tmp_path: Path, python: str, server: ScriptedServer, env: Mapping[str, str]
) -> None:
    call = {"tool": "Python", "input": {"code": "mine = '{{prompt:kernel (\\w+)}}'"}}
    server.script(
        [{"contains": "you are kernel", "steps": [[call], [{"text": "{{prompt:kernel (\\w+)}}"}]]}]
    )
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    async with (
        kernel(tmp_path / "a", python=python, env=env) as one,
        kernel(tmp_path / "b", python=python, env=env) as two,
    ):
        first = one.start(one.agent("you are kernel one"))
        second = two.start(two.agent("you are kernel two"))
        asked_one = await one.event(PermissionRequested)
        asked_two = await two.event(PermissionRequested)
        wrong = await one.page.answer(asked_two, ApprovalAnswer(decision="allow_once"))
        assert wrong == "expired"
        await two.page.answer(asked_two, ApprovalAnswer(decision="allow_once"))
        await one.page.answer(asked_one, ApprovalAnswer(decision="allow_once"))
        assert [(await first)["status"], (await second)["status"]] == ["ok", "ok"]
        assert (await one.finished(0)).text == "one"
        assert (await two.finished(0)).text == "two"
        assert await one.value("mine") == "one"
        assert await two.value("mine") == "two"


async def test_without_subshells_the_question_is_typed_in_the_cell(
    tmp_path: Path, python: str, server: ScriptedServer, env: Mapping[str, str]
) -> None:
    server.script([_python("type the answer", "typed_name = 5")])
    async with kernel(tmp_path, python=python, env=env, subshells=False) as notebook:
        notebook.typed = ["1"]
        cell = notebook.agent("type the answer")
        assert (await notebook.run(cell))["status"] == "ok"
        assert len(notebook.prompts) == 1
        assert "typed_name = 5" in notebook.text(cell)
        assert await notebook.value("typed_name") == "5"


async def test_a_front_end_without_a_page_gets_the_question_as_text(
    tmp_path: Path, server: ScriptedServer, env: Mapping[str, str]
) -> None:
    server.script([_python("nobody is here", "typed_there = 6", answer="As you like.")])
    async with kernel(tmp_path, python=sys.executable, env=env, connect=False) as notebook:
        notebook.typed = ["4 rather not"]
        cell = notebook.agent("nobody is here")
        assert (await notebook.run(cell))["status"] == "ok"
        assert "rather not" in str(server.requests[-1]["messages"][-1])


async def test_an_interrupt_at_a_typed_question_stops_the_turn(
    tmp_path: Path, server: ScriptedServer, env: Mapping[str, str]
) -> None:
    server.script([_python("type nothing", "never = 1")])
    async with kernel(tmp_path, python=sys.executable, env=env, subshells=False) as notebook:
        waiting = asyncio.Event()

        async def never(_prompt: str, _secret: bool) -> str:
            waiting.set()
            await asyncio.Event().wait()
            return ""

        notebook.page.link.on_input = never
        running = notebook.start(notebook.agent("type nothing"))
        await asyncio.wait_for(waiting.wait(), 10)
        await notebook.page.link.interrupt()
        assert (await running)["ename"] == "RunFailed"
        assert await notebook.value("'never' in globals()") == "False"


async def test_a_page_loaded_anew_in_mid_run_sees_all_and_the_turn_stands_in_its_cell(
    tmp_path: Path, python: str, server: ScriptedServer, env: Mapping[str, str]
) -> None:
    server.script(
        [
            {
                "contains": "survive a reload",
                "steps": [
                    [
                        {"text": "Before the reload."},
                        {"wait_for": f"reload-{tmp_path.name}"},
                        {"tool": "Python", "input": {"code": "reloaded = 1"}},
                    ],
                    [{"text": "After the reload."}],
                ],
            }
        ]
    )
    async with kernel(tmp_path, python=python, env=env) as notebook:
        old = notebook.page
        cell = notebook.agent("survive a reload")
        running = notebook.start(cell)
        await notebook.event(TextDelta)
        # The new page has the saved document and none of the old one's messages.
        await old.link.close()
        server.release(f"reload-{tmp_path.name}")
        await asyncio.sleep(0.3)
        notebook.page = notebook.new_page(old.document.notebook)
        notebook.cell(cell)["outputs"] = []
        hello = await notebook.page.connect()
        text = "".join(e.text for e in hello.snapshot.runs[-1].events if isinstance(e, TextDelta))
        assert text == "Before the reload."
        (request,) = hello.pending or [await notebook.event(PermissionRequested)]
        answered = await notebook.page.answer(request, ApprovalAnswer(decision="allow_once"))
        assert answered == "accepted"
        finished = await notebook.finished(0)
        assert (finished.end, finished.text) == (RunEnd.COMPLETED, "After the reload.")
        await notebook.until(lambda: notebook.cell(cell)["outputs"])
        assert notebook.kinds(cell) == [TURN_MIME]
        assert "After the reload." in notebook.cell(cell)["outputs"][0]["data"]["text/markdown"]
        running.cancel()
        assert await notebook.value("reloaded") == "1"


async def test_a_forbidden_mode_is_refused(tmp_path: Path, env: Mapping[str, str]) -> None:
    folder = tmp_path / "home" / ".claude"
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text(
        '{"permissions": {"disableBypassPermissionsMode": "disable"}}'
    )
    async with kernel(tmp_path, python=sys.executable, env=env) as notebook:
        with pytest.raises(WireError) as refused:
            await notebook.page.request("set", wire.SetParams(mode="bypassPermissions"))
        assert refused.value.code == wire.INVALID_PARAMS
