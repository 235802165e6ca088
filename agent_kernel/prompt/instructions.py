"""CLAUDE.md and AGENTS.md: what the person and the project want the model to know (SPEC P3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pathspec import GitIgnoreSpec

from agent_kernel.prompt.notes_text import imports, rule_text, without_comments

MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_CHARS = 100_000
"""Of all files together."""

MAX_HOPS = 4
MAX_RULES = 200
"""Files of one folder of rules."""

SHARED = ("CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md")
LOCAL = "CLAUDE.local.md"


@dataclass
class Instructions:
    """``text`` in reading order, nearest file last; ``files`` that went in; ``cut`` if not all.

    ``left_out`` are imports that lead out of what may be read.
    """

    text: str = ""
    files: list[Path] = field(default_factory=list)
    cut: bool = False
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class NotePlaces:
    """Where notes come from. ``excludes`` are patterns of absolute paths, as in ``.gitignore``."""

    cwd: Path
    user_folder: Path
    managed_folder: Path | None = None
    managed_text: str = ""
    excludes: tuple[str, ...] = ()


def read_instructions(
    cwd: Path,
    user_folder: Path,
    *,
    places: NotePlaces | None = None,
    limit: int = MAX_CHARS,
    may_read: Callable[[Path], bool] = lambda _path: True,
) -> Instructions:
    """The administrator's notes, the person's, then those of the folders from the root to ``cwd``.

    In each folder the shared files come first, then its rules that hold everywhere, then
    ``CLAUDE.local.md``. A file is read once, by its real path. What a project's file imports from
    outside the project and the person's folder is left out, and so is what ``may_read`` forbids.
    Outside of the project only Markdown is taken: a checkout may hold links, or imports, of a
    person's keys. What cannot be read is skipped.
    """
    reader = _Reader(places or NotePlaces(cwd, user_folder), may_read)
    parts = list(reader.all())
    text = "\n\n".join(parts)
    if len(text) > limit:
        reader.found.cut = True
        # The nearest files matter most, and they come last.
        text = f"(The beginning of these notes is left out.)\n\n{text[-limit:]}"
    reader.found.text = text
    return reader.found


class _Reader:
    def __init__(self, places: NotePlaces, may_read: Callable[[Path], bool]) -> None:
        self._places = places
        self._may_read = may_read
        self._project = _root(places.cwd)
        self._excluded = GitIgnoreSpec.from_lines(places.excludes)
        self._seen: set[Path] = set()
        self.found = Instructions()

    def all(self) -> Iterator[str]:
        places = self._places
        if places.managed_text.strip():
            yield f"From the administrator:\n\n{without_comments(places.managed_text)}"
        if places.managed_folder is not None:
            # A project's settings cannot leave out what others wrote for all projects.
            yield from self._file(places.managed_folder / "CLAUDE.md", None, keeps=True)
        yield from self._file(places.user_folder / "CLAUDE.md", None, keeps=True)
        yield from self._rules(places.user_folder / "rules", None, keeps=True)
        theirs = (self._project, places.user_folder)
        for folder in reversed((places.cwd, *places.cwd.parents)):
            for name in SHARED:
                yield from self._file(folder / name, theirs)
            if folder / ".claude" != places.user_folder:
                yield from self._rules(folder / ".claude" / "rules", theirs)
            yield from self._file(folder / LOCAL, theirs)

    def _rules(
        self, folder: Path, allowed: tuple[Path, ...] | None, *, keeps: bool = False
    ) -> Iterator[str]:
        """Rules that hold everywhere; those with ``paths`` wait for a file they are about."""
        try:
            files = sorted(path for path in folder.rglob("*.md") if path.is_file())[:MAX_RULES]
        except OSError:
            return
        for path in files:
            yield from self._file(path, allowed, keeps=keeps, is_rule=True)

    def _file(
        self,
        path: Path,
        allowed: tuple[Path, ...] | None,
        *,
        hops: int = 0,
        keeps: bool = False,
        is_rule: bool = False,
    ) -> Iterator[str]:
        """A file behind what it imports. ``allowed`` None: it may import from anywhere."""
        text = self._read(path, keeps=keeps)
        if text is not None and is_rule:
            text = rule_text(text)
        if text is None:
            return
        if hops < MAX_HOPS:
            for target in imports(text):
                imported = _target(path.parent, target)
                if imported is None:
                    continue
                if allowed is None or _is_inside(imported, allowed):
                    yield from self._file(imported, allowed, hops=hops + 1, keeps=keeps)
                elif imported.is_file():
                    self.found.left_out.append(f"@{target} in {path}")
        text = without_comments(text)
        if text:
            self.found.files.append(path)
            yield f"Contents of {path}:\n\n{text}"

    def _read(self, path: Path, *, keeps: bool) -> str | None:
        try:
            real = path.resolve()
            if real.suffix.lower() != ".md" and not _is_inside(real, (self._project,)):
                return None
            if not keeps and self._excluded.match_file(str(path).lstrip("/")):
                return None
            if real in self._seen or not self._may_read(path) or not real.is_file():
                return None
            if real.stat().st_size > MAX_FILE_BYTES:
                return None
            text = real.read_text(encoding="utf-8-sig", errors="replace")
        except (OSError, RuntimeError, ValueError):
            return None
        self._seen.add(real)
        return text


def _root(cwd: Path) -> Path:
    return next((f for f in (cwd, *cwd.parents) if (f / ".git").exists()), cwd)


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
