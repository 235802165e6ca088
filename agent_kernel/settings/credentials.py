"""Where the key comes from: environment, the client library's own chain, the saved key, nothing.

Nothing here imports the client library: it takes seconds, and status lines ask often.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from agent_kernel.errors import SettingsError
from agent_kernel.settings.home import write_private

DEFAULT_BASE_URL = "https://api.anthropic.com"
KEY_FILE = "key.json"
_PRINTABLE = range(0x21, 0x7F)


class Credential(BaseModel):
    """``source`` is for people and never holds the secret.

    ``kind``: ``api_key`` and ``auth_token`` carry ``secret``; ``chain`` leaves it to the client
    library; ``none`` is an endpoint of the person's own that asks for no key; ``offline`` is the
    scripted server.
    """

    model_config = ConfigDict(frozen=True)

    kind: Literal["api_key", "auth_token", "chain", "none", "offline"]
    source: str
    secret: SecretStr | None = None


class _SavedKey(BaseModel):
    """A key is bound to the endpoint it was given for, so it is never shown to another."""

    key: SecretStr
    base_url: str = DEFAULT_BASE_URL


def find_credential(environ: Mapping[str, str], home: Path, base_url: str | None) -> Credential:
    """The first that is there; ``base_url`` is the endpoint if one was named."""
    if key := environ.get("ANTHROPIC_API_KEY", "").strip():
        return Credential(kind="api_key", source="ANTHROPIC_API_KEY", secret=SecretStr(key))
    if token := environ.get("ANTHROPIC_AUTH_TOKEN", "").strip():
        return Credential(kind="auth_token", source="ANTHROPIC_AUTH_TOKEN", secret=SecretStr(token))
    if chain := _chain_source(environ):
        return Credential(kind="chain", source=chain)
    saved = read_key(home, base_url)
    if saved is not None:
        return Credential(kind="api_key", source="saved by %agent setup", secret=saved)
    if base_url is not None:
        return Credential(kind="none", source="no key needed")
    return Credential(kind="offline", source="none")


def save_key(home: Path, key: str, *, base_url: str | None = None) -> Path:
    """Keep the key for this endpoint, readable by its owner only.

    Raises ``SettingsError`` if it is no key or cannot be written.
    """
    cleaned = key.strip()
    if not cleaned or any(ord(char) not in _PRINTABLE for char in cleaned):
        raise SettingsError("That is not a key: it must be one word of plain characters.")
    value = {"key": cleaned, "base_url": _normal(base_url)}
    path = home / KEY_FILE
    try:
        write_private(path, json.dumps(value))
    except OSError as error:
        raise SettingsError(f"The key cannot be saved to {path}: {error.strerror}") from error
    return path


def read_key(home: Path, base_url: str | None) -> SecretStr | None:
    """The saved key, if it was saved for this endpoint."""
    try:
        saved = _SavedKey.model_validate_json((home / KEY_FILE).read_bytes())
    except (OSError, ValidationError):
        return None
    return saved.key if _normal(saved.base_url) == _normal(base_url) else None


def forget_key(home: Path) -> bool:
    """Delete the saved key; false if there was none."""
    try:
        (home / KEY_FILE).unlink()
    except FileNotFoundError:
        return False
    return True


def _normal(base_url: str | None) -> str:
    return (base_url or DEFAULT_BASE_URL).rstrip("/")


def _chain_source(environ: Mapping[str, str]) -> str | None:
    """What the client library would find by itself: a profile or workload identity.

    It reads the process's environment, so a made-up one has no chain.
    """
    if environ is not os.environ:
        return None
    if environ.get("ANTHROPIC_PROFILE"):
        return "profile named by ANTHROPIC_PROFILE"
    token = environ.get("ANTHROPIC_IDENTITY_TOKEN") or environ.get("ANTHROPIC_IDENTITY_TOKEN_FILE")
    rule = environ.get("ANTHROPIC_FEDERATION_RULE_ID")
    if token and rule and environ.get("ANTHROPIC_ORGANIZATION_ID"):
        return "workload identity"
    folder = _profile_folder(environ)
    try:
        name = (folder / "active_config").read_text(encoding="utf-8").strip() or "default"
    except (OSError, UnicodeDecodeError):
        name = "default"
    if not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        return None
    return f"profile {name}" if (folder / "configs" / f"{name}.json").is_file() else None


def _profile_folder(environ: Mapping[str, str]) -> Path:
    if named := environ.get("ANTHROPIC_CONFIG_DIR"):
        return Path(named)
    if sys.platform == "win32":
        roaming = environ.get("APPDATA")
        return (Path(roaming) if roaming else Path.home() / "AppData" / "Roaming") / "Anthropic"
    return Path.home() / ".config" / "anthropic"
