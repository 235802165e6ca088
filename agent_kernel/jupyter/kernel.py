"""The kernel "Python 3 (Agent)": IPython's, with the extension loaded from the start."""

from __future__ import annotations

from typing import Any

from ipykernel.ipkernel import IPythonKernel


class AgentKernel(IPythonKernel):
    """An ordinary ``python3`` kernel becomes the same by ``%load_ext agent_kernel``."""

    def start(self) -> None:
        super().start()
        shell: Any = self.shell
        if shell is not None:
            shell.extension_manager.load_extension("agent_kernel")
