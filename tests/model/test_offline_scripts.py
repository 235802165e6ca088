"""Scripts: which rule, which step, which values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.errors import SettingsError
from agent_kernel.model.offline.player import SCRIPT_OVER, Send, choose, reply_actions
from agent_kernel.model.offline.record import Exchange
from agent_kernel.model.offline.script import Script, load_scripts, packaged_scripts, parse_script

Json = dict[str, Any]


def user(*blocks: Any) -> Json:
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    return {"role": "user", "content": content}


def called(name: str, id: str = "t1") -> Json:
    call = {"type": "tool_use", "id": id, "name": name, "input": {}}
    return {"role": "assistant", "content": [call]}


def result(text: str, id: str = "t1", *, error: bool = False) -> Json:
    content = [{"type": "text", "text": text}]
    return {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": error}


def said(text: str) -> Json:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def play(script: object, *messages: Json, system: str = "") -> list[Json]:
    """The events the script plays for this conversation."""
    body = {"model": "m", "messages": list(messages), "system": [{"type": "text", "text": system}]}
    choice = choose([parse_script(script)], body)
    actions = reply_actions(choice, Exchange(body, {}, serial=1, digest="0" * 64))
    return [action.event for action in actions if isinstance(action, Send)]


def text(script: object, *messages: Json, system: str = "") -> str:
    deltas = [
        e["delta"] for e in play(script, *messages, system=system) if "index" in e and "delta" in e
    ]
    return "".join(d.get("text", d.get("partial_json", "")) for d in deltas)


TWO_STEPS = [{"contains": "go", "steps": ["first", "second {{result}}"]}]


def test_the_first_rule_that_fits_wins_in_any_letter_case() -> None:
    rules = [{"contains": "PLOT", "reply": "one"}, {"contains": "plot", "reply": "two"}]
    assert text(rules, user("please plot it")) == "one"


def test_a_regex_rule_gives_its_groups_to_the_reply() -> None:
    rules = [{"matches": r"load (\w+)\.csv", "reply": "Loading {{match:1}}, {{match:9}}."}]
    assert text(rules, user("load sales.csv")) == "Loading sales, (not found)."


def test_a_text_that_fits_no_rule_gets_the_honest_answer_with_the_examples() -> None:
    answer = text([{"contains": "x9", "example": "Say x9", "reply": "x"}], user("hello"))
    assert "fixed script" in answer
    assert answer.endswith("- Say x9")


def test_the_step_is_the_number_of_replies_since_the_persons_text() -> None:
    earlier = [user("hello"), said("hi")]
    assert text(TWO_STEPS, *earlier, user("go")) == "first"
    after = [*earlier, user("go"), called("Read"), user(result("42"))]
    assert text(TWO_STEPS, *after) == "second 42"
    assert text(TWO_STEPS, *after) == "second 42", "the same request, the same reply"


def test_a_script_that_has_ended_says_so_unless_it_repeats() -> None:
    over = [user("go"), said("1"), user("<system-reminder>go on</system-reminder>"), said("2")]
    last = user("<system-reminder>go on</system-reminder>")
    assert text(TWO_STEPS, *over, last) == SCRIPT_OVER
    assert text([{**TWO_STEPS[0], "repeat": True}], *over, last).startswith("second")


def test_reminders_are_not_a_persons_text() -> None:
    reminder = "<system-reminder>go away</system-reminder>"
    assert text(TWO_STEPS, user(reminder, "go")) == "first"
    assert "fixed script" in text(TWO_STEPS, user(reminder, "else"))


def test_steering_counts_as_the_newest_text_and_an_unknown_one_changes_nothing() -> None:
    rules = [*TWO_STEPS, {"contains": "blue", "reply": "In blue."}]
    before = [user("go"), called("Read")]
    assert text(rules, *before, user(result("7"), "make it blue")) == "In blue."
    assert text(rules, *before, user(result("7"), "thanks")) == "second 7"


def test_rules_of_an_agent_answer_that_agent_only() -> None:
    rules = [{"agent": "Explore", "reply": "from Explore"}, {"reply": "from the main one"}]
    assert text(rules, user("a")) == "from the main one"
    assert text(rules, user("a"), system="…<agent-type>Explore</agent-type>…") == "from Explore"


def test_cases_choose_by_the_last_results() -> None:
    step = {
        "cases": [
            {"error": True, "blocks": [{"text": "It failed."}]},
            {"when": r"\d+ rows", "blocks": [{"text": "{{result::(\\d+) rows}}."}]},
            {"blocks": [{"text": "No rows."}]},
        ]
    }
    rules = [{"contains": "go", "steps": ["first", step]}]
    before = [user("go"), called("Read")]
    assert text(rules, *before, user(result("8 rows", error=True))) == "It failed."
    assert text(rules, *before, user(result("8 rows"))) == "8."
    assert text(rules, *before, user(result("empty"))) == "No rows."


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{{result}}", "cell id=b2\nmean 3.456"),
        ("{{result:-1:mean ([\\d.]+)}}", "3.456"),
        ("{{result:0}}", "rows: 1,200"),
        ("{{result:Variables:rows: (\\S+)}}", "1,200"),
        ("{{result:Nothing}}", "(not found)"),
        ("{{result:5}}", "(not found)"),
        ("{{result:-1:absent}}", "(not found)"),
        ("{{prompt:for (\\w+)}}", "Ada"),
        ("{{seen:id=(\\w+)}}", "b2"),
        ("{{seen:id=(a\\w+)}}", "a1"),
        ("{{seen:system says (\\w+)}}", "so"),
        ("{{result:-1:mean ([\\d.]+) | round 1}}", "3.5"),
        ("{{result:-1 | lines 1}}", "cell id=b2"),
        ("f'{x} {{y}} {{ result_2 }}'", "f'{x} {{y}} {{ result_2 }}'"),
    ],
)
def test_values_come_from_the_conversation(template: str, filled: str) -> None:
    rules = [{"contains": "go", "steps": ["a", "b", template]}]
    conversation = [
        user("<system-reminder>cell id=a1</system-reminder>", "go for Ada"),
        called("Variables", "t1"),
        user(result("rows: 1,200", "t1")),
        called("Read", "t2"),
        user(result("cell id=b2\nmean 3.456", "t2")),
    ]
    assert text(rules, *conversation, system="the system says so") == filled


def test_an_input_that_is_only_a_number_becomes_one() -> None:
    tool = {"tool": "Read", "input": {"limit": "{{prompt:\\d+ | number}}", "deep": ["{{prompt}}"]}}
    written = text([{"contains": "go", "steps": [[tool]]}], user("go 12"))
    assert written == '{"limit": 12, "deep": ["go 12"]}'


def test_ids_differ_between_replies_and_are_as_the_api_wants_them() -> None:
    body: Json = {"model": "m", "messages": [user("go")]}
    script = parse_script([{"contains": "go", "steps": [[{"tool": "A"}, {"tool": "B"}]]}])
    seen: list[str] = []
    for serial in (1, 2):
        exchange = Exchange(body, {}, serial=serial, digest="ab" * 32)
        events = [
            a.event for a in reply_actions(choose([script], body), exchange) if hasattr(a, "event")
        ]
        seen += [e["content_block"]["id"] for e in events if "content_block" in e]
    assert len(set(seen)) == 4
    assert all(name.startswith("toolu_") for name in seen)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("rules: [", "not valid YAML"),
        ("rules:\n- contain: x", "rules.0.contain"),
        ("rules:\n- steps: [[{txt: a}]]", "rules.0.steps.0.blocks.0"),
        ("rules:\n- matches: '('", "not a regular expression"),
        ("rules:\n- steps: [[{text: a, upto: x}]]", "upto"),
        ("just text", "top level"),
    ],
)
def test_a_wrong_script_is_refused_with_the_place(source: str, words: str) -> None:
    with pytest.raises(SettingsError, match=r"^mine\.yaml: ") as caught:
        parse_script(source, origin="mine.yaml")
    assert words in str(caught.value)


def test_every_yaml_file_of_a_folder_is_loaded_in_order(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.yaml").write_text(f"\ufeffname: {name}\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no script", encoding="utf-8")
    assert [script.name for script in load_scripts([tmp_path])] == ["a", "b"]
    with pytest.raises(SettingsError, match="cannot be read"):
        load_scripts([tmp_path / "missing.yaml"])


def test_the_scripts_of_the_package_are_valid_and_answer_their_examples() -> None:
    scripts = packaged_scripts()
    examples = [rule.example for script in scripts for rule in script.rules if rule.example]
    assert examples
    typed = [example for example in examples if not example.startswith("%")]
    for example in typed:
        assert choose(scripts, {"messages": [user(example)]}).script.name != "no model", example


@given(prompt=st.text(max_size=60), found=st.text(max_size=60))
def test_no_text_breaks_a_template(prompt: str, found: str) -> None:
    rules = [{"contains": "", "steps": ["a", "{{prompt}} {{result:-1:(.*)}} {{seen:x(y)?}}"]}]
    messages = [user("x" + prompt), called("Read"), user(result(found))]
    assert isinstance(text(rules, *messages), str)


def test_a_script_says_how_fast_it_is_and_a_step_may_say_otherwise() -> None:
    script = Script(name="s", pace=0.5)
    assert script.chunk == 24
    events = play({"chunk": 2, "rules": [{"steps": [[{"text": "abcd"}]]}]}, user("x"))
    assert [e["delta"]["text"] for e in events if e["type"] == "content_block_delta"] == [
        "ab",
        "cd",
    ]
