"""``%load_ext agent_kernel`` in a Python of its own: cheap, complete, and gone after unload."""

from __future__ import annotations

import json
import subprocess
import sys

from agent_kernel.jupyter import extension
from agent_kernel.wire import BELL_TARGET, SESSION_TARGET

SLOW = ("anthropic", "mcp", "pydantic", "jupyterlab", "ipywidgets", "anywidget", "nbformat")
SHELL = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
"""


def python(code: str) -> dict[str, object]:
    """Run code that prints one JSON object last; that object."""
    done = subprocess.run(
        [sys.executable, "-c", SHELL + code], capture_output=True, text=True, check=True
    )
    result: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_loading_imports_none_of_the_slow_libraries() -> None:
    found = python(f"""
before = set(sys.modules)
shell.run_line_magic("load_ext", "agent_kernel")
new = set(sys.modules) - before
print(json.dumps({{"slow": [name for name in {SLOW!r} if name in new]}}))
""")
    assert found == {"slow": []}


def test_both_names_are_line_and_cell_magics_without_expansion() -> None:
    found = python("""
shell.run_line_magic("load_ext", "agent_kernel")
magics = shell.magics_manager.magics
print(json.dumps({
    kind: [name in magics[kind] and magics[kind][name]._ipython_magic_no_var_expand
           for name in ("agent", "skill")]
    for kind in ("line", "cell")}))
""")
    assert found == {"line": [True, True], "cell": [True, True]}


def test_loading_puts_nothing_into_the_users_namespace() -> None:
    found = python("""
before = set(shell.user_ns)
shell.run_line_magic("load_ext", "agent_kernel")
shell.run_cell("%agent help")
shell.run_cell("%%agent")
print(json.dumps({"new": sorted(n for n in set(shell.user_ns) - before if not n.startswith("_i"))}))
""")
    assert found == {"new": []}


def test_unloading_takes_everything_back() -> None:
    found = python("""
def places():
    manager = shell.input_transformer_manager
    return [len(manager.cleanup_transforms), len(manager.line_transforms),
            len(manager.token_transformers), sorted(map(str, shell.magics_manager.magics["line"])),
            sorted(map(str, shell.magics_manager.magics["cell"]))]
before = places()
shell.run_line_magic("load_ext", "agent_kernel")
shell.run_line_magic("load_ext", "agent_kernel")
shell.run_line_magic("unload_ext", "agent_kernel")
print(json.dumps({"same": places() == before}))
""")
    assert found == {"same": True}


def test_the_names_of_the_comms_are_those_of_the_wire() -> None:
    assert (extension.SESSION_TARGET, extension.BELL_TARGET) == (SESSION_TARGET, BELL_TARGET)
