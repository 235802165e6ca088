"""The magics in a real kernel: with a page, without one, and in a plain IPython."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.wire import SKILLS_MIME, TURN_MIME, SkillsResult
from tests.support.kernels import Notebook, kernel

pytestmark = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]

SKILL = "---\ndescription: <img src=x onerror=alert(1)> Shouts.\n---\nSay $ARGUMENTS loudly.\n"


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    server.script(
        [
            {"contains": "loudly", "reply": "LOUD."},
            {"contains": "fail now", "steps": [{"fault": {"status": 401, "times": 99}}]},
            {"matches": "[\\s\\S]*", "reply": "Plain answer."},
        ]
    )
    yield server
    server.stop()


def with_skill(folder: Path) -> Path:
    file = folder / ".claude" / "skills" / "shout" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(SKILL, encoding="utf-8")
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def notebook(
    server: ScriptedServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Notebook]:
    folder = with_skill(tmp_path_factory.mktemp("magics"))
    async with kernel(folder, python=sys.executable, env=server.environment) as made:
        yield made


def asked(server: ScriptedServer) -> str:
    """The newest text of the last request's last message."""
    content = server.requests[-1]["messages"][-1]["content"]
    return "\n".join(block.get("text", "") for block in content if isinstance(block, dict))


@pytest.mark.parametrize(
    "body",
    [
        "{k: v for k, v in d.items()} and {x!r} and $HOME",
        "one \\\ntwo",
        "what is df?",
        "%agent status\n!ls\n%%agent",
        "  indented\n\n    more",
    ],
)
async def test_the_prompt_reaches_the_model_word_for_word(
    notebook: Notebook, server: ScriptedServer, body: str
) -> None:
    assert (await notebook.run(notebook.agent(body)))["status"] == "ok"
    assert body in asked(server)


async def test_the_answer_can_be_kept_and_nothing_else_is_put_in_the_namespace(
    notebook: Notebook,
) -> None:
    await notebook.code("agent = 'mine'; skill = 'mine too'")
    await notebook.code("names_before = set(globals())")
    assert (await notebook.run(notebook.add("%%agent --out said\nSay it.")))["status"] == "ok"
    new = await notebook.value(
        "sorted(n for n in set(globals()) - names_before if not n.startswith('_i'))"
    )
    assert new == "['names_before', 'said']"
    assert await notebook.value("said, agent, skill") == "Plain answer. mine mine too"


async def test_a_bad_flag_says_the_right_form_and_asks_no_model(
    notebook: Notebook, server: ScriptedServer
) -> None:
    before = len(server.requests)
    reply = await notebook.run(notebook.add("%%agent --mod plan\nDo it."))
    assert (reply["status"], reply["ename"]) == ("error", "UsageError")
    assert "--mode" in reply["evalue"]
    assert len(server.requests) == before


async def test_a_turn_that_fails_raises_so_that_run_all_stops(notebook: Notebook) -> None:
    cell = notebook.agent("fail now")
    reply = await notebook.run(cell)
    assert (reply["status"], reply["ename"]) == ("error", "RunFailed")
    assert len("\n".join(notebook.cell(cell)["outputs"][-1]["traceback"])) < 600


async def test_an_empty_cell_says_what_to_write(notebook: Notebook) -> None:
    assert "There is no prompt yet" in await notebook.code("%%agent")
    assert "There is no prompt yet" in await notebook.code("# mine\n%%agent --new\n\n")


async def test_the_line_magic_has_commands_and_says_so_otherwise(notebook: Notebook) -> None:
    assert "%agent status" in await notebook.code("%agent help")
    assert "put it in a cell like this:\n\n%%agent\nwhat is df?" in await notebook.code(
        "%agent what is df?"
    )
    assert "Did you mean %agent status?" in await notebook.code("%agent statsu")
    assert "The mode is plan now" in await notebook.code("%agent mode plan")
    assert "The mode is default now" in await notebook.code("%agent mode default")
    assert "A new conversation" in await notebook.code("%agent new")
    assert "Nothing is running" in await notebook.code("%agent stop")
    reply = await notebook.run(notebook.add("%agent mode fast"))
    assert reply["ename"] == "UsageError"


async def test_status_tells_what_there_is_and_no_secret(
    notebook: Notebook, server: ScriptedServer
) -> None:
    text = await notebook.code("%agent status")
    for part in ("Session", "Model", server.base_url, "Mode", "Pages", "Approvals", "Transcripts"):
        assert part in text
    assert server.environment["ANTHROPIC_API_KEY"] not in text


async def test_an_answer_that_did_not_come_leaves_the_variable_alone(notebook: Notebook) -> None:
    await notebook.code("kept = 'before'")
    await notebook.run(notebook.add("%%agent --out kept\nfail now"))
    assert await notebook.value("kept") == "before"


