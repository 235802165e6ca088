"""``%agent sessions``, ``resume``, ``continue``, ``fork`` and ``export``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agent_kernel.errors import SettingsError, StoreError
from agent_kernel.view import words
from agent_kernel.view.markdown import render

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_kernel.jupyter.commands import CommandHost

LISTED = 20


async def sessions(host: CommandHost, args: str) -> str:
    """The newest conversations of this folder, or with ``all`` every one."""
    found = host.session.sessions()
    if not found:
        return "No conversation of this folder is stored yet."
    own = host.sessions.own()
    shown = found if args == "all" else found[:LISTED]
    lines = []
    for summary in shown:
        marks = ["here"] if summary.session_id == host.session.session_id else []
        if own is not None and own.session_id == summary.session_id:
            marks.append("this notebook's")
        note = f"  ({', '.join(marks)})" if marks else ""
        lines.append(f"{summary.session_id}  {_local(summary.updated)}  {summary.title[:80]}{note}")
    if len(shown) < len(found):
        lines.append(f"and {len(found) - len(shown)} more: %agent sessions all")
    lines += ["", "%agent resume ID goes on with one; the first characters of the id are enough."]
    return "\n".join(lines)


async def resume(host: CommandHost, args: str) -> str:
    """The notebook's own conversation, or the one that is named."""
    if not args and host.sessions.own() is None:
        return (
            "This notebook names no conversation that is stored here. %agent continue takes the "
            f"newest; or name one:\n\n{await sessions(host, '')}"
        )
    return _said(lambda: host.sessions.resume(args or None))


async def newest(host: CommandHost, _args: str) -> str:
    """The newest conversation of this folder."""
    return _said(lambda: host.sessions.resume(host.session.find_session(None).session_id))


async def fork(host: CommandHost, _args: str) -> str:
    """A copy of the conversation, to go on with."""
    return _said(host.sessions.fork)


async def export(host: CommandHost, args: str) -> str:
    """The conversation as a Markdown file, which must not exist yet. Raises ``SettingsError``."""
    session = host.session
    runs = session.snapshot().runs
    if not runs:
        return "There is nothing to export yet."
    path = _file(args, session.settings.cwd, f"{session.session_id}.md")
    scrub = session.parts.scrub
    parts = [render(run, scrub=scrub, limit=10_000_000) for run in runs]
    text = f"# Conversation {session.session_id}\n\n" + "\n---\n\n".join(parts)
    try:
        with path.open("x", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except FileExistsError:
        raise SettingsError(f"{path} exists already. Name another file.") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}.") from error
    return f"{words.count(len(runs), 'turn')} written to {path}"


def _file(name: str, folder: Path, default: str) -> Path:
    return folder / Path(name.strip("\"'") or default).expanduser()


def _said(do: Callable[[], str]) -> str:
    try:
        return do()
    except (StoreError, RuntimeError) as error:
        return str(error)


def _local(updated: str) -> str:
    """A time in UTC as the person's clock shows it."""
    try:
        return datetime.fromisoformat(updated).replace(tzinfo=UTC).astimezone().strftime(
            "%Y-%m-%d %H:%M"
        )  # fmt: skip
    except ValueError:
        return updated
