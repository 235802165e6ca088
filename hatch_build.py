"""Add the tour to the wheel, and the built JupyterLab extension to its shared data.

Hatch refuses a wheel whose ``shared-data`` names a missing path. A Python-only install
(``SKIP_JUPYTER_BUILDER=1``, no node) has no built extension, so the path is added here,
after the JavaScript build has run, instead of in ``pyproject.toml``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILT = "agent_kernel/labextension"
TARGET = "share/jupyter/labextensions/jupyter-agent-kernel"


class SharedDataHook(BuildHookInterface[Any]):
    """Runs after ``jupyter-builder``, whose product it packs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the extension and its ``install.json`` unless the build was skipped.

        A skipped build leaves an extension that lies there out as well: ``make`` links it, and
        an installed copy would be written, and later uninstalled, through that link.
        """
        if version != "editable":
            # A checkout has the tour beside the package; an installation gets it inside.
            for name in ("tour.ipynb", "flats.csv", ".claude"):
                build_data["force_include"][f"notebooks/{name}"] = f"agent_kernel/notebooks/{name}"
        if os.environ.get("SKIP_JUPYTER_BUILDER"):
            return
        if not Path(self.root, BUILT, "package.json").is_file():
            return
        build_data["shared_data"][BUILT] = TARGET
        build_data["shared_data"]["labextension/install.json"] = f"{TARGET}/install.json"
