"""The sections that are fixed text, kept as Markdown files."""

from __future__ import annotations

from functools import cache
from importlib import resources

STATIC = ("role", "system", "tasks", "care", "tools", "tone", "notebook")
"""Those that every conversation gets, in the order in which the model reads them."""


@cache
def section(name: str) -> str:
    """A section's text. Read once per process."""
    file = resources.files("agent_kernel.prompt") / "sections" / f"{name}.md"
    return file.read_text(encoding="utf-8").strip()
