"""The shared components in a real browser: pictures of every state, contrast, names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.gallery import THEMES, Gallery

pytestmark = pytest.mark.browser

SCENES = (
    "turn-done",
    "turn-reads",
    "turn-running",
    "turn-streaming",
    "turn-denied",
    "turn-stopped",
    "turn-failed",
    "turn-agents",
    "turn-outputs",
    "turn-cut-off",
    "ask-python",
    "ask-edit",
    "ask-hostile",
    "ask-long",
    "ask-stack",
    "skills",
    "panel-empty",
    "panel-no-key",
    "panel-off",
    "panel-none",
    "panel-lost",
    "panel-talk",
    "panel-running",
    "panel-asks",
)


@pytest.mark.parametrize("width", [280, 1400])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_state_has_a_picture_and_fits(
    shown: Gallery, root: Path, theme: str, width: int
) -> None:
    folder = root / "artifacts" / "screenshots" / f"{theme}-{width}"
    folder.mkdir(parents=True, exist_ok=True)
    wide = []
    for scene in SCENES:
        page = shown.show(scene, theme, width)
        for name in (scene, f"{scene}-open"):
            page.screenshot(path=folder / f"{name}.png", full_page=True)
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wide.append(name)
            shown.unfold()
    assert wide == []


CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const paint = (under, colour) => {
    canvas.fillStyle = `rgb(${under.join(' ')})`;
    canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const ground = element => {
    const chain = [];
    for (let at = element; at; at = at.parentElement) chain.unshift(at);
    return chain.reduce((c, at) => paint(c, getComputedStyle(at).backgroundColor), [255, 255, 255]);
  };
  const light = rgb => {
    const [r, g, b] = rgb.map(v => v / 255).map(
      v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const bad = [];
  const walker = document.createTreeWalker(document.getElementById('root'), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    // Colours of code belong to the theme; disabled controls need no contrast.
    const left = '.ak-sr, [class*=ak-tok-], :disabled, option';
    if (!node.data.trim() || element.closest(left)) continue;
    const under = ground(element);
    const over = paint(under, getComputedStyle(element).color);
    const [a, b] = [light(under), light(over)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const text = node.data.slice(0, 40);
    if (ratio < 4.5) bad.push(`${ratio.toFixed(2)} ${element.className}: ${text}`);
  }
  return bad;
}"""


@pytest.mark.parametrize("theme", list(THEMES))
def test_all_text_has_the_contrast_of_wcag_aa(shown: Gallery, theme: str) -> None:
    bad: list[str] = []
    for scene in SCENES:
        page = shown.show(scene, theme)
        shown.unfold()
        page.mouse.move(0, 0)
        bad += [f"{scene}: {line}" for line in page.evaluate(CONTRAST)]
    assert bad == []


def test_every_control_has_a_name(shown: Gallery) -> None:
    nameless = []
    for scene in SCENES:
        page = shown.show(scene)
        shown.unfold()
        nameless += page.evaluate(
            """() => [...document.querySelectorAll('button, input, select, textarea')]
              .filter(e => !(e.innerText?.trim() || e.ariaLabel || e.labels?.length || e.alt))
              .map(e => location.hash + e.outerHTML.slice(0, 120))"""
        )
    assert nameless == []
