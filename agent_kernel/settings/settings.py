"""One ``Settings`` from files and environment, read when asked for and never at import."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agent_kernel.settings.credentials import Credential, find_credential
from agent_kernel.settings.files import (
    FileSettings,
    claude_folder,
    managed_folder,
    read_sources,
)
from agent_kernel.settings.home import home_folder
from agent_kernel.settings.trust import TrustStore
from agent_kernel.settings.variables import with_settings
from agent_kernel.vocabulary import PermissionMode, strictest

DEFAULT_MODEL = "claude-sonnet-5-5"
SCRIPTS_VARIABLE = "AGENT_KERNEL_OFFLINE_SCRIPTS"
_ALIASES = {
    "sonnet": "claude-sonnet-5-5",
    "opus": "claude-opus-5-5",
    "haiku": "claude-haiku-5-5",
    "fable": "claude-fable-5-2",
}

SettingsSource = Literal["managed", "command_line", "local", "project", "user"]


class Permissions(BaseModel):
    """Rules of one file, as written. ``root`` is what a pattern beginning with ``/`` starts at.

    Allow rules of ``project`` and ``local`` files wait for trust in the folder; deny and ask rules
    hold at once. The gate sees to that.
    """

    model_config = ConfigDict(frozen=True)

    source: SettingsSource
    path: Path
    root: Path
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    additional_directories: tuple[str, ...] = ()


class Settings(BaseModel):
    """A snapshot. ``notices`` say what was skipped and why; show each once.

    ``variables`` are for the programs that tools start, as pairs; they may hold keys.
    """

    model_config = ConfigDict(frozen=True)

    cwd: Path
    home: Path
    model: str = DEFAULT_MODEL
    base_url: str | None = None
    credential: Credential = Credential(kind="offline", source="none")
    mode: PermissionMode = "default"
    fallback_models: tuple[str, ...] = ()
    max_turns: int | None = None
    max_output_tokens: int | None = None
    budget_tokens: int | None = None
    budget_usd: float | None = None
    thinking_budget: int | None = None
    context_window: int | None = None
    autocompact_window: int | None = None
    autocompact_percent: float | None = None
    autocompact: bool = True
    idle_timeout: float = 90.0
    offline_scripts: Path | None = None
    user_skills: Path
    project_skills: tuple[Path, ...] = ()
    permissions: tuple[Permissions, ...] = ()
    bypass_allowed: bool = True
    language: str = ""
    output_style: str = ""
    managed_folder: Path | None = None
    managed_notes: str = ""
    note_excludes: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = Field(default=(), repr=False)
    notices: tuple[str, ...] = ()

    @property
    def is_offline(self) -> bool:
        """Whether no model is configured, so that the scripted server answers."""
        return self.credential.kind == "offline"


def resolve_model(name: str) -> str:
    """A model's id; the short names people use stand for the newest of their line."""
    return _ALIASES.get(name.strip().lower(), name.strip())


