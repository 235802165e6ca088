"""``%agent <command>``, and the panel's ``command``: one table of what the product itself can do.

Handlers run on the agent loop and give back text; they know the host by its Protocol only.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agent_kernel import __version__
from agent_kernel.jupyter import context_commands, session_commands
from agent_kernel.jupyter.flags import FORM, MODES, mode_named
from agent_kernel.view.skills import skills_text
from agent_kernel.vocabulary import SkillInfo
from agent_kernel.wire import ModelStatus

if TYPE_CHECKING:
    from agent_kernel.events import RunFinished
    from agent_kernel.jupyter.sessions import NotebookSessions
    from agent_kernel.session import AgentSession

OFFLINE = (
    "Offline: no model is set up, so answers come from scripts shipped with the package. "
    "They fit the tour notebook and little else.\n"
    "To use a real model: %agent setup saves an API key, or set ANTHROPIC_API_KEY before you start "
    "Jupyter; ANTHROPIC_BASE_URL names any other server that speaks the Messages API."
)


class CommandHost(Protocol):
    """What a command may use of the kernel's host."""

    @property
    def session(self) -> AgentSession: ...

    @property
    def sessions(self) -> NotebookSessions: ...

    async def compact(self, focus: str) -> RunFinished:
        """Summarise the conversation as a run of its own, which can be stopped like any other."""
        ...

    def facts(self) -> Sequence[tuple[str, str]]:
        """What the front end can do, as lines of "name", "what"."""
        ...


Handler = Callable[[CommandHost, str], Awaitable[str]]


@dataclass(frozen=True)
class BuiltIn:
    """One command. ``usage`` is what may follow the name."""

    name: str
    summary: str
    run: Handler
    usage: str = ""


async def _help(_host: CommandHost, _args: str) -> str:
    return help_text()


async def _status(host: CommandHost, _args: str) -> str:
    session = host.session
    status = await session.model_status()
    lines = [
        ("Session", session.session_id),
        ("Run", session.running or "none"),
        ("Model", model_words(status)),
        ("Mode", session.mode),
        *host.facts(),
        ("State kept in", str(session.settings.home)),
        ("Transcripts", str(_transcripts(session))),
        ("Version", __version__),
    ]
    width = max(len(name) for name, _ in lines)
    text = "\n".join(f"{name:<{width}}  {value}" for name, value in lines)
    notices = "".join(f"\nNote: {notice}" for notice in session.settings.notices)
    return text + notices + (f"\n\n{OFFLINE}" if status.offline else "")


def _transcripts(session: AgentSession) -> Path:
    from agent_kernel.store.folders import session_folder

    return session_folder(session.settings.home, session.settings.cwd)


def model_words(status: ModelStatus) -> str:
    """Which model answers, from where, with whose key; never the key itself."""
    if status.offline:
        return "none (offline: scripted answers)"
    where = f" at {status.endpoint}" if status.endpoint else ""
    key = f", key: {status.key_source}" if status.key_source else ""
    return f"{status.model}{where}{key}"


async def _stop(host: CommandHost, _args: str) -> str:
    return "Stopped." if await host.session.stop() else "Nothing is running."


async def _new(host: CommandHost, _args: str) -> str:
    try:
        text = f"A new conversation: {host.session.new()}"
    except RuntimeError as error:
        return str(error)
    host.sessions.note()
    return text


async def _mode(host: CommandHost, args: str) -> str:
    if not args:
        return f"The mode is {host.session.mode}. The modes are: {', '.join(MODES)}."
    mode = mode_named(args)
    host.session.set_mode(mode)
    return f"The mode is {mode} now: {_MODES[mode]}"


_MODES = {
    "default": "what no rule allows is asked.",
    "acceptEdits": "edits of files and cells go through, the rest is asked.",
    "plan": "nothing is changed or run until you approve a plan.",
    "dontAsk": "what no rule allows is denied without asking.",
    "bypassPermissions": "nothing is asked; only deny and ask rules still hold.",
}


async def _model(host: CommandHost, args: str) -> str:
    if args:
        host.session.set_model(args)
    return f"Model: {model_words(await host.session.model_status())}"


async def _skills(host: CommandHost, _args: str) -> str:
    return skills_text(await list_skills(host))


async def list_skills(host: CommandHost) -> tuple[SkillInfo, ...]:
    """The skills a view lists, in the order they win."""
    return tuple(command.info for command in await host.session.commands.list())


async def _setup(_host: CommandHost, _args: str) -> str:
    return (
        "A key is typed where it is not shown: run %agent setup in a cell, "
        "or use the field of the panel."
    )


COMMANDS: tuple[BuiltIn, ...] = (
    BuiltIn("help", "this list", _help),
    BuiltIn(
        "status", "session, model, mode, abilities of the front end, where state is kept", _status
    ),
    BuiltIn("stop", "end the run that is on", _stop),
    BuiltIn("new", "begin another conversation", _new),
    BuiltIn("sessions", "the stored conversations of this folder", session_commands.sessions),
    BuiltIn(
        "resume",
        "go on with this notebook's conversation, or another",
        session_commands.resume,
        "[id]",
    ),
    BuiltIn("continue", "go on with the newest conversation", session_commands.newest),
    BuiltIn("fork", "go on with a copy of this conversation", session_commands.fork),
    BuiltIn(
        "export", "write this conversation to a Markdown file", session_commands.export, "[file]"
    ),
    BuiltIn(
        "compact",
        "summarise the conversation, to make room",
        context_commands.compact,
        "[what to keep]",
    ),
    BuiltIn("clear", "empty the conversation: begin another", context_commands.clear),
    BuiltIn("context", "what fills the model's window", context_commands.context),
    BuiltIn("mode", "show or set how permission is asked", _mode, "[" + "|".join(MODES) + "]"),
    BuiltIn("model", "show or set the model", _model, "[name]"),
    BuiltIn("skills", "list the skills", _skills),
    BuiltIn("setup", "save an API key, typed without being shown", _setup),
)


def find(name: str) -> BuiltIn | None:
    return next((command for command in COMMANDS if command.name == name), None)


async def run(host: CommandHost, name: str, args: str = "") -> str | None:
    """Run a command by name; None if there is none. Raises ``SettingsError`` for bad arguments."""
    command = find(name)
    return None if command is None else await command.run(host, args.strip())


def help_text() -> str:
    """All commands, and the three ways to talk to the agent."""
    heads = [f"%agent {c.name} {c.usage}".rstrip() for c in COMMANDS]
    width = max(len(head) for head in heads if len(head) < 30)
    lines = [
        f"  {head:<{width}}  {command.summary}"
        for head, command in zip(heads, COMMANDS, strict=True)
    ]
    return "\n".join(
        [
            "%%agent and a prompt below it: the agent answers in that cell.",
            "%skill name arguments: run a skill; %skill alone lists them.",
            "",
            *lines,
            "",
            f"Flags of {FORM}",
        ]
    )


def unknown_text(line: str) -> str:
    """What to say for a line that names no command. It may well be a prompt."""
    word = line.split(maxsplit=1)[0]
    close = difflib.get_close_matches(word, [c.name for c in COMMANDS], n=1, cutoff=0.7)
    if len(line.split()) > 2 or (not close and len(line.split()) > 1):
        return (
            "%agent takes commands. To ask something, put it in a cell like this:\n\n"
            f"%%agent\n{line}\n\n%agent help lists the commands."
        )
    hint = f" Did you mean %agent {close[0]}?" if close else ""
    return f"%agent knows no command {word!r}.{hint}\n\n{help_text()}"
