"""The turn and the panel in a real browser: what is shown, typed and clicked."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.gallery import Gallery

pytestmark = pytest.mark.browser


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
