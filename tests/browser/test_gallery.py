"""The shared components in a real browser: pictures of every state, keys, and hostile text."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.browser

THEMES = {
    "light": "theme-light-extension",
    "dark": "theme-dark-extension",
    "contrast": "theme-dark-high-contrast-extension",
}
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
DECISIONS = ("Allow once", "Allow for this session", "Always allow", "Deny")


@pytest.fixture(scope="module")
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


@pytest.fixture
def shown(browser: Browser, gallery: str) -> Iterator[Gallery]:
    context = browser.new_context(reduced_motion="reduce")
    made = Gallery(context.new_page(), gallery)
    yield made
    context.close()
    assert made.problems == []


# --- Pictures ----------------------------------------------------------------


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


# --- Approvals ---------------------------------------------------------------


def test_an_approval_takes_no_focus_and_tab_reaches_allow_once_first(shown: Gallery) -> None:
    page = shown.show("ask-python")
    card = page.get_by_role("alertdialog", name="Run Python in your kernel?")
    expect(card).to_be_visible()
    assert page.evaluate("document.activeElement === document.body")
    expect(card.get_by_role("button", name="Allow once")).to_be_enabled()
    page.locator(".ak-fold-button").last.focus()
    names = []
    for _ in range(5):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.innerText.trim()"))
    assert names == [*DECISIONS, ""]


def test_enter_answers_nothing_while_the_focus_is_elsewhere(shown: Gallery) -> None:
    page = shown.show("ask-python")
    expect(page.get_by_role("button", name="Allow once")).to_be_enabled()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert shown.calls("answer") == []


def test_a_key_held_down_from_before_answers_nothing(shown: Gallery) -> None:
    page = shown.show("ask-python")
    button = page.get_by_role("button", name="Allow once")
    expect(button).to_be_enabled()
    button.focus()
    prevented = button.evaluate(
        """button => !button.dispatchEvent(new KeyboardEvent('keydown',
          {key: 'Enter', repeat: true, bubbles: true, cancelable: true}))"""
    )
    assert prevented
    assert shown.calls("answer") == []


@pytest.mark.parametrize(
    ("button", "decision"),
    [
        ("Allow once", {"decision": "allow_once"}),
        (
            "Allow for this session",
            {"decision": "allow_session", "rule": "NotebookEdit", "destination": "session"},
        ),
        ("Deny", {"decision": "deny"}),
    ],
)
def test_a_button_answers_once_and_the_card_becomes_one_line(
    shown: Gallery, button: str, decision: dict[str, str]
) -> None:
    page = shown.show("ask-edit")
    page.get_by_role("button", name=button, exact=True).click()
    done = {"Allow once": "Allowed once", "Deny": "Denied"}.get(button, "Allowed for this session")
    expect(page.locator(".ak-resolved")).to_have_text(re.compile(rf"^{done} by you, \d\d:\d\d"))
    expect(page.get_by_role("alertdialog")).to_have_count(0)
    assert shown.calls("answer") == [
        [{"request_id": "ask-e3", "nonce": "nonce-e3", **decision}],
    ]


def test_two_clicks_are_one_answer(shown: Gallery) -> None:
    page = shown.show("ask-edit")
    page.evaluate("window.gallery.tell = undefined")
    page.get_by_role("button", name="Allow once").dblclick()
    assert len(shown.calls("answer")) == 1


def test_a_click_in_the_first_moment_decides_nothing(shown: Gallery) -> None:
    """It was meant for what stood there before."""
    page = shown.show("panel-empty")
    page.goto("about:blank")
    page.clock.install()
    shown.show("ask-edit")
    button = page.get_by_role("button", name="Allow once")
    expect(button).to_be_disabled()
    button.click(force=True)
    assert shown.calls("answer") == []
    page.clock.run_for(400)
    expect(button).to_be_enabled()


def test_escape_denies_but_first_closes_a_menu(shown: Gallery) -> None:
    page = shown.show("ask-edit")
    page.get_by_role("button", name="Always allow").click()
    page.get_by_label("Rule", exact=True).focus()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Rule", exact=True)).to_have_count(0)
    expect(page.get_by_role("button", name="Always allow")).to_be_focused()
    assert shown.calls("answer") == []
    page.keyboard.press("Escape")
    expect(page.locator(".ak-resolved")).to_have_text(re.compile("^Denied by you"))
    assert [call[0]["decision"] for call in shown.calls("answer")] == ["deny"]


def test_after_an_answer_by_keyboard_the_next_keys_do_not_reach_the_notebook(
    shown: Gallery,
) -> None:
    page = shown.show("ask-edit")
    button = page.get_by_role("button", name="Allow once")
    expect(button).to_be_enabled()
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".ak-resolved")).to_be_focused()
    for key in "ddax":
        page.keyboard.press(key)
    assert shown.calls("notebook-key") == []


@pytest.mark.parametrize("button", ["Allow once", "More ways to deny"])
def test_the_keys_of_command_mode_do_nothing_on_a_focused_approval(
    shown: Gallery, button: str
) -> None:
    page = shown.show("ask-edit")
    found = page.get_by_role("button", name=button)
    expect(found).to_be_enabled()
    found.focus()
    for key in "ddaxmyb":
        page.keyboard.press(key)
    assert shown.calls("notebook-key") == []
    assert shown.calls("answer") == []


def test_always_allow_shows_the_rule_to_be_changed_and_where_it_goes(shown: Gallery) -> None:
    page = shown.show("ask-edit")
    page.get_by_role("button", name="Always allow").click()
    rule = page.get_by_label("Rule", exact=True)
    expect(rule).to_have_value("NotebookEdit(prices.ipynb)")
    assert shown.calls("answer") == []
    rule.fill("NotebookEdit(own)")
    page.get_by_label("Saved for").select_option("user")
    page.get_by_role("button", name="Save rule and allow").click()
    expect(page.locator(".ak-resolved")).to_contain_text("rule NotebookEdit(own)")
    [[answer]] = shown.calls("answer")
    assert (answer["decision"], answer["rule"], answer["destination"]) == (
        "allow_always",
        "NotebookEdit(own)",
        "user",
    )


def test_without_a_rule_for_always_none_is_made_up(shown: Gallery) -> None:
    page = shown.show("ask-stack")
    page.get_by_role("alertdialog", name="Write notes.md?").get_by_role(
        "button", name="Always allow"
    ).click()
    expect(page.get_by_label("Rule", exact=True)).to_have_value("")
    expect(page.get_by_role("button", name="Save rule and allow")).to_be_disabled()


def test_deny_has_a_reason_and_a_stop_in_its_menu(shown: Gallery) -> None:
    page = shown.show("ask-edit")
    page.get_by_role("button", name="More ways to deny").click()
    expect(page.get_by_role("button", name="Deny and stop")).to_be_visible()
    page.get_by_role("button", name="Deny with a reason").click()
    page.keyboard.type("Use loc instead")
    page.keyboard.press("Enter")
    expect(page.locator(".ak-resolved")).to_contain_text("Use loc instead")
    [[answer]] = shown.calls("answer")
    assert (answer["decision"], answer["reason"]) == ("deny", "Use loc instead")


def test_all_reads_are_allowed_at_once_and_nothing_else(shown: Gallery) -> None:
    page = shown.show("ask-stack")
    titles = page.locator(".ak-approval-title").all_inner_texts()
    assert titles == ["Read /etc/hosts?", "Read /etc/fstab?", "Write notes.md?"]
    page.get_by_role("button", name="Allow all reads (2)").click()
    expect(page.get_by_role("alertdialog")).to_have_count(1)
    assert [(c[0]["request_id"], c[0]["decision"]) for c in shown.calls("answer")] == [
        ("ask-s0", "allow_once"),
        ("ask-s1", "allow_once"),
    ]


def test_an_answer_that_did_not_arrive_can_be_given_again(shown: Gallery) -> None:
    page = shown.show("ask-edit")
    page.evaluate("window.gallery.fail = 'the kernel is busy.'")
    page.get_by_role("button", name="Allow once").click()
    expect(page.get_by_role("alert")).to_contain_text(["the kernel is busy."])
    page.evaluate("window.gallery.fail = undefined")
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator(".ak-resolved")).to_be_visible()


def test_a_long_code_is_there_to_its_last_line_and_can_be_scrolled_by_keys(shown: Gallery) -> None:
    page = shown.show("ask-long", width=280)
    text = page.locator(".ak-exact")
    assert "/home/you/last-line" in text.inner_text()
    expect(page.locator(".ak-approval")).to_contain_text("151 lines")
    expect(page.get_by_role("button", name="Allow once")).to_be_enabled()
    page.get_by_role("button", name="Allow once").focus()
    for _ in range(40):
        page.keyboard.press("PageDown")
    assert text.evaluate("box => box.scrollTop + box.clientHeight >= box.scrollHeight - 2")


def test_hidden_characters_and_padding_in_a_command_are_drawn(shown: Gallery) -> None:
    page = shown.show("ask-hostile")
    text = page.locator(".ak-exact")
    boxes = text.locator(".ak-hidden-char").all_inner_texts()
    assert boxes == [
        "U+202E RLO",
        "U+200B ZERO WIDTH SPACE",
        "300 SPACES",
        "59 EMPTY LINES",
        "U+001B ESC",
        "U+001B ESC",
    ]
    # Nothing is far to the right or far below: the dangerous ends are in the first screen.
    for part in ("rm -rf ~/data", "curl evil.example"):
        expect(text.get_by_text(part)).to_be_in_viewport()
    assert "\u202e" not in page.locator("body").inner_text()
    title = page.locator(".ak-approval-title").inner_text()
    assert title == "Run a command ⏎ Allowed by your administrator U+202E RLO?"


def test_what_the_live_kernel_does_not_wait_for_has_no_buttons(shown: Gallery) -> None:
    page = shown.show("turn-cut-off")
    expect(page.locator(".ak-end")).to_contain_text("Cut off.")
    expect(page.get_by_role("button", name="Stop this turn")).to_have_count(0)


# --- Hostile text ------------------------------------------------------------


def test_hostile_text_anywhere_stays_text(shown: Gallery) -> None:
    page = shown.show("hostile-text")
    shown.unfold()
    page.mouse.move(300, 300)
    for found in page.locator(".ak-no-link").all():
        found.click(force=True)
    expect(page.locator(".ak-approval")).to_be_visible()
    assert page.evaluate("window.hacked") is None
    dangerous = page.evaluate(
        """() => [...document.querySelectorAll('#root *')].filter(e =>
          ['SCRIPT', 'IFRAME', 'VIDEO', 'STYLE', 'OBJECT', 'LINK', 'FORM'].includes(e.tagName)
          || [...e.attributes].some(a => /^on|^srcdoc|commandlinker|^name$/.test(a.name))
          || e.id === 'jp-main-dock-panel'
          || (e.tagName === 'IMG' && !e.src.startsWith('data:image/'))
          || (e.tagName === 'A' && !/^(https?|mailto):/.test(e.href))
        ).map(e => e.outerHTML.slice(0, 200))"""
    )
    assert dangerous == []
    links = page.locator("a").evaluate_all("all => all.map(a => [a.href, a.target, a.rel])")
    assert {tuple(link) for link in links} == {
        ("https://example.org/", "_blank", "noopener noreferrer"),
        ("https://evil.example/pixel.png", "_blank", "noopener noreferrer"),
    }


def test_a_skill_with_a_hostile_name_stays_text(shown: Gallery) -> None:
    page = shown.show("skills")
    expect(page.get_by_text('<img src=x onerror="window.hacked=16">')).to_be_visible()
    assert page.evaluate("window.hacked") is None


# --- The turn ----------------------------------------------------------------


def test_reads_in_a_row_are_one_line_and_a_failure_shows_its_first_line(shown: Gallery) -> None:
    page = shown.show("turn-reads")
    lines = page.locator(".ak-turn > .ak-tool")
    expect(lines).to_have_count(3)
    expect(lines.nth(0)).to_contain_text("Read 6 files")
    expect(lines.nth(1)).to_contain_text("1 failed, 41 passed")
    expect(lines.nth(2)).to_contain_text("denied")
    lines.nth(0).locator(".ak-fold-button").first.click()
    expect(lines.nth(0).locator(".ak-tool")).to_have_count(6)


def test_long_output_shows_head_and_tail_and_the_rest_on_request(shown: Gallery) -> None:
    page = shown.show("turn-outputs")
    shown.unfold()
    expect(page.get_by_text("row 1: ")).to_be_visible()
    expect(page.get_by_text("row 432: ")).to_be_visible()
    assert "row 200: " not in page.locator("body").inner_text()
    page.get_by_role("button", name="Show 412 more lines").click()
    assert "row 200: " in page.locator("body").inner_text()


def test_a_picture_is_enlarged_by_a_click_and_closed_by_escape(shown: Gallery) -> None:
    page = shown.show("turn-outputs")
    shown.unfold()
    page.get_by_role("button", name="<Figure>: enlarge").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_stop_beside_a_running_tool_stops_the_turn(shown: Gallery) -> None:
    page = shown.show("turn-running")
    page.get_by_role("button", name="Stop this turn").click()
    assert shown.calls("stop") == [["running"]]


def test_text_that_grows_keeps_what_stood_there(shown: Gallery) -> None:
    """Whole blocks are not drawn again: their elements stay the same."""
    page = shown.show("turn-streaming")
    page.evaluate(
        """() => {
          window.first = document.querySelector('.ak-markdown p');
          const text = 'ian()\\n```\\n\\nAnd *more*.';
          for (const letter of text) {
            window.gallery.tell({type: 'text_delta', run_id: '', seq: 0, agent_id: 'main', at: 0,
              message_id: 'streaming-message-1', index: 0, text: letter});
          }
        }"""
    )
    expect(page.locator(".ak-markdown em")).to_have_text("more")
    assert page.evaluate("document.querySelector('.ak-markdown p') === window.first")
    expect(page.locator(".ak-code .ak-tok-string")).to_have_count(2)


# --- The panel ---------------------------------------------------------------


def test_enter_sends_and_shift_enter_breaks_the_line(shown: Gallery) -> None:
    page = shown.show("panel-empty", width=280)
    field = page.get_by_role("combobox", name="Message to the agent")
    field.click()
    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    assert shown.calls("prompt") == []
    page.keyboard.press("Enter")
    expect(field).to_have_value("")
    assert shown.calls("prompt") == [["one\ntwo"]]
    assert shown.calls("notebook-key") == []


def test_a_slash_completes_skills_and_runs_one(shown: Gallery) -> None:
    page = shown.show("panel-empty", width=280)
    field = page.get_by_role("combobox", name="Message to the agent")
    field.press_sequentially("/pro")
    expect(page.locator(".ak-offers li")).to_have_count(1)
    page.keyboard.press("Tab")
    expect(field).to_have_value("/profile-table ")
    field.press_sequentially("df 10")
    page.keyboard.press("Enter")
    expect(field).to_have_value("")
    assert shown.calls("command") == [["profile-table", "df 10"]]


def test_an_at_sign_completes_what_the_kernel_knows(shown: Gallery) -> None:
    page = shown.show("panel-empty")
    field = page.get_by_role("combobox", name="Message to the agent")
    field.press_sequentially("plot @")
    expect(page.locator(".ak-offers li")).to_have_text(["@df", "@cell:3"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(field).to_have_value("plot @cell:3")
    assert shown.calls("prompt") == []


def test_while_a_run_is_on_stop_stands_beside_send(shown: Gallery) -> None:
    page = shown.show("panel-running", width=280)
    expect(page.locator(".ak-composer")).to_contain_text("will be seen at the next step")
    page.get_by_role("button", name="Stop", exact=True).click()
    assert len(shown.calls("stop")) == 1
    expect(page.locator(".ak-prompt-queued")).to_contain_text("Then plot it by shop")


def test_text_that_could_not_be_sent_stays_in_the_field(shown: Gallery) -> None:
    page = shown.show("panel-empty")
    page.evaluate("window.gallery.fail = 'The kernel did not answer.'")
    field = page.get_by_role("combobox", name="Message to the agent")
    field.fill("Do it")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("The kernel did not answer.")
    expect(field).to_have_value("Do it")


def test_the_empty_panel_offers_three_things_for_this_notebook(shown: Gallery) -> None:
    page = shown.show("panel-empty")
    expect(page.locator(".ak-suggestion")).to_have_count(3)
    page.get_by_role("button", name="Profile df").click()
    assert shown.calls("prompt") == [["Profile df"]]


def test_without_a_model_a_key_can_be_given_and_is_not_shown(shown: Gallery) -> None:
    page = shown.show("panel-no-key", width=280)
    field = page.get_by_label("API key")
    expect(field).to_have_attribute("type", "password")
    field.fill("sk-test")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Saved. The next turn uses it.")).to_be_visible()
    expect(field).to_have_value("")
    assert shown.calls("set") == [[{"api_key": "sk-test"}]]


def test_a_kernel_without_us_offers_to_turn_it_on(shown: Gallery) -> None:
    page = shown.show("panel-off", width=280)
    page.get_by_role("button", name="Turn on here").click()
    assert len(shown.calls("turnOn")) == 1
    expect(page.get_by_role("combobox", name="Message to the agent")).to_have_count(0)


def test_a_lost_connection_keeps_the_text_and_takes_the_buttons(shown: Gallery) -> None:
    page = shown.show("panel-lost", width=280)
    expect(page.get_by_text("The connection to the kernel is lost.")).to_be_visible()
    expect(page.get_by_text("I will change [5] and run it.")).to_be_visible()
    expect(page.get_by_role("button", name="Stop this turn")).to_have_count(0)


def test_mode_and_model_are_chosen_in_the_head(shown: Gallery) -> None:
    page = shown.show("panel-talk", width=280)
    page.get_by_label("Mode", exact=True).select_option("plan")
    page.get_by_label("Model", exact=True).select_option("claude-haiku-4-5")
    assert shown.calls("set") == [[{"mode": "plan"}], [{"model": "claude-haiku-4-5"}]]


def test_the_conversation_follows_the_newest_text_only_while_one_is_there(shown: Gallery) -> None:
    page = shown.show("panel-running", width=280, height=420)
    log = page.get_by_role("log")
    at_end = "box => box.scrollHeight - box.scrollTop - box.clientHeight < 2"
    assert log.evaluate(at_end)
    # The browser tells of a scroll with the next frame.
    log.evaluate("""box => new Promise(done => {
      box.addEventListener('scroll', () => setTimeout(done), {once: true});
      box.scrollTop = 0;
    })""")
    expect(page.get_by_role("button", name="Newest")).to_have_count(0)
    page.evaluate(
        """() => window.gallery.tell({type: 'notice', run_id: '', seq: 0, agent_id: 'main', at: 0,
          level: 'info', text: 'News', code: '', until: null})"""
    )
    page.get_by_role("button", name="Newest").click()
    assert log.evaluate(at_end)


def test_changed_cells_are_named_above_the_composer_and_lead_to_the_cell(shown: Gallery) -> None:
    page = shown.show("panel-talk")
    page.get_by_role("button", name="Changed 1 cell").click()
    page.get_by_role("button", name="Made [4]").click()
    assert shown.calls("revealCell") == [["7c1f"]]


def test_skills_are_searched_and_run_from_the_panel(shown: Gallery) -> None:
    page = shown.show("panel-empty", width=280)
    page.get_by_role("button", name="Skills").click()
    page.get_by_role("searchbox", name="Search skills").fill("profile")
    expect(page.get_by_role("status").filter(has_text="1 of 6")).to_be_visible()
    page.get_by_label("Arguments of profile-table").fill("df")
    page.get_by_role("button", name="Run profile-table").click()
    assert shown.calls("command") == [["profile-table", "df"]]
    expect(page.get_by_role("log")).to_be_visible()
