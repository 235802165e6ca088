"""What the magics do. Imported at the first use; ``extension`` holds the stubs."""

from __future__ import annotations

import builtins
import difflib
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from agent_kernel.errors import AgentKernelError, RunFailed, SettingsError
from agent_kernel.events import RunFinished
from agent_kernel.jupyter import commands
from agent_kernel.jupyter.flags import CellFlags, parse_flags
from agent_kernel.jupyter.parent import running_cell_id
from agent_kernel.jupyter.runs import Order
from agent_kernel.jupyter.views import show_skills, turn_view
from agent_kernel.structured import Shape
from agent_kernel.view.turn_view import say
from agent_kernel.view.words import ENDS

if TYPE_CHECKING:
    from agent_kernel.jupyter.host import KernelHost

EMPTY = (
    "There is no prompt yet. Write what you want below the first line:\n\n"
    "%%agent\nLoad prices.csv and tell me what stands out.\n\n"
    "%agent help lists everything else."
)


class AgentMagics:
    """The magics of one shell. Methods are called on its main thread."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._told_offline: set[str] = set()

    @property
    def host(self) -> KernelHost:
        from agent_kernel.jupyter.host import get_host

        return get_host(self._shell)

    def warm(self) -> None:
        """Do the slow imports now, on whatever thread this is."""
        _ = self.host

    def close(self) -> None:
        """The extension is unloaded."""
        from agent_kernel.jupyter.host import close_host

        close_host(self._shell)

    def agent_cell(self, line: str, cell: str) -> None:
        """``%%agent``: the prompt is the cell, word for word."""
        flags = _usage(parse_flags, line)
        prompt = "\n".join(part for part in (flags.text, cell) if part.strip()).strip("\n")
        if not prompt.strip():
            say(EMPTY)
            return
        self._run(prompt, flags)

    def agent_line(self, line: str) -> None:
        """``%agent``: one of our commands."""
        line = line.strip()
        name, _, args = line.partition(" ")
        if not line or name == "?":
            name = "help"
        if commands.find(name) is None:
            say(commands.unknown_text(line))
        elif name == "help":
            say(commands.help_text())
        elif name == "setup":
            self._setup()
        elif name == "skills":
            self._list_skills()
        elif name == "mode" and args.strip() and self._is_agents_code():
            raise UsageError("Code that the agent runs cannot change the mode. Do it yourself.")
        else:
            text = _usage(lambda: self.host.call(commands.run(self.host, name, args)))
            say(text)

    def _is_agents_code(self) -> bool:
        """Whether what runs now was started by a run, as ``Python`` or as a cell."""
        host = self.host
        return host.jobs.runs_here or host.asked.on_main(running_cell_id(self._shell))

    def skill(self, line: str) -> None:
        """``%skill name args``; without a name, the list."""
        name, args = _first_word(line)
        if not name:
            self._list_skills()
            return
        name = name.removeprefix("/")
        if self.host.call(self.host.session.commands.find(name)) is None:
            raise UsageError(self._no_skill(name))
        self._run("", CellFlags(), command=(name, args))

    def _run(self, prompt: str, flags: CellFlags, command: tuple[str, str] | None = None) -> None:
        host = self.host
        if flags.mode is not None:
            _usage(host.session.parts.check_mode, flags.mode)
        schema = self._type_named(flags.schema_name) if flags.schema_name else None
        self._tell_offline()
        order = Order(
            prompt,
            cell_id=running_cell_id(self._shell),
            mode=flags.mode,
            model=flags.model,
            max_turns=flags.max_turns,
            new=flags.new,
            resume=flags.resume,
            command=command,
            schema=schema,
        )
        view = turn_view(host, self._shell)
        try:
            finished = host.run_cell(order, view=view)
        except AgentKernelError as error:
            if isinstance(error, RunFailed):
                raise
            raise UsageError(str(error)) from None
        finally:
            view.close()
        raise_for(finished)
        if flags.out is not None:
            made = finished.text if schema is None else Shape(schema).object(finished.value)
            self._shell.user_ns[flags.out] = made

    def _type_named(self, name: str) -> object:
        """The type that a variable holds, such as a pydantic model."""
        first, *parts = name.split(".")
        try:
            found = self._shell.user_ns.get(first) or getattr(builtins, first)
            for part in parts:
                found = getattr(found, part)
            Shape(found)
        except AttributeError:
            raise UsageError(f"--schema: nothing is named {name!r} here.") from None
        except ValueError as error:
            raise UsageError(f"--schema: {error}") from None
        return found

    def _tell_offline(self) -> None:
        """Once per conversation, before its first answer."""
        session = self.host.session
        if session.session_id in self._told_offline:
            return
        self._told_offline.add(session.session_id)
        if session.snapshot().model.offline:
            say(commands.OFFLINE)

    def _list_skills(self) -> None:
        show_skills(self.host, self._shell, self.host.call(commands.list_skills(self.host)))

    def _no_skill(self, name: str) -> str:
        names = [skill.name for skill in self.host.call(commands.list_skills(self.host))]
        close = difflib.get_close_matches(name, names, n=3)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        return f"There is no skill {name!r}.{hint} %skill alone lists them."

    def _setup(self) -> None:
        import getpass

        settings = self.host.session.settings
        where = settings.base_url or "api.anthropic.com"
        try:
            key = getpass.getpass(f"API key for {where} (it is not shown): ").strip()
        except (EOFError, RuntimeError, NotImplementedError):
            # The front end cannot ask: ipykernel's StdinNotImplementedError is the last of these.
            say("This front end cannot ask for a key. Set ANTHROPIC_API_KEY before you start.")
            return
        if not key:
            say("Nothing was saved.")
            return
        say(_usage(self.host.save_key, key))


def raise_for(finished: RunFinished) -> None:
    """Raise ``RunFailed`` for the ends after which *run all* must stop (SPEC N4)."""
    if finished.end.raises:
        sentence = ENDS[finished.end]
        detail = f". {finished.detail}" if finished.detail else ""
        raise RunFailed(f"{sentence}{detail}", end=finished.end.value) from None


def _first_word(line: str) -> tuple[str, str]:
    parts = line.strip().split(None, 1)
    return (parts[0], parts[1]) if len(parts) == 2 else ("".join(parts), "")


def _usage(function: Any, *args: Any) -> Any:
    """Call it; a mistake of the person is said in one line instead of a traceback."""
    try:
        return function(*args)
    except SettingsError as error:
        raise UsageError(str(error)) from None
