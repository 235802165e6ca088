"""All skills there are, in the order of SPEC K2, kept fresh by looking at times of change."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent_kernel.errors import SkillError
from agent_kernel.protocols import Command, Trust
from agent_kernel.settings.settings import Settings
from agent_kernel.skills.command import SkillCommand, Source, load_head
from agent_kernel.skills.discovery import Scan, fault_of_name, name_key, scan
from agent_kernel.skills.front_matter import read

BUILT_IN = frozenset(
    {
        "help", "status", "stop", "new", "mode", "model", "skills", "setup", "clear", "compact",
        "context", "resume", "sessions", "undo", "trust", "fix", "on", "off",
    }
)  # fmt: skip
"""Names no skill may take."""


@dataclass(frozen=True)
class Root:
    """A folder of skills and whose it is."""

    folder: Path
    source: Source


class SkillSource:
    """Folder skills as the ``CommandSource`` seam.

    The user's beat the project's (the start folder's, then its parents' up to the repository),
    and those beat the ones shipped with the package. A shadowed skill stays reachable as
    ``source:name``. Any thread.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        trust: Trust | None = None,
        roots: Sequence[Root] | None = None,
        built_in: frozenset[str] = BUILT_IN,
    ) -> None:
        self._cwd = settings.cwd
        self._roots = tuple(roots) if roots is not None else roots_of(settings)
        self._trust = trust
        self._built_in = {name_key(name) for name in built_in}
        self._lock = threading.Lock()
        self._scans: dict[Path, Scan] = {}
        self._parsed: dict[str, tuple[object, SkillCommand | str]] = {}
        self._commands: tuple[SkillCommand, ...] = ()
        self._by_key: dict[str, SkillCommand] = {}
        self._problems: tuple[str, ...] = ()

    async def list(self) -> tuple[Command, ...]:
        """All skills, shadowed ones too (their ``info.shadowed_by`` says by what)."""
        return await asyncio.to_thread(self.commands)

    async def find(self, name: str) -> Command | None:
        """By name, alias or ``source:name``; case and width of letters do not matter."""
        await asyncio.to_thread(self.commands)
        return self._by_key.get(name_key(name.strip().removeprefix("/")))

    def commands(self) -> tuple[SkillCommand, ...]:
        with self._lock:
            changed = False
            for root in self._roots:
                known = self._scans.get(root.folder)
                if known is None or not known.is_fresh():
                    self._scans[root.folder] = scan(root.folder)
                    changed = True
            if changed:
                self._assemble()
            return self._commands

    @property
    def problems(self) -> tuple[str, ...]:
        """What was skipped or read leniently, and why; one line each."""
        return self._problems

    def _assemble(self) -> None:
        commands: list[SkillCommand] = []
        by_key: dict[str, SkillCommand] = {}
        problems: list[str] = []
        seen: set[str] = set()
        for root in self._roots:
            result = self._scans[root.folder]
            problems += result.problems
            for found in result.found:
                real = os.path.realpath(found.path)
                if real in seen:
                    continue
                seen.add(real)
                command = self._parse(root, found.path, found.root, result.stamps)
                if isinstance(command, str):
                    problems.append(command)
                    continue
                if command.front.warning:
                    problems.append(f"{found.path}: {command.front.warning}.")
                command = self._named(command, by_key)
                by_key[name_key(command.name)] = command
                commands.append(command)
        for command in commands:
            # A qualified name always works, and a label is a second name where it is free.
            by_key.setdefault(name_key(f"{command.source}:{command.root.name}"), command)
            label = command.label
            if label and name_key(label) not in self._built_in and not command.shadowed_by:
                by_key.setdefault(name_key(label), command)
        self._commands, self._by_key = tuple(commands), by_key
        self._problems = tuple(dict.fromkeys(problems))

    def _parse(
        self, root: Root, path: Path, folder: Path, stamps: dict[str, tuple[int, int] | None]
    ) -> SkillCommand | str:
        stamp = stamps.get(str(path))
        known = self._parsed.get(str(path))
        if known is not None and known[0] == stamp:
            return known[1]
        parsed = self._read(root, path, folder)
        self._parsed[str(path)] = (stamp, parsed)
        return parsed

    def _read(self, root: Root, path: Path, folder: Path) -> SkillCommand | str:
        if fault := fault_of_name(folder.name):
            return f"{path} is left out: {fault}."
        try:
            front = read(load_head(path))
        except SkillError as error:
            return f"A skill is left out: {error}"
        if front.text("description"):
            # Only what is listed stays in memory; the text is read when the skill is run.
            front = replace(front, body="")
        else:
            front = replace(front, body=front.body[:2_000])
        return SkillCommand(
            name=folder.name,
            path=path,
            root=folder,
            source=root.source,
            project=self._cwd,
            front=front,
            grants_count=self._grants(root),
        )

    def _grants(self, root: Root) -> _Grants:
        return _Grants(self._trust, None if root.source != "project" else self._cwd)

    def _named(self, command: SkillCommand, taken: dict[str, SkillCommand]) -> SkillCommand:
        key = name_key(command.name)
        if key in self._built_in:
            return self._shadowed(command, "built-in", taken)
        if key in taken:
            return self._shadowed(command, taken[key].source, taken)
        return command

    def _shadowed(
        self, command: SkillCommand, by: str, taken: dict[str, SkillCommand]
    ) -> SkillCommand:
        name = f"{command.source}:{command.name}"
        number = 2
        while name_key(name) in taken:
            name = f"{command.source}-{number}:{command.name}"
            number += 1
        return replace(command, name=name, shadowed_by=by)


@dataclass(frozen=True)
class _Grants:
    """Asked at each call, so that trust given later counts at once."""

    trust: Trust | None
    folder: Path | None

    def __call__(self) -> bool:
        if self.folder is None:
            return True
        return self.trust is not None and self.trust.is_trusted(self.folder)


def roots_of(settings: Settings) -> tuple[Root, ...]:
    """Where skills may lie, strongest first; folders that are not there are watched too."""
    roots = [
        Root(settings.user_skills, "user"),
        Root(Path.home() / ".agents" / "skills", "user"),
    ]
    for folder in settings.project_skills:
        roots.append(Root(folder, "project"))
        roots.append(Root(folder.parent.parent / ".agents" / "skills", "project"))
    roots.append(Root(Path(__file__).with_name("bundled"), "bundled"))
    return tuple(roots)