def load_settings(cwd: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """Read the files and the environment (the process's, if none is given).

    A file that cannot be read, or an entry that makes no sense, is left out with a notice.
    """
    env = os.environ if environ is None else environ
    home = home_folder(env)
    user = claude_folder(env)
    sources = read_sources(cwd, user)
    notices = [notice for source in sources for notice in source.notices]
    variables = with_settings(env, sources, notices, trust=TrustStore(home))
    ours = any(name.startswith("ANTHROPIC_") for name in variables)
    # The chain of the client's library holds for the process's own environment only.
    for_key = {**variables, **env} if ours else env
    env = {**variables, **env}
    base_url = env.get("ANTHROPIC_BASE_URL", "").strip().rstrip("/") or None
    model = env.get("ANTHROPIC_MODEL", "").strip() or _first(sources, "model") or DEFAULT_MODEL
    bypass_allowed = not any(source.bypass_disabled for source in sources)
    scripts = env.get(SCRIPTS_VARIABLE)
    return Settings(
        cwd=cwd,
        home=home,
        model=resolve_model(model),
        base_url=base_url,
        credential=find_credential(for_key, home, base_url),
        mode=_mode(sources, notices, TrustStore(home), bypass_allowed=bypass_allowed),
        fallback_models=_fallbacks(sources, resolve_model(model)),
        max_output_tokens=_whole(env, "CLAUDE_CODE_MAX_OUTPUT_TOKENS", notices) or None,
        budget_tokens=_whole(env, "AGENT_KERNEL_BUDGET_TOKENS", notices) or None,
        budget_usd=_dollars(env, "AGENT_KERNEL_BUDGET_USD", notices),
        max_turns=_whole(env, "AGENT_KERNEL_MAX_TURNS", notices),
        thinking_budget=_whole(env, "MAX_THINKING_TOKENS", notices),
        context_window=_whole(env, "CLAUDE_CODE_MAX_CONTEXT_TOKENS", notices) or None,
        autocompact_window=_whole(env, "CLAUDE_CODE_AUTO_COMPACT_WINDOW", notices)
        or _first(sources, "autocompact_window"),
        autocompact_percent=_percent(env, "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", notices),
        autocompact=_autocompact(env, sources),
        offline_scripts=Path(scripts).expanduser() if scripts else None,
        user_skills=user / "skills",
        project_skills=_skill_folders(cwd),
        permissions=tuple(
            Permissions(
                source=source.source,
                path=source.path,
                root=source.root,
                allow=source.allow,
                ask=source.ask,
                deny=source.deny,
                additional_directories=source.additional_directories,
            )
            for source in sources
        ),
        bypass_allowed=bypass_allowed,
        language=_first(sources, "language") or "",
        output_style=_first(sources, "output_style") or "",
        managed_folder=managed_folder(),
        managed_notes="\n\n".join(source.notes for source in sources if source.notes),
        note_excludes=tuple(item for source in sources for item in source.note_excludes),
        variables=tuple(variables.items()),
        notices=tuple(notices),
    )


def _first(sources: tuple[FileSettings, ...], name: str) -> Any:
    return next((value for source in sources if (value := getattr(source, name))), None)


def _autocompact(environ: Mapping[str, str], sources: tuple[FileSettings, ...]) -> bool:
    if environ.get("DISABLE_AUTO_COMPACT", "").strip().lower() in {"1", "true", "yes", "on"}:
        return False
    return next((s.autocompact for s in sources if s.autocompact is not None), True)


def _fallbacks(sources: tuple[FileSettings, ...], model: str) -> tuple[str, ...]:
    """Those of the strongest file that names any, each once and never the model itself."""
    names = next((source.fallbacks for source in sources if source.fallbacks is not None), ())
    return tuple(name for name in dict.fromkeys(map(resolve_model, names)) if name != model)


def _mode(
    sources: tuple[FileSettings, ...],
    notices: list[str],
    trust: TrustStore,
    *,
    bypass_allowed: bool,
) -> PermissionMode:
    """The mode of the strongest file; a checkout cannot switch questions off.

    Before a folder is trusted its files can only make the mode stricter (SPEC A6).
    """
    own = [source.mode for source in sources if source.source in ("managed", "user")]
    usable = (mode for mode in own if mode and (bypass_allowed or mode != "bypassPermissions"))
    personal: PermissionMode = next(usable, "default")
    for source in sources:
        mode = source.mode
        if mode is None:
            continue
        theirs = source.source in ("project", "local")
        folder = source.path.parent.parent
        why = ""
        if mode == "bypassPermissions" and theirs:
            why = "a folder's own settings may not choose it"
        elif mode == "bypassPermissions" and not bypass_allowed:
            why = "it is forbidden"
        elif theirs and strictest(mode, personal) != mode and not trust.is_trusted(folder):
            why = "it allows more than yours, and this folder is not trusted"
        if not why:
            return mode
        notices.append(f"{source.path}: mode {mode} is left out: {why}.")
    return "default"


def _whole(environ: Mapping[str, str], name: str, notices: list[str]) -> int | None:
    written = environ.get(name, "").strip()
    if not written:
        return None
    if not written.isdecimal():
        notices.append(f"{name} is left out: it is no whole number.")
        return None
    return int(written)


def _percent(environ: Mapping[str, str], name: str, notices: list[str]) -> float | None:
    written = environ.get(name, "").strip().removesuffix("%")
    if not written:
        return None
    try:
        share = float(written)
    except ValueError:
        share = 0.0
    if not 0 < share <= 100:
        notices.append(f"{name} is left out: it is no percentage.")
        return None
    return share


def _dollars(environ: Mapping[str, str], name: str, notices: list[str]) -> float | None:
    written = environ.get(name, "").strip().removeprefix("$")
    if not written:
        return None
    try:
        amount = float(written)
    except ValueError:
        amount = math.nan
    if not (math.isfinite(amount) and amount > 0):
        notices.append(f"{name} is left out: it is no amount of dollars.")
        return None
    return amount


def _skill_folders(cwd: Path) -> tuple[Path, ...]:
    """``.claude/skills`` here and in each folder up to the root of the repository."""
    folders = [cwd, *cwd.parents]
    root = next((folder for folder in folders if (folder / ".git").exists()), cwd)
    return tuple(folder / ".claude" / "skills" for folder in folders[: folders.index(root) + 1])
