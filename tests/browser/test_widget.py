"""The bundle for hosts without the extension, loaded as anywidget does: one module, one model."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from agent_kernel.events import (
    Event,
    MessageStarted,
    PermissionRequested,
    PermissionResolved,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolStarted,
)
from agent_kernel.vocabulary import CodePreview, RunEnd, SkillInfo
from agent_kernel.wire import RunSnapshot, SkillsResult

pytestmark = pytest.mark.browser

MOUNT = """async ([module, traits]) => {
  window.sent = [];
  const listeners = new Set();
  const model = {
    get: name => traits[name],
    on: (name, listener) => name === 'msg:custom' && listeners.add(listener),
    off: (name, listener) => listeners.delete(listener),
    send: message => window.sent.push(message)
  };
  window.tell = message => listeners.forEach(listener => listener(message));
  const { default: widget } = await import(module);
  window.close_widget = widget.render({ model, el: document.body });
}"""


@pytest.fixture
def page(browser: Browser, root: Path) -> Iterator[Page]:
    static = root / "agent_kernel" / "view" / "static"
    page = browser.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.add_style_tag(content=(static / "widget.css").read_text("utf-8"))
    yield page
    page.close()
    assert problems == []


def mount(page: Page, root: Path, traits: dict[str, str]) -> None:
    script = (root / "agent_kernel" / "view" / "static" / "widget.js").read_bytes()
    module = "data:text/javascript;base64," + base64.b64encode(script).decode()
    page.evaluate(MOUNT, [module, traits])


def stamped(*events: Event) -> list[Event]:
    return [
        event.model_copy(update={"run_id": "run-1", "seq": seq, "at": 1_764_511_320.0 + seq})
        for seq, event in enumerate(events, 1)
    ]


def tell(page: Page, events: list[Event]) -> None:
    message = {"type": "events", "events": [event.model_dump(mode="json") for event in events]}
    page.evaluate("message => window.tell(message)", message)


def turn(page: Page, root: Path, first: list[Event]) -> None:
    initial = RunSnapshot(run_id="run-1", events=tuple(first), seq=len(first))
    traits = {"kind": "turn", "run_id": "run-1", "initial": initial.model_dump_json()}
    mount(page, root, traits)


def sent(page: Page) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = page.evaluate("window.sent")
    return messages


EVENTS = stamped(
    RunStarted(prompt="go", model="model", mode="default"),
    MessageStarted(message_id="m", model="model"),
    TextDelta(message_id="m", index=0, text="Hel"),
    TextDelta(message_id="m", index=0, text="lo **you**"),
    ToolStarted(tool_use_id="t", tool="Python", verb="Run Python", subject="1 + 1"),
    PermissionRequested(
        request_id="ask",
        nonce="nonce",
        tool_use_id="t",
        tool="Python",
        title="Run Python in your kernel?",
        preview=CodePreview(code="1 + 1"),
    ),
    PermissionResolved(request_id="ask", tool_use_id="t", decision="allow_once"),
    RunFinished(end=RunEnd.COMPLETED, turns=1, text="Hello you"),
)


def test_a_turn_grows_asks_and_ends(page: Page, root: Path) -> None:
    turn(page, root, EVENTS[:1])
    assert sent(page) == [{"type": "request", "method": "snapshot", "params": {}}]
    tell(page, EVENTS[1:6])
    expect(page.locator(".ak-markdown")).to_have_text("Hello you")
    page.get_by_role("button", name="Allow once").click()
    assert sent(page)[1:] == [
        {
            "type": "request",
            "method": "answer",
            "params": {"request_id": "ask", "nonce": "nonce", "decision": "allow_once"},
        }
    ]
    tell(page, EVENTS[6:])
    expect(page.locator(".ak-resolved")).to_have_text(re.compile("^Allowed once by you"))
    expect(page.locator(".ak-usage")).to_contain_text("model · 1 turn")
    page.evaluate("window.close_widget()")
    expect(page.locator(".ak-turn")).to_have_count(0)


def test_deltas_that_were_joined_on_the_way_are_no_gap(page: Page, root: Path) -> None:
    turn(page, root, EVENTS[:2])
    tell(page, [EVENTS[3].model_copy(update={"text": "Hello **you**"})])
    expect(page.locator(".ak-markdown")).to_have_text("Hello you")
    assert len(sent(page)) == 1


def test_a_gap_is_closed_by_a_snapshot(page: Page, root: Path) -> None:
    turn(page, root, EVENTS[:2])
    tell(page, EVENTS[4:6])
    expect(page.get_by_role("alertdialog")).to_be_visible()
    assert [message["method"] for message in sent(page)] == ["snapshot", "snapshot"]
    snapshot = RunSnapshot(run_id="run-1", events=tuple(EVENTS[:6]), seq=6)
    page.evaluate(
        "message => window.tell(message)",
        {
            "type": "snapshot",
            "snapshot": snapshot.model_dump(mode="json"),
            "pending": [EVENTS[5].model_dump(mode="json")],
        },
    )
    expect(page.locator(".ak-markdown")).to_have_text("Hello you")
    expect(page.get_by_role("alertdialog")).to_be_visible()


def test_stop_reaches_the_kernel(page: Page, root: Path) -> None:
    turn(page, root, EVENTS[:1])
    page.get_by_role("button", name="Stop this turn").click()
    assert sent(page)[1:] == [
        {"type": "request", "method": "stop", "params": {"run_id": "run-1"}},
    ]


def test_a_skill_is_run_from_the_list(page: Page, root: Path) -> None:
    skills = SkillsResult(skills=(SkillInfo(name="profile", description="Profile a table"),))
    mount(page, root, {"kind": "skills", "run_id": "", "initial": skills.model_dump_json()})
    page.get_by_label("Arguments of profile").fill("df")
    page.get_by_role("button", name="Run profile").click()
    assert sent(page) == [
        {"type": "request", "method": "command", "params": {"name": "profile", "args": "df"}},
    ]