async def test_setup_keeps_a_key_that_is_shown_nowhere(
    server: ScriptedServer, tmp_path: Path
) -> None:
    key = "sk-ant-typed-by-a-person-0123456789"
    env = {"ANTHROPIC_BASE_URL": server.base_url}
    async with kernel(tmp_path, python=sys.executable, env=env) as notebook:
        notebook.typed.append(key)
        text = await notebook.code("%agent setup")
        assert "saved" in text
        assert (await notebook.run(notebook.agent("hello")))["status"] == "ok"
        assert key in str(server.exchanges[-1].headers.values())
        assert key not in str(notebook.cells)
    (saved,) = (tmp_path / "home" / "state").glob("key*")
    assert saved.stat().st_mode & 0o077 == 0


async def test_offline_is_said_once_in_a_conversation(tmp_path: Path) -> None:
    async with kernel(tmp_path, python=sys.executable, env={}) as notebook:
        assert "Offline: no model is set up" in await notebook.code("%%agent\nhello")
        assert "Offline" not in await notebook.code("%%agent\nhello")
        assert "none (offline: scripted answers)" in await notebook.code("%agent status")


async def test_skill_alone_lists_and_with_a_name_runs(
    notebook: Notebook, server: ScriptedServer
) -> None:
    cell = notebook.add("%skill")
    assert (await notebook.run(cell))["status"] == "ok"
    (output,) = notebook.cell(cell)["outputs"]
    names = [s.name for s in SkillsResult.model_validate(output["data"][SKILLS_MIME]).skills]
    assert "shout" in names
    assert "<img" not in output["data"]["text/markdown"]

    cell = notebook.add("%skill shout why is {it} slow?")
    assert (await notebook.run(cell))["status"] == "ok"
    assert "Say why is {it} slow? loudly." in asked(server)
    assert TURN_MIME in notebook.kinds(cell)


async def test_an_unknown_skill_is_a_short_error_with_a_hint(notebook: Notebook) -> None:
    reply = await notebook.run(notebook.add("%skill shuot x"))
    assert reply["ename"] == "UsageError"
    assert "Did you mean shout?" in reply["evalue"]


async def test_an_ordinary_kernel_loads_us_without_the_slow_libraries(
    server: ScriptedServer, tmp_path: Path
) -> None:
    async with kernel(
        tmp_path, python=sys.executable, env=server.environment, agent=False, connect=False
    ) as plain:
        loaded = await plain.code(
            "%load_ext agent_kernel\n"
            "import sys\n"
            "print([n for n in ('anthropic', 'mcp', 'pydantic', 'jupyterlab') if n in sys.modules])"
        )
        assert loaded.strip() == "[]"
        assert plain.page.bell.is_set()


async def test_without_a_page_or_a_widget_the_turn_is_text_and_input_asks(
    server: ScriptedServer, tmp_path: Path
) -> None:
    call = {"tool": "Python", "input": {"code": "asked_for = 1"}}
    server.script([{"contains": "bind it", "steps": [[call], "Bound."]}])
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "shell.run_cell('%load_ext agent_kernel')\n"
        "shell.run_cell('%%agent\\nbind it').raise_error()\n"
        "shell.run_cell('print(\"asked_for\" in globals())')\n"
        "shell.run_cell('%skill')\n"
    )
    home = tmp_path / "home"
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "AGENT_KERNEL_HOME": str(home / "s")}
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", code],
        cwd=with_skill(tmp_path),
        env={**env, **server.environment},
        input="\n1\n",  # Enter alone first: it must not allow
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "asked_for = 1" in done.stdout
    assert "Enter alone allows nothing" in done.stdout
    assert "● Run Python asked_for = 1" in done.stdout
    assert "Bound." in done.stdout
    assert "\nTrue\n" in done.stdout
    assert "%skill shout" in done.stdout


async def test_an_answer_can_be_made_to_fit_a_type_of_the_notebook(
    notebook: Notebook, server: ScriptedServer
) -> None:
    server.script(
        [
            {"contains": "how warm", "steps": ["Warm.", '{"degrees": 21}']},
            {"contains": "how cold", "steps": ["a", "b", "c"]},
        ]
    )
    await notebook.code(
        "from pydantic import BaseModel\nclass Weather(BaseModel):\n    degrees: int"
    )
    await notebook.run(notebook.add("%%agent --schema Weather --out today\nhow warm is it"))
    assert await notebook.value("(type(today) is Weather, today.degrees)") == "(True, 21)"
    reply = await notebook.run(notebook.add("%%agent --schema Weather --out cold\nhow cold is it"))
    assert (reply["status"], reply["ename"]) == ("error", "RunFailed")
    assert "does not fit Weather" in reply["evalue"]
    assert await notebook.value("'cold' in globals()") == "False"
    for name, hint in (("Nothing", "nothing is named"), ("notebook_value", "is no type")):
        await notebook.code("notebook_value = 3")
        reply = await notebook.run(notebook.add(f"%%agent --schema {name}\nhow warm is it"))
        assert hint in reply["evalue"]
