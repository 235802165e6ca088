"""One model server, one JupyterLab and one browser for all browser tests; a page for each."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from agent_kernel.model.scripted import ScriptedServer
from tests.browser.lab import Lab, LabServer
from tests.support.chromium import launch_options

# Package, not session: while Playwright is open, no other test could run an asyncio loop.


@pytest.fixture(scope="package")
def model() -> Iterator[ScriptedServer]:
    """The scripted model of all kernels; each test brings prompts and gates of its own."""
    server = ScriptedServer()
    yield server
    server.stop()


@pytest.fixture(scope="package")
def lab_server(
    model: ScriptedServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LabServer]:
    """A JupyterLab whose kernels use :func:`model`."""
    state = tmp_path_factory.mktemp("lab")
    env = {
        **model.environment,
        "HOME": str(state),
        "AGENT_KERNEL_HOME": str(state / "agent"),
        "MPLCONFIGDIR": os.environ["MPLCONFIGDIR"],
    }
    with LabServer(state / "root", state, env) as server:
        yield server


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One Chromium; each test has a profile of its own in it."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(**launch_options())
        yield chromium
        chromium.close()


@pytest.fixture
def new_page(browser: Browser, artifacts: Path) -> Iterator[Callable[..., Page]]:
    """Makes pages; what is on them at the end of a failed test can be seen in its artifacts."""
    pages: list[Page] = []

    def make(width: int = 1400, height: int = 900) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height})
        page = context.new_page()
        page.set_default_timeout(30_000)
        pages.append(page)
        return page

    yield make
    for number, page in enumerate(pages):
        if not page.is_closed():
            page.screenshot(path=artifacts / f"end-{number}.png")
        page.context.close()


@pytest.fixture
def lab(new_page: Callable[..., Page], lab_server: LabServer) -> Iterator[Lab]:
    """A page of JupyterLab; the kernels that the test started end with it."""
    yield Lab(new_page(), lab_server)
    end_kernels(lab_server)


def end_kernels(server: LabServer) -> None:
    """Shut down every session of the server."""
    with urllib.request.urlopen(f"{server.url}/api/sessions", timeout=30) as answer:
        sessions = json.load(answer)
    for session in sessions:
        request = urllib.request.Request(
            f"{server.url}/api/sessions/{session['id']}", method="DELETE"
        )
        urllib.request.urlopen(request, timeout=30).close()
