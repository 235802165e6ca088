"""A JupyterLab server of a test's own, and what a person does in its pages."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import nbformat
from playwright.sync_api import Locator, Page, expect

START_LIMIT = 60.0
FOREIGN = ("ANTHROPIC_", "CLAUDE_", "AGENT_KERNEL_", "JUPYTER", "JPY_")
# Lab asks the network for news and updates unless told not to.
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}


class LabServer:
    """`jupyter lab` in a folder, with settings, runtime files and kernels' homes of its own."""

    def __init__(self, root: Path, state: Path, env: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.state = state
        self.env = dict(env or {})
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.root.mkdir(parents=True, exist_ok=True)
        for name, values in SETTINGS.items():
            file = self.state / "settings" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values))
        # A session of its own: kernels end with the server, whatever becomes of the test.
        with (self.state / "server.log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "jupyterlab", *self._options()],
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._wait()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _options(self) -> list[str]:
        options = [
            "--no-browser",
            f"--ServerApp.port={self.port}",
            "--ServerApp.ip=127.0.0.1",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={self.root}",
            "--IdentityProvider.token=",
            "--LabApp.expose_app_in_browser=True",
            f"--LabApp.user_settings_dir={self.state / 'settings'}",
            f"--LabApp.workspaces_dir={self.state / 'workspaces'}",
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.append("--allow-root")
        return options

    @property
    def environment(self) -> dict[str, str]:
        """Of the server, and of programs that are to see the folders it does."""
        state = self.state
        kept = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
        return {
            **kept,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "JUPYTER_CONFIG_DIR": str(state / "config"),
            "JUPYTER_DATA_DIR": str(state / "data"),
            "JUPYTER_RUNTIME_DIR": str(state / "runtime"),
            "JUPYTER_PLATFORM_DIRS": "1",
            "IPYTHONDIR": str(state / "ipython"),
            **self.env,
        }

    def _wait(self) -> None:
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline:
            if self._process is not None and self._process.poll() is not None:
                break
            try:
                self._api("")
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)
            else:
                return
        log = (self.state / "server.log").read_text("utf-8", "replace")
        raise RuntimeError(f"JupyterLab did not start:\n{log[-4000:]}")

    def stop_kernels(self) -> None:
        """End what a test started, so that the next one has the machine for itself."""
        for session in self._api("sessions"):
            self._api(f"sessions/{session['id']}", "DELETE")

    def _api(self, path: str, method: str = "GET") -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            headers = {"X-XSRFToken": "tests", "Cookie": "_xsrf=tests"}
            connection.request(method, f"/api/{path}", headers=headers)
            body = connection.getresponse().read()
        finally:
            connection.close()
        return json.loads(body) if body else None

    def write_notebook(
        self,
        name: str,
        cells: Sequence[str | tuple[str, str]],
        kernel: str = "agent_kernel",
    ) -> Path:
        """A notebook of code cells, or ``("markdown", text)``; ids are ``c0``, ``c1``, …"""
        made: list[dict[str, Any]] = []
        for number, cell in enumerate(cells):
            kind, source = ("code", cell) if isinstance(cell, str) else cell
            made.append({"cell_type": kind, "id": f"c{number}", "metadata": {}, "source": source})
            if kind == "code":
                made[-1] |= {"outputs": [], "execution_count": None}
        spec = {"name": kernel, "display_name": kernel, "language": "python"}
        notebook = {
            "cells": made,
            "metadata": {"kernelspec": spec},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        path = self.root / name
        path.write_text(json.dumps(notebook, indent=1) + "\n", "utf-8")
        return path

    def read_notebook(self, name: str) -> Any:
        """The saved file, validated."""
        notebook = nbformat.read(self.root / name, as_version=4)
        nbformat.validate(notebook)
        return notebook


class Lab:
    """One page of JupyterLab, as a person uses it."""

    def __init__(self, page: Page, server: LabServer, pictures: Path) -> None:
        self.page = page
        self.server = server
        self.pictures = pictures

    def open(self, name: str, *, idle: bool = True) -> None:
        """Open a notebook in a fresh workspace; ``idle``: wait until its kernel is."""
        self.page.goto(f"{self.server.url}/lab/tree/{name}?reset")
        self.page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=60_000)
        if idle:
            self.wait_for_status("Idle")

    def wait_for_status(self, text: str) -> None:
        """What the status bar says of the kernel ("Idle", "Busy")."""
        expect(self.page.locator("#jp-main-statusbar")).to_contain_text(text, timeout=60_000)

    @property
    def notebook(self) -> Locator:
        """The notebook that is shown."""
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    def cell(self, index: int) -> Locator:
        return self.notebook.locator(".jp-Cell").nth(index)

    def prompt(self, index: int) -> Locator:
        """The ``[3]:`` beside a cell."""
        return self.cell(index).locator(".jp-InputPrompt")

    def run(self, index: int) -> None:
        """Click into a cell and press Shift+Enter."""
        self.cell(index).locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")

    def type_into(self, index: int, text: str) -> None:
        """Replace a cell's text by typing."""
        self.cell(index).locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)

    def turn(self, index: int) -> Locator:
        """The turn in a cell's output."""
        return self.cell(index).locator(".ak-turn")

    def approval(self, index: int) -> Locator:
        """The question that waits in a cell's output."""
        return self.cell(index).locator("[data-request-id]")

    def answer(self, index: int, button: str) -> None:
        """Click an approval's button in a cell, as soon as it is there."""
        self.approval(index).get_by_role("button", name=button, exact=True).click(timeout=30_000)

    def open_panel(self) -> Locator:
        """Click the agent's icon at the right; the panel."""
        # A page that is reloaded opens by itself what was open: a click too early would shut it.
        self.page.wait_for_function("window.jupyterapp?.restored.then(() => true)")
        panel = self.page.locator("#agent-kernel-panel")
        if not panel.is_visible():
            self.page.locator(".jp-SideBar.jp-mod-right [data-id='agent-kernel-panel']").click()
        expect(panel).to_be_visible()
        return panel

    def screenshot(self, name: str) -> None:
        self.pictures.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self.pictures / f"{name}.png")

    def save(self) -> None:
        """Ctrl+S, and wait until Lab says that all is saved."""
        self.page.keyboard.press("ControlOrMeta+s")
        expect(self.page.locator(".jp-mod-current.jp-mod-dirty")).to_have_count(0)

    def sources(self) -> list[str]:
        """The live document's cells, whatever is scrolled into sight."""
        found: list[str] = self._notebook("shared.cells.map(cell => cell.getSource())")
        return found

    def cells(self) -> list[dict[str, Any]]:
        """The live document's cells as nbformat has them."""
        found: list[dict[str, Any]] = self._notebook("shared.toJSON().cells")
        return found

    def _notebook(self, expression: str) -> Any:
        return self.page.evaluate(
            """expression => {
              const panel = window.jupyterapp.shell.currentWidget;
              const shared = panel.content.model.sharedModel;
              return Function('panel', 'shared', 'return ' + expression)(panel, shared);
            }""",
            expression,
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
