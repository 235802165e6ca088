"""CLAUDE.md and AGENTS.md: what the person and the project want the model to know (SPEC P3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_CHARS = 100_000
"""Of all files together."""

MAX_HOPS = 4
NAMES = ("CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", "CLAUDE.local.md")

_COMMENT = re.compile(r"^[ \t]*<!--.*?-->[ \t]*\n?", re.DOTALL | re.MULTILINE)
_IMPORT = re.compile(r"(?<![\w`@])@((?:~/|\./|\.\./|/)?[\w][\w./~+-]*|~/[\w./+-]+)")


@dataclass
class Instructions:
    """``text`` in reading order, nearest file last; ``files`` that went in; ``cut`` if not all."""

    text: str = ""
    files: list[Path] = field(default_factory=list)
    cut: bool = False


def read_instructions(
    cwd: Path,
    user_folder: Path,
    *,
    limit: int = MAX_CHARS,
    may_read: Callable[[Path], bool] = lambda _path: True,
) -> Instructions:
    """The person's own file, then those of the folders from the root down to ``cwd``.

    A file is read once, by its real path. Files outside the home folder and the project that are
    imported with ``@path`` are left out, and so is what ``may_read`` forbids. Outside of the
    project only Markdown is taken: a checkout may hold links, or imports, of a person's keys.
    What cannot be read is skipped.
    """
    found = Instructions()
    seen: set[Path] = set()
    project = _root(cwd)
    parts: list[str] = []
    for path in _candidates(cwd, user_folder):
        allowed = (user_folder,) if path.parent == user_folder else (project, user_folder)
        for file, text in _read(path, allowed, seen, may_read, project, hops=0):
            found.files.append(file)
            parts.append(f"Contents of {file}:\n\n{text}")
    text = "\n\n".join(parts)
    if len(text) > limit:
        found.cut = True
        # The nearest files matter most, and they come last.
        text = f"(The beginning of these notes is left out.)\n\n{text[-limit:]}"
    found.text = text
    return found


def _root(cwd: Path) -> Path:
    return next((f for f in (cwd, *cwd.parents) if (f / ".git").exists()), cwd)


def _candidates(cwd: Path, user_folder: Path) -> Iterator[Path]:
    yield user_folder / "CLAUDE.md"
    for folder in reversed((cwd, *cwd.parents)):
        for name in NAMES:
            yield folder / name


def _read(
    path: Path,
    allowed: tuple[Path, ...],
    seen: set[Path],
    may_read: Callable[[Path], bool],
    project: Path,
    *,
    hops: int,
) -> Iterator[tuple[Path, str]]:
    try:
        real = path.resolve()
        if real.suffix.lower() != ".md" and not _is_inside(real, (project,)):
            return
        if not may_read(path):
            return
        if real in seen or not real.is_file() or real.stat().st_size > MAX_FILE_BYTES:
            return
        text = real.read_text(encoding="utf-8-sig", errors="replace")
    except (OSError, RuntimeError, ValueError):
        return
    seen.add(real)
    text = _COMMENT.sub("", text).strip()
    if hops < MAX_HOPS:
        for target in _imports(text):
            imported = _target(path.parent, target)
            if imported is not None and _is_inside(imported, allowed):
                yield from _read(imported, allowed, seen, may_read, project, hops=hops + 1)
    if text:
        yield path, text


def _imports(text: str) -> Iterator[str]:
    """``@path`` outside code spans and fences."""
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            for match in _IMPORT.finditer(re.sub(r"`[^`]*`", "", line)):
                yield match.group(1).rstrip(".,;:")


def _target(folder: Path, target: str) -> Path | None:
    try:
        return Path(target).expanduser() if target[0] in "~/" else folder / target
    except RuntimeError:  # no home folder
        return None


def _is_inside(path: Path, folders: tuple[Path, ...]) -> bool:
    try:
        real = path.resolve()
        return any(real.is_relative_to(folder.resolve()) for folder in folders)
    except (OSError, RuntimeError):
        return False
