"""What a person types reaches the magics as typed (CASES 50, 52, 53)."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell

from agent_kernel.jupyter import transform

Call = tuple[str, str, str | None]


class Recorder:
    """A shell whose two magics only note what they were given."""

    def __init__(self) -> None:
        self.shell = cast("Any", InteractiveShell())  # type: ignore[no-untyped-call]
        self.calls: list[Call] = []
        for name in transform.NAMES:
            magic = self.magic(name)
            magic._ipython_magic_no_var_expand = True  # what ``no_var_expand`` sets
            self.shell.register_magic_function(magic, magic_kind="line_cell", magic_name=name)
        transform.install(self.shell)

    def magic(self, name: str) -> Any:
        def magic(line: str, cell: str | None = None) -> None:
            self.calls.append((name, line, cell))

        return magic

    def run(self, source: str) -> list[Call]:
        self.calls.clear()
        self.shell.run_cell(source, store_history=False)
        return list(self.calls)


@pytest.fixture(scope="module")
def recorder() -> Recorder:
    made = Recorder()
    made.shell.history_manager.enabled = False
    return made


@pytest.mark.parametrize(
    ("source", "call"),
    [
        ("%skill explain why is it slow?", ("skill", "explain why is it slow?", None)),
        ("%agent what is df?", ("agent", "what is df?", None)),
        ("%agent what is df??", ("agent", "what is df??", None)),
        ("%skill x why isn't (this [right?", ("skill", "x why isn't (this [right?", None)),
        ("%skill x {df} $HOME \\n?", ("skill", "x {df} $HOME \\n?", None)),
        ("%agent status", ("agent", "status", None)),
        ("if True:\n    %skill a b?", ("skill", "a b?", None)),
        ("%%agent\nwhat is df?", ("agent", "", "what is df?\n")),
        ("%%agent --mode plan\nx", ("agent", "--mode plan", "x\n")),
        ("%%agent", ("agent", "", "\n")),
        ("%%agent   \n\n  \n", ("agent", "", "\n")),
        ("%%agent explain df", ("agent", "explain df", "\n")),
        ("# a comment\n\n# and another\n%%agent\nhello", ("agent", "", "hello\n")),
        ("%%agent\n{k: v for k, v in d.items()}", ("agent", "", "{k: v for k, v in d.items()}\n")),
        ("%%agent\none \\\ntwo", ("agent", "", "one \\\ntwo\n")),
        ("%%skill name\nmany\nlines", ("skill", "name", "many\nlines\n")),
    ],
)
def test_the_text_arrives_as_typed(recorder: Recorder, source: str, call: Call) -> None:
    assert recorder.run(source) == [call]


@pytest.mark.parametrize(
    "source", ["%agent?", "%skill??", "agent = 1\nagent?", "x = 2 # %agent a?"]
)
def test_asking_for_help_on_the_magic_itself_is_left_to_ipython(
    recorder: Recorder, source: str
) -> None:
    assert recorder.run(source) == []


@pytest.mark.parametrize(
    "source",
    [
        "text = '''\n%agent what is df?\n%%agent\n'''\nassert 'what is df?' in text",
        "# %%agent\nx = 1",
        "agent = 3\nskill = agent + 1\nassert skill == 4",
        "agent, skill = 1, 2",
        "def agent(x):\n    return x\nassert agent(3) == 3",
        "x = 7 % 4\nagent = 2\nx %agent",
    ],
)
def test_ordinary_code_runs_as_before(recorder: Recorder, source: str) -> None:
    assert recorder.run(source) == []
    plain: Any = TransformerManager()  # type: ignore[no-untyped-call]
    ours = recorder.shell.input_transformer_manager
    assert ours.transform_cell(source) == plain.transform_cell(source)


@given(st.text(alphabet=st.sampled_from("ab ?'\"([{}$\\#%!é\t"), min_size=1, max_size=20))
def test_any_question_of_one_line_reaches_the_magic(text: str) -> None:
    words = f"{text.strip()}?".strip()
    manager: Any = TransformerManager()  # type: ignore[no-untyped-call]

    class Shell:
        input_transformer_manager = manager

    transform.install(Shell())
    expected = f"get_ipython().run_line_magic('skill', {f'x {words}'!r})\n"
    assert manager.transform_cell(f"%skill x {words}") == expected
