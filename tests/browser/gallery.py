"""The gallery of shared components in a browser: one page with one scene."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect

THEMES = {
    "light": "theme-light-extension",
    "dark": "theme-dark-extension",
    "contrast": "theme-dark-high-contrast-extension",
}


class Gallery:
    """One page; ``problems`` are errors of the console and requests that left the page."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.problems: list[str] = []
        self._address = address
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("request", self._requested)

    def _requested(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:")):
            self.problems.append(f"asked the network for {request.url}")

    def show(self, scene: str, theme: str = "light", width: int = 600, height: int = 740) -> Page:
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.goto(f"{self._address}?theme={THEMES[theme]}&scene={scene}#{scene}")
        expect(self.page.locator(".ak-root").first).to_be_visible()
        return self.page

    def calls(self, name: str) -> list[list[Any]]:
        """What the components asked of the kernel under this name."""
        calls: list[list[Any]] = self.page.evaluate("window.gallery.calls")
        return [call[1:] for call in calls if call[0] == name]

    def unfold(self) -> None:
        """Open everything that opens."""
        self.page.evaluate(
            """async () => {
              for (;;) {
                const closed = document.querySelectorAll('.ak-fold-button[aria-expanded=false]');
                if (closed.length === 0) return;
                [...closed].forEach(button => button.click());
                await new Promise(done => setTimeout(done));
              }
            }"""
        )
