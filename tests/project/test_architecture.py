"""The house rules that a machine can check: layers, sizes, quiet imports."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

MAX_LINES = 400


def _layers(root: Path) -> str:
    config = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    return " ".join(layers)


def test_imports_keep_the_contracts(root: Path) -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as f; f()"]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_room_has_its_layer(root: Path) -> None:
    package = root / "agent_kernel"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")}
    rooms |= {path.stem for path in package.glob("*.py")} - {"__init__"}
    words = set(_layers(root).replace("(", " ").replace(")", " ").split())
    named = {word.removeprefix("agent_kernel.") for word in words}
    assert rooms - named - {"testing"} == set()


def test_nothing_leans_on_testing(root: Path) -> None:
    """What ships for tests is for tests; the product does without."""
    imports = re.compile(r"^\s*(from|import) agent_kernel\.testing\b", re.MULTILINE)
    leaning = [
        str(path.relative_to(root))
        for path in (root / "agent_kernel").rglob("*.py")
        if path.parent.name != "testing" and imports.search(path.read_text("utf-8"))
    ]
    assert leaning == []


def test_modules_are_small(root: Path) -> None:
    sources = [
        *(root / "agent_kernel").rglob("*.py"),
        *(root / "tests").rglob("*.py"),
        *(root / "labextension" / "scripts").rglob("*.*"),
        *(
            path
            for suffix in ("ts", "tsx", "css")
            for path in (root / "labextension").glob(f"s[rt]*/**/*.{suffix}")
            if path.name != "generated.ts"
        ),
    ]
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in sources}
    too_long = {str(path.relative_to(root)): n for path, n in lines.items() if n > MAX_LINES}
    assert too_long == {}


def test_importing_the_package_loads_nothing() -> None:
    code = (
        "import sys, typing, __future__; before = set(sys.modules); import agent_kernel; "
        "dir(agent_kernel); print(sorted(set(sys.modules) - before))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "['agent_kernel']"


def test_loading_the_extension_stays_light() -> None:
    """``%load_ext`` registers stubs; the heavy libraries come at first use."""
    code = (
        "import sys\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell()\n"
        "before = set(sys.modules)\n"
        "assert shell.extension_manager.load_extension('agent_kernel') is None\n"
        "new = set(sys.modules) - before\n"
        "print([n for n in ('anthropic', 'mcp', 'pydantic', 'jupyterlab') if n in new])\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "[]"


def test_an_unknown_name_is_an_attribute_error() -> None:
    import agent_kernel

    with pytest.raises(AttributeError, match="no attribute 'Sesion'"):
        agent_kernel.Sesion  # noqa: B018


def test_both_halves_have_one_version(root: Path) -> None:
    import agent_kernel

    package = json.loads((root / "labextension" / "package.json").read_text("utf-8"))
    assert package["version"] == agent_kernel.__version__


def test_the_kernelspec_starts_our_kernel(root: Path) -> None:
    spec = json.loads((root / "agent_kernel" / "kernelspec" / "kernel.json").read_text("utf-8"))
    assert spec["display_name"] == "Python 3 (Agent)"
    # jupyter_client replaces a bare "python" by its own interpreter.
    assert spec["argv"] == ["python", "-m", "agent_kernel.jupyter", "-f", "{connection_file}"]
