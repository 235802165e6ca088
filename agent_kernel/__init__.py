"""A coding and data agent that lives inside a notebook.

Importing this package does nothing: no library of the agent is loaded until a name is
used. ``%load_ext agent_kernel`` registers the magics; ``AgentSession`` is the Python API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from agent_kernel.loop.budget import Budget
    from agent_kernel.session import AgentSession

__version__ = "0.1.0"

__all__ = [
    "AgentSession",
    "Budget",
    "__version__",
    "load_ipython_extension",
    "unload_ipython_extension",
]

_EXPORTS = {"AgentSession": "agent_kernel.session", "Budget": "agent_kernel.loop.budget"}


def __getattr__(name: str) -> Any:
    """Import an exported name when it is first asked for."""
    home = _EXPORTS.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """``%load_ext agent_kernel``."""
    from agent_kernel.jupyter import extension

    extension.load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """``%unload_ext agent_kernel``."""
    from agent_kernel.jupyter import extension

    extension.unload(shell)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Where ``jupyter labextension develop`` finds the built extension."""
    return [{"src": "labextension", "dest": "jupyter-agent-kernel"}]
