"""One run as Markdown, as text and as the bundle of a cell."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from agent_kernel import events as ev
from agent_kernel.events import Event
from agent_kernel.messages import ImageBlock, TextBlock, Usage
from agent_kernel.view.markdown import render
from agent_kernel.view.mime import final_bundle, live_bundle, stored_snapshot
from agent_kernel.view.text import StreamingText, render_text
from agent_kernel.vocabulary import CellPreview, CodePreview, CommandPreview, RunEnd, ToolStatus
from agent_kernel.wire import TURN_MIME, RunSnapshot

STARTED = ev.RunStarted(run_id="run_1", prompt="Look at df", model="m-1", mode="default")
ENDED = ev.RunFinished(
    run_id="run_1",
    end=RunEnd.COMPLETED,
    turns=3,
    usage=Usage(input_tokens=1_200, cache_read_input_tokens=6_900, output_tokens=410),
    cost_usd=0.02,
    duration_ms=14_000,
)


def run_of(*events: Event, end: ev.RunFinished | None = ENDED) -> RunSnapshot:
    told = (STARTED, *events, *((end,) if end else ()))
    return RunSnapshot(run_id="run_1", events=told, seq=len(told), end=end.end if end else None)


def call(status: ToolStatus, fact: str = "", error: str = "") -> tuple[Event, ...]:
    return (
        ev.ToolUseStarted(message_id="m", index=1, tool_use_id=status, tool="RunCell"),
        ev.ToolStarted(tool_use_id=status, tool="RunCell", verb="Run cell", subject="[5]"),
        ev.ToolFinished(
            tool_use_id=status,
            status=status,
            fact=fact,
            content=(TextBlock(text=error),) if error else (),
            duration_ms=2_400,
        ),
    )


WHOLE = run_of(
    ev.ThinkingDelta(message_id="m", index=0, text="I should look.", seconds=4.2),
    ev.TextDelta(message_id="m", index=1, text="I'll look at the **data** first."),
    *call("ok"),
    ev.ToolStarted(tool_use_id="e", tool="NotebookEdit", verb="Edit cell", subject="below [3]"),
    ev.PermissionRequested(
        request_id="q",
        nonce="n0nce",
        tool_use_id="e",
        tool="NotebookEdit",
        title="Edit a cell?",
        preview=CellPreview(op="insert", where="below [3]", new="df.describe()"),
    ),
    ev.PermissionResolved(request_id="q", tool_use_id="e", decision="allow_once"),
    ev.ToolFinished(tool_use_id="e", status="ok", fact="+1 line", duration_ms=100),
    *call("error", "NameError: price", "NameError: price\n  in line 3"),
    *call("denied"),
    ev.TextDelta(message_id="m2", index=0, text="The median is 12.4."),
)


def test_the_markdown_of_a_turn() -> None:
    assert render(WHOLE) == (
        "<details><summary>Thinking · 4.2 s</summary>\n\nI should look.\n\n</details>\n\n"
        "I'll look at the **data** first.\n\n"
        "● <b>Run cell</b> &#91;5&#93; · 2.4 s\n\n"
        "<details><summary>● <b>Edit cell</b> below &#91;3&#93; · +1 line · "
        "Allowed once by you · 0.1 s</summary>\n\n"
        "```python\ndf.describe()\n```\n\n</details>\n\n"
        "<details><summary>✕ <b>Run cell</b> &#91;5&#93; · <b>failed</b> · NameError&#58; price"
        " · 2.4 s</summary>\n\n```text\nNameError: price\n  in line 3\n```\n\n</details>\n\n"
        "○ <b>Run cell</b> &#91;5&#93; · <b>denied</b> · 2.4 s\n\n"
        "The median is 12.4.\n\n"
        "<sub>m-1 · 3 turns · 8.1k in (6.9k cached) · 410 out · &#36;0.02 · 14 s</sub>\n"
    )


def test_the_text_of_a_turn() -> None:
    assert render_text(WHOLE) == (
        "▸ Thinking · 4.2 s\n"
        "I'll look at the **data** first.\n"
        "● Run cell [5] · 2.4 s\n"
        "● Edit cell below [3] · +1 line · 0.1 s · Allowed once by you\n"
        "✕ Run cell [5] · failed · NameError: price · 2.4 s\n"
        "○ Run cell [5] · denied · 2.4 s\n"
        "The median is 12.4.\n"
        "m-1 · 3 turns · 8.1k in (6.9k cached) · 410 out · $0.02 · 14 s"
    )


def test_streamed_text_tells_the_same_in_the_order_it_happens() -> None:
    pieces: list[str] = []
    sink = StreamingText(pieces.append)
    for event in WHOLE.events:
        sink.emit(event)
    assert "".join(pieces) == (
        "▸ Thinking\n"
        "I'll look at the **data** first.\n"
        "● Run cell [5] · 2.4 s\n"
        "? Edit a cell\n"
        "  Allowed once by you\n"
        "● Edit cell below [3] · +1 line · 0.1 s\n"
        "✕ Run cell [5] · failed · NameError: price · 2.4 s\n"
        "○ Run cell [5] · denied · 2.4 s\n"
        "The median is 12.4.\n"
        "m-1 · 3 turns · 8.1k in (6.9k cached) · 410 out · $0.02 · 14 s\n"
    )


@pytest.mark.parametrize(
    ("end", "detail", "line"),
    [
        (RunEnd.ABORTED_TOOLS, "", "■ <b>Stopped by you</b>"),
        (RunEnd.MODEL_ERROR, "529", "✕ <b>The model could not answer</b> · 529"),
        (RunEnd.MAX_TURNS, "", "■ <b>Stopped at the limit of turns</b>"),
        (RunEnd.REFUSED, "", "✕ <b>The model declined to answer</b>"),
    ],
)
def test_each_end_is_said_in_words(end: RunEnd, detail: str, line: str) -> None:
    ended = ENDED.model_copy(update={"end": end, "detail": detail})
    assert line in render(run_of(end=ended))


def test_a_call_that_was_running_when_the_run_was_stopped_looks_interrupted() -> None:
    stopped = ENDED.model_copy(update={"end": RunEnd.ABORTED_TOOLS})
    text = render(run_of(*call("ok")[:2], end=stopped))
    assert "■ <b>Run cell</b> &#91;5&#93; · <b>interrupted</b>" in text


def test_withdrawn_text_is_gone_and_its_reason_stands_there() -> None:
    text = render(
        run_of(
            ev.TextDelta(message_id="m", index=0, text="Half an answ"),
            ev.Tombstone(message_id="m", reason="the model was changed"),
        )
    )
    assert "Half" not in text
    assert "Withdrawn&#58; the model was changed" in text


def test_a_turn_that_never_ended_says_so() -> None:
    assert "had not ended" in render(run_of(end=None))


HOSTILE = "<img src=x onerror=alert(1)> [a](javascript:alert(1)) ![b](http://e.example/x.png)"


def test_hostile_text_is_inert_wherever_it_stands() -> None:
    text = render(
        run_of(
            ev.TextDelta(message_id="m", index=0, text=HOSTILE),
            ev.ThinkingDelta(message_id="m", index=1, text=HOSTILE),
            ev.ToolStarted(tool_use_id="t", tool=HOSTILE, verb=HOSTILE, subject=HOSTILE),
            ev.ToolFinished(
                tool_use_id="t",
                status="error",
                fact=HOSTILE,
                content=(TextBlock(text=f"{HOSTILE}\n{HOSTILE}"),),
                preview=CodePreview(code=f"{HOSTILE}\n```\n{HOSTILE}", language=HOSTILE),
            ),
            ev.Notice(text=HOSTILE),
            ev.SkillStarted(name=HOSTILE, args=HOSTILE),
            ev.Tombstone(message_id="zz", reason=HOSTILE),
            end=ENDED.model_copy(update={"end": RunEnd.MODEL_ERROR, "detail": HOSTILE}),
        )
    )
    page = markdown2html_mistune(text)
    assert "<img" not in page
    assert 'href="javascript' not in page
    assert "onerror" in page  # it is there to be read


def test_secrets_are_scrubbed_from_everything_that_is_stored() -> None:
    key = "sk-ant-abcdefghijklmnopqrstuvwx"

    def scrub(text: str) -> str:
        return text.replace(key, "[secret removed]")

    snapshot = run_of(
        ev.TextDelta(message_id="m", index=0, text=f"the key {key}"),
        ev.ToolStarted(
            tool_use_id="t", tool="Bash", verb="Run", subject=key, input={"command": [key]}
        ),
        ev.ToolFinished(tool_use_id="t", status="ok", preview=CommandPreview(command=key)),
    )
    assert key not in json.dumps(final_bundle(snapshot, scrub=scrub))


def test_the_stored_log_has_no_nonce_and_reads_back_as_a_snapshot() -> None:
    stored = stored_snapshot(WHOLE)
    assert "n0nce" not in json.dumps(stored)
    assert len(RunSnapshot.model_validate(stored).events) == len(WHOLE.events)


def test_while_a_run_is_on_the_display_holds_only_who_it_is() -> None:
    data = live_bundle(STARTED, session_id="s_1")
    snapshot = RunSnapshot.model_validate(data[TURN_MIME])
    assert snapshot.events == (STARTED,)
    assert (snapshot.run_id, snapshot.session_id) == ("run_1", "s_1")
    assert set(data) == {TURN_MIME, "text/markdown", "text/plain"}


BIG = st.integers(min_value=0, max_value=12)


@given(BIG, st.sampled_from(["a", "é", "<b>", "`x` ", "\n", "🙂"]), st.integers(1, 3_000))
def test_no_run_is_too_long_for_a_notebook(count: int, piece: str, length: int) -> None:
    limit = 20_000
    image = ImageBlock(media_type="image/png", data="A" * 5_000)
    events: list[Event] = []
    for number in range(count):
        events += [
            ev.TextDelta(message_id=f"m{number}", index=0, text=piece * length),
            ev.ToolStarted(tool_use_id=f"t{number}", tool="T", verb="Do", subject=piece * length),
            ev.ToolFinished(
                tool_use_id=f"t{number}",
                status="ok",
                content=(image,),
                preview=CodePreview(code=piece * length),
            ),
        ]
    data = final_bundle(run_of(*events), limit=limit)
    assert len(data["text/markdown"].encode()) <= limit
    assert len(data["text/plain"].encode()) <= limit
    assert len(json.dumps(data[TURN_MIME], ensure_ascii=False).encode()) <= limit
    assert "&#36;0.02" in data["text/markdown"]
    assert RunSnapshot.model_validate(data[TURN_MIME]).events[-1] == ENDED


def test_a_secret_that_comes_in_two_pieces_is_not_printed() -> None:
    pieces: list[str] = []
    sink = StreamingText(pieces.append, scrub=lambda text: text.replace("top-secret", "[gone]"))
    for text in ("The key is top-", "sec", "ret, and more"):
        sink.emit(ev.TextDelta(message_id="m", index=0, text=text))
    sink.emit(ev.RunFinished(end=RunEnd.COMPLETED))
    assert "".join(pieces).startswith("The key is [gone], and more\n")
