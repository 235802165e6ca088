"""The kernel "Python 3 (Agent)": IPython's, with the extension loaded from the start."""

from __future__ import annotations

from typing import Any

from ipykernel.ipkernel import IPythonKernel

from agent_kernel.jupyter import extension


class AgentKernel(IPythonKernel):
    """An ordinary ``python3`` kernel becomes the same by ``%load_ext agent_kernel``."""

    def start(self) -> None:
        super().start()  # type: ignore[no-untyped-call]
        shell: Any = self.shell
        if shell is not None:
            # Not by the extension manager: so a notebook that also runs on an ordinary kernel may
            # begin with %load_ext without being told that it was loaded already.
            extension.load(shell)
