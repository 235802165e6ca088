"""``%load_ext agent_kernel``: registers stubs; what they do is imported when it is used.

This module may import IPython and the standard library only: loading it must take no time in
anybody's start-up files, so pydantic, the model's SDK and the widgets wait for the first use.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from IPython.core.magic import no_var_expand

from agent_kernel.jupyter import transform

if TYPE_CHECKING:
    from agent_kernel.jupyter.magics import AgentMagics

SESSION_TARGET = "agent_kernel.session"
BELL_TARGET = "agent_kernel.frontend"
# The same as in ``agent_kernel.wire``, which is too slow to import here; a test compares them.

_ATTRIBUTE = "_agent_kernel_extension"
_NAMES = transform.NAMES
_WARM_AFTER = 2.0  # seconds of grace before the slow imports are done in the background


class Extension:
    """What was registered in one shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._magics: AgentMagics | None = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def magics(self) -> AgentMagics:
        """The magics themselves; the first call imports them."""
        with self._lock:
            if self._magics is None:
                from agent_kernel.jupyter.magics import AgentMagics

                self._magics = AgentMagics(self._shell)
            return self._magics

    def load(self) -> None:
        """Register both names as line and cell magics, the transformers and the comm target."""

        @no_var_expand
        def agent(line: str, cell: str | None = None) -> None:
            """Talk to the agent: ``%%agent`` and a prompt below; ``%agent help`` for more."""
            magics = self.magics()
            if cell is None:
                magics.agent_line(line)
            else:
                magics.agent_cell(line, cell)

        @no_var_expand
        def skill(line: str, cell: str | None = None) -> None:
            """Run a skill: ``%skill name arguments``; ``%skill`` alone lists them."""
            self.magics().skill(line if cell is None else f"{line}\n{cell}")

        for function in (agent, skill):
            self._shell.register_magic_function(
                function, magic_kind="line_cell", magic_name=function.__name__
            )
        transform.install(self._shell)
        if getattr(self._shell, "kernel", None) is not None:
            self._listen()
            self._timer = threading.Timer(_WARM_AFTER, self._warm)
            self._timer.daemon = True
            self._timer.start()

    def unload(self) -> None:
        """Take back what ``load`` did; a run that is on is stopped."""
        if self._timer is not None:
            self._timer.cancel()
        transform.uninstall(self._shell)
        for kind in ("line", "cell"):
            for name in _NAMES:
                self._shell.magics_manager.magics[kind].pop(name, None)
        if getattr(self._shell, "kernel", None) is not None:
            import comm

            comm.get_comm_manager().targets.pop(SESSION_TARGET, None)
        if self._magics is not None:
            self._magics.close()

    def _listen(self) -> None:
        """Let pages open their comms, and ring the bell for those that are open already."""
        from agent_kernel.jupyter import frontend

        frontend.listen(self._shell)

    def _warm(self) -> None:
        try:
            self.magics().warm()
        except Exception:  # noqa: BLE001 - the first use will say what is wrong
            return


def load(shell: Any) -> None:
    """Load once; loading again changes nothing."""
    if getattr(shell, _ATTRIBUTE, None) is None:
        extension = Extension(shell)
        setattr(shell, _ATTRIBUTE, extension)
        extension.load()


def unload(shell: Any) -> None:
    """Unload if it is loaded."""
    extension: Extension | None = getattr(shell, _ATTRIBUTE, None)
    if extension is not None:
        delattr(shell, _ATTRIBUTE)
        extension.unload()
