"""Which tools there are: a plain list, in the order the model sees them."""

from __future__ import annotations

from agent_kernel.tool_types import Tool
from agent_kernel.tools.edit import Edit
from agent_kernel.tools.notebook_edit import NotebookEdit
from agent_kernel.tools.python import Python
from agent_kernel.tools.read import Read
from agent_kernel.tools.run_cell import RunCell
from agent_kernel.tools.skill import Skill
from agent_kernel.tools.variables import Variables
from agent_kernel.tools.write import Write


def default_tools() -> tuple[Tool, ...]:
    """A fresh set. Rules that deny a tool as a whole and ``is_enabled`` are applied later."""
    return (
        Read(),
        Write(),
        Edit(),
        NotebookEdit(),
        RunCell(),
        Python(),
        Variables(),
        Skill(),
    )
