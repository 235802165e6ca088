"""What the commands of ``agent-kernel`` do."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from agent_kernel.errors import SettingsError
from agent_kernel.headless.runner import (
    Outcome,
    Plan,
    event_line,
    outcome_line,
    run_notebook,
    tally,
)

TOUR = "tour.ipynb"
TOUR_POLICY = ("NotebookEdit", "RunCell", "Python")
"""What the demo allows: the tour's cells are the package's own."""

_FOREIGN = ("ANTHROPIC_", "CLAUDE_", "AGENT_KERNEL_", "JPY_SESSION_NAME")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _execute(plan: Plan) -> int:
    outcome = asyncio.run(run_notebook(plan, _write))
    _write(f"\n{tally(outcome)}\nThe executed notebook: {plan.out}\n")
    return 0 if outcome.ok else 1


def _execute_as_json(plan: Plan) -> int:
    """The same with nothing but JSON lines on the standard output, the outcome last."""
    plan = replace(plan, on_event=lambda event: _write(event_line(event)))
    try:
        outcome = asyncio.run(run_notebook(plan, lambda _text: None))
    except SettingsError as error:
        _write(outcome_line(Outcome(problems=[str(error)])))
        raise
    _write(outcome_line(outcome, plan.out))
    return 0 if outcome.ok else 1


def run(options: argparse.Namespace) -> int:
    """``agent-kernel run``. Raises ``SettingsError`` for what cannot begin."""
    notebook = Path(options.notebook)
    env = dict(os.environ)
    if options.max_turns is not None:
        env["AGENT_KERNEL_MAX_TURNS"] = str(options.max_turns)
    plan = Plan(
        notebook=notebook,
        out=Path(options.out) if options.out else notebook.with_suffix(".run.ipynb"),
        allow=tuple(options.allow),
        mode=options.mode,
        timeout=options.timeout,
        kernel=options.kernel,
        env=env,
        log=Path(options.log) if options.log else None,
        resume="newest" if options.newest else options.resume,
    )
    return _execute_as_json(plan) if options.json else _execute(plan)


def sessions(options: argparse.Namespace) -> int:
    """``agent-kernel sessions``: the stored conversations of this folder."""
    from agent_kernel.session import AgentSession

    found = AgentSession(cwd=Path(options.folder)).sessions()
    for summary in found:
        if options.json:
            _write(json.dumps(summary.model_dump(mode="json")) + "\n")
        else:
            _write(f"{summary.session_id}  {summary.updated}  {summary.title}\n")
    if not found and not options.json:
        _write("No conversation of this folder is stored.\n")
    return 0


def demo(options: argparse.Namespace) -> int:
    """``agent-kernel demo``: the tour, offline, with nothing of the person's own in play."""
    tour = tour_notebook()
    out = Path(options.out) if options.out else Path("artifacts") / "demo" / TOUR
    with tempfile.TemporaryDirectory(prefix="agent-kernel-demo-") as home:
        env = {k: v for k, v in os.environ.items() if not k.startswith(_FOREIGN)}
        env |= {
            "AGENT_KERNEL_HOME": str(Path(home, "state")),
            # Settings, skills and profiles of the person do not belong to the demo.
            "CLAUDE_CONFIG_DIR": str(Path(home, "claude")),
            "ANTHROPIC_CONFIG_DIR": str(Path(home, "anthropic")),
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        }
        _write(
            f"The tour on the offline model: {tour}\n"
            f"Allowed without asking in this run: {', '.join(TOUR_POLICY)}\n"
        )
        return _execute(Plan(notebook=tour, out=out, allow=TOUR_POLICY, timeout=120, env=env))


def tour_notebook() -> Path:
    """The tour: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "notebooks", package.parent / "notebooks"):
        if (folder / TOUR).is_file():
            return folder / TOUR
    raise SettingsError("The tour notebook is not part of this installation.")


def lab(options: argparse.Namespace) -> int:
    """``agent-kernel lab``: JupyterLab of this Python with the tour open."""
    import importlib.util
    import subprocess

    if importlib.util.find_spec("jupyterlab") is None:
        raise SettingsError("JupyterLab is not installed here: pip install 'jupyterlab>=4.6'")
    command = [sys.executable, "-m", "jupyterlab", *options.arguments, str(tour_notebook())]
    return subprocess.run(command, check=False).returncode


def install(options: argparse.Namespace) -> int:
    """``agent-kernel install``: a kernelspec with this interpreter's absolute path."""
    from jupyter_client.kernelspec import KernelSpecManager

    source = Path(__file__).resolve().parents[1] / "kernelspec"
    with tempfile.TemporaryDirectory() as folder:
        for file in source.iterdir():
            Path(folder, file.name).write_bytes(file.read_bytes())
        spec = json.loads((source / "kernel.json").read_text("utf-8"))
        spec["argv"][0] = sys.executable
        spec["display_name"] = options.display_name
        Path(folder, "kernel.json").write_text(json.dumps(spec, indent=2) + "\n", "utf-8")
        prefix = sys.prefix if options.sys_prefix else options.prefix
        try:
            place = KernelSpecManager().install_kernel_spec(
                folder, options.name, user=prefix is None, prefix=prefix
            )
        except (OSError, ValueError) as error:
            raise SettingsError(f"The kernel was not installed: {error}") from error
    _write(f"The kernel {options.display_name!r} is installed: {place}\n")
    return 0
