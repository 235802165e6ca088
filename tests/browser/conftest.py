"""One browser, one JupyterLab and one scripted model for all tests here; a page for each."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from agent_kernel.model.scripted import ScriptedServer
from tests.browser.gallery import THEMES, Gallery
from tests.browser.lab import Lab, LabServer
from tests.support.chromium import launch_options

SCREENSHOTS = Path(__file__).resolve().parents[2] / "artifacts" / "screenshots"
HERE = Path(__file__).parent

# The first turn of a kernel imports the model's client: seconds on a slow machine.
expect.set_options(timeout=30_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


# Package, not session: no other test can run an asyncio loop while Playwright is open.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch_options())
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def model() -> Iterator[ScriptedServer]:
    """What the kernels of these tests talk to. Each test has prompts and gates of its own."""
    server = ScriptedServer()
    yield server
    server.stop()


@pytest.fixture(scope="package")
def lab_server(
    tmp_path_factory: pytest.TempPathFactory, model: ScriptedServer, fonts: None
) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("lab")
    home = folder / "home"
    state = folder / "state"
    for made in (home, state):
        made.mkdir()
    own = {"HOME": str(home), "AGENT_KERNEL_HOME": str(home / "agent")}
    with LabServer(folder / "work", state, {**own, **model.environment}) as server:
        yield server


@pytest.fixture
def lab(browser: Browser, lab_server: LabServer, request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A page; its picture at the end of the test is kept under artifacts/screenshots."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    lab = Lab(page, lab_server, SCREENSHOTS / re.sub(r"[^\w.-]+", "-", request.node.name))
    yield lab
    lab.screenshot("end")
    context.close()
    lab_server.stop_kernels()
    assert errors == [], "errors of the page"


@pytest.fixture(scope="session")
def gallery(root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the gallery, built with JupyterLab's own themes."""
    folder = tmp_path_factory.mktemp("gallery")
    themes = Path(sys.prefix) / "share" / "jupyter" / "lab" / "themes" / "@jupyterlab"
    subprocess.run(
        [
            "node",
            "scripts/gallery.mjs",
            str(folder),
            *(str(themes / name / "index.css") for name in THEMES.values()),
        ],
        cwd=root / "labextension",
        check=True,
        timeout=120,
    )
    return (folder / "index.html").as_uri()


@pytest.fixture
def shown(browser: Browser, gallery: str) -> Iterator[Gallery]:
    context = browser.new_context(reduced_motion="reduce")
    made = Gallery(context.new_page(), gallery)
    yield made
    context.close()
    assert made.problems == []
