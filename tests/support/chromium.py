"""Find the browser of the tests: environment, PATH, Playwright's own, else Playwright's download.

``python -m tests.support.chromium`` prints the path, or says what to install and exits 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

VARIABLES = ("AGENT_KERNEL_CHROMIUM", "CHROME_PATH")
PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")

MISSING = """\
The browser tests need a Chromium, and none was found. One of these will do:
  Debian, Ubuntu   apt-get install chromium
  macOS            brew install --cask chromium
  anywhere         .venv/bin/playwright install chromium
or name one: AGENT_KERNEL_CHROMIUM=/path/to/chromium make test
To run the other tests only: .venv/bin/pytest -m 'not browser'
"""

# No look-ups and downloads of the browser's own: a test run talks to loopback only.
QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--disable-sync",
    "--disable-gpu",
    "--no-first-run",
    # Hidden tabs of a test keep their timers.
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
)


def find() -> str | None:
    """The path of a Chromium that is installed."""
    for variable in VARIABLES:
        named = os.environ.get(variable)
        if named:
            return named
    for program in PROGRAMS:
        found = shutil.which(program)
        if found:
            return found
    return str(MAC) if MAC.is_file() else _playwrights_own()


def launch_options() -> dict[str, Any]:
    """Arguments for ``playwright.chromium.launch``; raises ``LookupError`` without a browser."""
    path = find()
    if path is None:
        raise LookupError(MISSING)
    # Chromium's sandbox refuses to run as root, as containers and CI do.
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    sandbox = ("--no-sandbox", "--disable-dev-shm-usage") if is_root else ()
    return {"executable_path": path, "args": [*QUIET, *sandbox]}


def _playwrights_own() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if path and Path(path).is_file() else None


def main() -> int:
    """Print the path, after a download if there is no other way."""
    path = find()
    if path is None:
        command = [sys.executable, "-m", "playwright", "install", "chromium"]
        subprocess.run(command, check=False, timeout=600)
        path = find()
    if path is None:
        sys.stderr.write(MISSING)
        return 1
    sys.stdout.write(f"Browser of the tests: {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
