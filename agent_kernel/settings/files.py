"""Settings files, each read on its own: what is wrong in one is left out, the rest holds."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from agent_kernel.vocabulary import PermissionMode

FileSource = Literal["managed", "local", "project", "user"]
_MODES = {**{name: name for name in get_args(PermissionMode)}, "manual": "default"}
_MAX_BYTES = 4 * 1024 * 1024


class FileSettings(BaseModel):
    """What one file says, as far as this package reads it."""

    model_config = ConfigDict(frozen=True)

    source: FileSource
    path: Path
    root: Path
    model: str | None = None
    fallbacks: tuple[str, ...] | None = None
    autocompact: bool | None = None
    autocompact_window: int | None = None
    language: str | None = None
    output_style: str | None = None
    notes: str | None = None
    note_excludes: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    mode: PermissionMode | None = None
    bypass_disabled: bool = False
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    additional_directories: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def claude_folder(environ: Mapping[str, str]) -> Path:
    """The user's folder of settings and skills: ``CLAUDE_CONFIG_DIR``, else ``~/.claude``."""
    named = environ.get("CLAUDE_CONFIG_DIR")
    return Path(named).expanduser() if named else Path.home() / ".claude"


def managed_folder() -> Path:
    """Where an administrator puts settings nobody overrides."""
    if sys.platform == "darwin":
        return Path("/Library/Application Support/ClaudeCode")
    if sys.platform == "win32":
        return Path("C:/Program Files/ClaudeCode")
    return Path("/etc/claude-code")


def read_sources(cwd: Path, user: Path, managed: Path | None = None) -> tuple[FileSettings, ...]:
    """The files that are there, strongest first."""
    managed = managed_folder() if managed is None else managed
    project = project_root(cwd)
    places: list[tuple[FileSource, Path, Path]] = [
        # Later drop-in files win over earlier ones, and all of them over the main file.
        *(
            ("managed", path, cwd)
            for path in sorted((managed / "managed-settings.d").glob("*.json"), reverse=True)
        ),
        ("managed", managed / "managed-settings.json", cwd),
        ("local", project / ".claude" / "settings.local.json", cwd),
        ("project", project / ".claude" / "settings.json", project),
        ("user", user / "settings.json", user),
    ]
    # In the home folder the project's file and the user's are one.
    places = [place for place in places if place[0] == "user" or place[1] != places[-1][1]]
    found = (read_file(source, path, root) for source, path, root in places)
    return tuple(item for item in found if item is not None)


def project_root(cwd: Path) -> Path:
    """The nearest folder upward that has ``.claude`` or ``.git``, but not above the repository."""
    home = Path.home()
    for folder in (cwd, *cwd.parents):
        # The user's own ~/.claude is no project.
        if folder != home and ((folder / ".claude").is_dir() or (folder / ".git").exists()):
            return folder
    return cwd


def read_file(source: FileSource, path: Path, root: Path) -> FileSettings | None:
    """One file; None if there is none."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        content = json.loads(data.decode("utf-8-sig")) if len(data) <= _MAX_BYTES else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return _skipped(source, path, root, error.strerror or "it cannot be read")
    except (ValueError, RecursionError) as error:
        return _skipped(source, path, root, f"it is not valid JSON ({error})")
    if len(data) > _MAX_BYTES:
        return _skipped(source, path, root, "it is over 4 MiB")
    if not isinstance(content, dict):
        return _skipped(source, path, root, "it holds no JSON object")
    return _interpret(source, path, root, content)


def _skipped(source: FileSource, path: Path, root: Path, why: str) -> FileSettings:
    notice = f"{path}: the file is left out: {why}."
    return FileSettings(source=source, path=path, root=root, notices=(notice,))


def _interpret(source: FileSource, path: Path, root: Path, content: dict[str, Any]) -> FileSettings:
    notices: list[str] = []

    def skip(place: str, why: str) -> None:
        notices.append(f"{path}: {place} is left out: {why}.")

    def text(key: str) -> str | None:
        value = content.get(key)
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        skip(key, "it is no text")
        return None

    model = text("model")
    excludes = _names(content.get("claudeMdExcludes"))
    if excludes is None and "claudeMdExcludes" in content:
        skip("claudeMdExcludes", "it is no list of texts")
    env = _env(content.get("env"))
    if env is None:
        skip("env", "it is no object of texts")
    fallbacks = _names(content.get("fallbackModel"))
    if fallbacks is None and "fallbackModel" in content:
        skip("fallbackModel", "it is neither a text nor a list of texts")
    autocompact = content.get("autoCompactEnabled")
    if autocompact is not None and not isinstance(autocompact, bool):
        skip("autoCompactEnabled", "it is neither true nor false")
        autocompact = None
    window = content.get("autoCompactWindow")
    if window is not None and not (type(window) is int and 100_000 <= window <= 1_000_000):
        skip("autoCompactWindow", "it is no whole number from 100000 to 1000000")
        window = None
    permissions = content.get("permissions", {})
    if not isinstance(permissions, dict):
        skip("permissions", "it is no object")
        permissions = {}

    def texts(name: str) -> tuple[str, ...]:
        entries = permissions.get(name, [])
        if not isinstance(entries, list):
            skip(f"permissions.{name}", "it is no list")
            return ()
        good = []
        for number, entry in enumerate(entries):
            if isinstance(entry, str) and entry.strip():
                good.append(entry.strip())
            else:
                skip(f"permissions.{name}[{number}]", "it is no text")
        return tuple(good)

    mode: PermissionMode | None = None
    written = permissions.get("defaultMode")
    if written is not None:
        mode = _known_mode(written)
        if mode is None:
            skip("permissions.defaultMode", f"{written!r} is no mode of this program")
    return FileSettings(
        source=source,
        path=path,
        root=root,
        model=model,
        fallbacks=fallbacks,
        autocompact=autocompact,
        autocompact_window=window,
        language=text("language"),
        output_style=text("outputStyle"),
        notes=text("claudeMd") if source == "managed" else None,
        note_excludes=excludes or (),
        env=env or (),
        mode=mode,
        bypass_disabled=permissions.get("disableBypassPermissionsMode") == "disable",
        allow=texts("allow"),
        ask=texts("ask"),
        deny=texts("deny"),
        additional_directories=texts("additionalDirectories"),
        notices=tuple(notices),
    )


def _names(written: object) -> tuple[str, ...] | None:
    """A name, several with commas between them, or a list of names."""
    entries = written.split(",") if isinstance(written, str) else written
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        return None
    return tuple(entry.strip() for entry in entries if entry.strip())


def _env(value: object) -> tuple[tuple[str, str], ...] | None:
    """Variables as pairs; None if it is no object of texts and numbers."""
    if value is None:
        return ()
    if not isinstance(value, dict):
        return None
    pairs = []
    for name, item in value.items():
        if not isinstance(item, str | int | float):
            return None
        pairs.append((name, str(item).lower() if isinstance(item, bool) else str(item)))
    return tuple(pairs)


def _known_mode(written: object) -> PermissionMode | None:
    wanted = _MODES.get(written) if isinstance(written, str) else None
    return next((mode for mode in get_args(PermissionMode) if mode == wanted), None)
