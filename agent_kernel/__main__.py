"""``agent-kernel``: run notebooks without a person, show the demo, install the kernel.

Everything is imported when its command runs, so ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from agent_kernel import __version__

MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")
"""As in ``vocabulary.PermissionMode``, which is too slow to import for ``--help``."""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="agent-kernel", description=__doc__.split("\n", 1)[0])
    top.add_argument("--version", action="version", version=f"agent-kernel {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")

    run = commands.add_parser(
        "run",
        help="run a notebook from top to bottom without asking anybody",
        description="Runs all cells in order. What a person would be asked is answered by the "
        "rules given here; what no rule allows is denied. Exit status 0: all went well; 1: a cell "
        "or turn failed; 2: it could not begin; 130: interrupted.",
    )
    run.add_argument("notebook", help="the notebook; it is read and left as it is")
    run.add_argument("--out", help="where the executed copy goes (default: NAME.run.ipynb beside)")
    run.add_argument(
        "--allow", action="append", default=[], metavar="RULE", help="such as RunCell; repeatable"
    )
    run.add_argument("--mode", choices=MODES, help="how permission is asked")
    run.add_argument("--max-turns", type=_positive, metavar="N", help="model calls per prompt")
    run.add_argument(
        "--timeout", type=_positive, default=1800, metavar="S", help="seconds per cell (1800)"
    )
    run.add_argument("--kernel", default="agent_kernel", help="another kernel by its name")
    run.add_argument("--log", metavar="FILE", help="write the events of all turns as JSON lines")

    run.add_argument(
        "--json", action="store_true", help="JSON lines on the standard output: events, outcome"
    )
    which = run.add_mutually_exclusive_group()
    which.add_argument(
        "--resume", nargs="?", const="own", metavar="ID",
        help="go on with a stored conversation: the notebook's own, or this one",
    )  # fmt: skip
    which.add_argument(
        "--continue", dest="newest", action="store_true", help="go on with the newest conversation"
    )

    listed = commands.add_parser("sessions", help="list the stored conversations of a folder")
    listed.add_argument("folder", nargs="?", default=".", help="the folder (this one)")
    listed.add_argument("--json", action="store_true", help="as JSON lines")

    demo = commands.add_parser("demo", help="run the tour notebook on the offline model")
    demo.add_argument("--out", help="where the executed copy goes")

    lab = commands.add_parser("lab", help="open the tour notebook in JupyterLab")
    lab.add_argument("arguments", nargs=argparse.REMAINDER, help="passed on to jupyter lab")

    install = commands.add_parser("install", help="add this Python as the kernel Python 3 (Agent)")
    where = install.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for you only (the default)")
    where.add_argument("--sys-prefix", action="store_true", help="into this environment")
    where.add_argument("--prefix", help="into another prefix")
    install.add_argument("--name", default="agent_kernel", help="the kernel's name")
    install.add_argument("--display-name", default="Python 3 (Agent)")
    return top


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("a whole number from 1 on")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 all went well, 1 something failed, 2 it could not begin."""
    options = parser().parse_args(arguments)
    from agent_kernel.errors import SettingsError
    from agent_kernel.headless import commands

    for stream in (sys.stdout, sys.stderr):
        # A console or pipe of another encoding must not end a run at a bullet.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    try:
        match options.command:
            case "run":
                return commands.run(options)
            case "sessions":
                return commands.sessions(options)
            case "demo":
                return commands.demo(options)
            case "lab":
                return commands.lab(options)
            case _:
                return commands.install(options)
    except SettingsError as error:
        print(f"agent-kernel: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
