"""Files whose change could run code or loosen rules later: never changed without a person."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path

from agent_kernel.settings.credentials import KEY_FILE

_FOLDERS = frozenset(
    {
        ".git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn",
        ".claude", ".agents", ".ipython", ".jupyter", ".ssh", ".gnupg",
    }
)  # fmt: skip
_FILES = (
    ".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout",
    ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
    ".kshrc", ".cshrc", ".tcshrc", ".inputrc", ".envrc", "config.fish",
    ".npmrc", ".yarnrc*", ".pnp.*", "bunfig.toml", ".bazelrc", ".bazelversion", ".bazeliskrc",
    ".pre-commit-config.yaml", "lefthook.*", ".lefthook.*", "gradle-wrapper.properties",
    "maven-wrapper.properties", ".devcontainer.json", ".ripgreprc", "pyrightconfig.json",
    ".mcp.json", ".claude.json", "sitecustomize.py", "usercustomize.py",
)  # fmt: skip


def holds_key(path: str, homes: Iterable[Path]) -> bool:
    """Whether the path leads to the file the person's key is kept in."""
    names = {os.path.realpath(Path(home) / KEY_FILE).casefold() for home in homes}
    return os.path.realpath(path).casefold() in names


def protected_part(path: str, homes: Iterable[Path] = ()) -> str | None:
    """The part of the path that makes it protected, or None. ``homes``: our own state folders.

    Judged are the path as written and what it really names, without regard to case.
    """
    for variant in {os.path.normpath(path), os.path.realpath(path)}:
        for home in homes:
            own = Path(os.path.realpath(home).casefold())
            if Path(variant.casefold()).is_relative_to(own):
                return "the agent's own settings"
        parts = [part.casefold() for part in Path(variant).parts]
        for index, part in enumerate(parts):
            if part in _FOLDERS and parts[index : index + 2] != [".claude", "worktrees"]:
                return part
            if part == ".config" and parts[index + 1 : index + 2] == ["git"]:
                return ".config/git"
        if parts and any(fnmatch(parts[-1], pattern) for pattern in _FILES):
            return parts[-1]
    return None
