"""The approval card in a real browser: keys, answers, menus, hostile text."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.gallery import Gallery

pytestmark = pytest.mark.browser

DECISIONS = ("Allow once", "Allow for this session", "Always allow", "Deny")


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
    page.clock.install(time=0)
    page.clock.pause_at(1000)  # nothing passes but what the test lets pass
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
