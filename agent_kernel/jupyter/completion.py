"""Completion in the panel: ``/`` skills and commands, ``@`` variables, cells and files."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_kernel.errors import AgentKernelError
from agent_kernel.jupyter import commands
from agent_kernel.notebook.variables import describe
from agent_kernel.wire import CompleteParams, CompleteResult

if TYPE_CHECKING:
    from agent_kernel.jupyter.host import KernelHost

MAX_MATCHES = 40
_AT = re.compile(r"(?<!\S)@([\w:./~-]*)$")
_SLASH = re.compile(r"^\s*/([\w:.-]*)$")


async def complete(host: KernelHost, params: CompleteParams) -> CompleteResult:
    """What may stand at the cursor."""
    cursor = max(0, min(params.cursor, len(params.text)))
    before = params.text[:cursor]
    if slash := _SLASH.search(before):
        start = slash.start(1) - 1
        words = [f"/{name}" for name in await _names(host) if name.startswith(slash[1])]
    elif at := _AT.search(before):
        start = at.start(1) - 1
        words = [f"@{word}" for word in await _things(host, at[1])]
    else:
        return CompleteResult(start=cursor, end=cursor)
    return CompleteResult(start=start, end=cursor, matches=tuple(words[:MAX_MATCHES]))


async def _names(host: KernelHost) -> list[str]:
    skills = [skill.name for skill in await commands.list_skills(host) if skill.user_invocable]
    own = [command.name for command in commands.COMMANDS]
    return list(dict.fromkeys([*skills, *own]))


async def _things(host: KernelHost, word: str) -> list[str]:
    found = [name for name in _variables(host.shell) if name.startswith(word)]
    if "cell".startswith(word[:4]) and word:
        found += [name for name in await _cells(host) if name.startswith(word)]
    cwd = host.session.parts.cwd
    found += await asyncio.to_thread(_files, cwd, word)
    return found


def _variables(shell: Any) -> list[str]:
    hidden = getattr(shell, "user_ns_hidden", None)
    return [info.name for info in describe(shell.user_ns, None, hidden=hidden)]


async def _cells(host: KernelHost) -> list[str]:
    try:
        state = await host.notebook.read()
    except AgentKernelError:
        return []
    return [f"cell:{number}" for number in range(1, len(state.cells) + 1)]


def _files(cwd: Path, word: str) -> list[str]:
    folder, _, name = word.rpartition("/")
    base = cwd / folder if folder else cwd
    try:
        with os.scandir(base) as entries:
            names = sorted(
                entry.name + ("/" if entry.is_dir() else "")
                for entry in entries
                if entry.name.startswith(name) and (name or not entry.name.startswith("."))
            )
    except OSError:
        return []
    return [f"{folder}/{name}" if folder else name for name in names]
