"""Facts about where the agent works: system, folder, git. Bounded in time and size."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
from datetime import datetime
from pathlib import Path

GIT_SECONDS = 2.0
STATUS_CHARS = 2_000


def environment_text(cwd: Path, model: str, *, kernel: bool) -> str:
    """The environment section."""
    shell = Path(os.environ.get("SHELL") or os.environ.get("COMSPEC") or "unknown").name
    python = f"Python {platform.python_version()}"
    return "\n".join(
        (
            "# Environment",
            "",
            f"- Working folder: {cwd}",
            f"- System: {platform.system()} {platform.release()} ({platform.machine()})",
            f"- Shell: {shell}",
            f"- {'Kernel' if kernel else 'Interpreter'}: {python}",
            f"- Model: {model}",
        )
    )


def date_text(now: float) -> str:
    """The local date of a time in seconds since the epoch, ISO 8601."""
    return datetime.fromtimestamp(now).astimezone().date().isoformat()


async def git_text(cwd: Path, *, seconds: float = GIT_SECONDS) -> str:
    """Branch, user, short status and recent commits; empty outside a repository.

    What git does not answer in time is left out.
    """
    git = shutil.which("git")
    if git is None:
        return ""
    branch = await _git(git, cwd, seconds, "symbolic-ref", "--short", "-q", "HEAD")
    head = await _git(git, cwd, seconds, "rev-parse", "--short", "HEAD")
    if not branch and not head:
        return ""
    user, status, log = await asyncio.gather(
        _git(git, cwd, seconds, "config", "user.name"),
        _git(git, cwd, seconds, "status", "--short"),
        _git(git, cwd, seconds, "log", "--oneline", "-n", "5", "--no-decorate"),
    )
    if len(status or "") > STATUS_CHARS:
        status = f"{(status or '')[:STATUS_CHARS]}\n(and more)"
    lines = ["# Git, as it was when this conversation began", ""]
    lines.append(f"- Branch: {branch or f'none (detached at {head})'}")
    if user:
        lines.append(f"- User: {user}")
    lines.append(f"- Status:\n{_indent(status)}" if status else "- Status: clean")
    if status is None:
        lines[-1] = "- Status: not known (git did not answer in time)"
    if log:
        lines.append(f"- Recent commits:\n{_indent(log)}")
    return "\n".join(lines)


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


async def _git(git: str, cwd: Path, seconds: float, *arguments: str) -> str | None:
    """Output of a git command that only looks; None if it failed or took too long.

    A folder's own git configuration can name programs to run; those that plain looking would
    start are switched off.
    """
    options = (
        "-c", "core.fsmonitor=false", "-c", "core.pager=cat", "-c", "log.showSignature=false",
        "-c", f"core.hooksPath={os.devnull}", "--no-optional-locks",
    )  # fmt: skip
    try:
        process = await asyncio.create_subprocess_exec(
            git,
            *options,
            *arguments,
            cwd=cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"},
        )
    except OSError:
        return None
    try:
        out, _ = await asyncio.wait_for(process.communicate(), seconds)
    except (TimeoutError, asyncio.CancelledError) as error:
        if process.returncode is None:
            process.kill()
            await process.wait()
        if isinstance(error, asyncio.CancelledError):
            raise
        return None
    return out.decode("utf-8", "replace").rstrip("\n") if process.returncode == 0 else None
