"""Skill folders on disk: found within bounds, once per real file, and noticed when they change."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

MAX_DEPTH = 4
MAX_FOLDERS = 5_000
HEAD_BYTES = 16 * 1024

_SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "dist", "build"})

Stamp = tuple[int, int]


@dataclass(frozen=True)
class Found:
    """A skill's file and the folder it is named by."""

    path: Path
    root: Path


@dataclass
class Scan:
    """What one root holds, and how to see cheaply whether that is still so."""

    root: Path
    found: list[Found] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    stamps: dict[str, Stamp | None] = field(default_factory=dict)

    def is_fresh(self) -> bool:
        """Whether no folder and no skill file changed since. One ``stat`` for each."""
        return all(_stamp(path) == stamp for path, stamp in self.stamps.items())


def scan(root: Path) -> Scan:
    """Look for ``<name>/SKILL.md`` below ``root``; a folder that is a skill is not searched."""
    result = Scan(root)
    result.stamps[str(root)] = _stamp(str(root))
    visited: set[str] = set()
    queue: list[tuple[Path, int]] = [(root, 0)]
    while queue:
        folder, depth = queue.pop(0)
        real = os.path.realpath(folder)
        if real in visited:
            continue
        visited.add(real)
        if len(visited) > MAX_FOLDERS:
            result.problems.append(f"{root}: more than {MAX_FOLDERS:,} folders; the rest is left.")
            break
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            result.problems.append(f"{folder} cannot be read: {error.strerror or error}.")
            continue
        result.stamps[str(folder)] = _stamp(str(folder))
        files = [entry for entry in entries if entry.name.casefold() == "skill.md"]
        if depth and files:
            # A disk that tells case apart may hold several; the usual spelling wins.
            file = next((entry for entry in files if entry.name == "SKILL.md"), files[0])
            if entry_is_file(file):
                result.stamps[file.path] = _stamp(file.path)
                result.found.append(Found(Path(file.path), folder))
                continue
        if depth < MAX_DEPTH:
            queue += [
                (Path(entry.path), depth + 1)
                for entry in entries
                if not entry.name.startswith(".")
                and entry.name not in _SKIPPED
                and entry_is_folder(entry)
            ]
    return result


def fault_of_name(name: str) -> str | None:
    """Why a folder's name cannot be typed as a command, or None."""
    if not name.strip() or name in {".", ".."} or "/" in name or "\\" in name or ":" in name:
        return "its name cannot be a command"
    if any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} for char in name):
        return "its name holds control or invisible characters"
    if len(name) > 200:
        return "its name is over 200 characters"
    return None


def name_key(name: str) -> str:
    """Names are the same if a person could not tell them apart when typing."""
    return unicodedata.normalize("NFKC", name).casefold()


def entry_is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def entry_is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _stamp(path: str) -> Stamp | None:
    try:
        stat = os.stat(path)  # noqa: PTH116 (a thousand of these have to be quick)
    except OSError:
        return None
    return (stat.st_mtime_ns, stat.st_size)
