"""Environment variables that settings files set (``env``), under those the process already has."""

from __future__ import annotations

from collections.abc import Mapping

from agent_kernel.settings.files import FileSettings
from agent_kernel.settings.trust import TrustStore

_OWN = ("ANTHROPIC_", "CLAUDE_CODE_OAUTH", "CLAUDE_CONFIG_DIR", "AGENT_KERNEL_HOME")
"""A folder's own files may not say where prompts and keys go, trusted or not."""


def with_settings(
    environ: Mapping[str, str],
    sources: tuple[FileSettings, ...],
    notices: list[str],
    *,
    trust: TrustStore,
) -> dict[str, str]:
    """The variables of the files, the strongest first; what the process has goes before all.

    Before a folder is trusted, what its files set is left out with a notice (SPEC A6).
    """
    found: dict[str, str] = {}
    for source in sources:
        theirs = source.source in ("project", "local")
        if theirs and source.env and not trust.is_trusted(source.path.parent.parent):
            notices.append(f"{source.path}: env is left out: this folder is not trusted.")
            continue
        for name, value in source.env:
            if theirs and name.startswith(_OWN):
                notices.append(
                    f"{source.path}: env.{name} is left out: a folder's settings may not set it."
                )
            else:
                found.setdefault(name, value)
    return {name: value for name, value in found.items() if name not in environ}
