"""Transcripts survive what happens to files: cuts, bad lines, two writers, a full disk."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.context.text import clean_text
from agent_kernel.errors import StoreError
from agent_kernel.messages import AssistantMessage, TextBlock, ThinkingBlock, UserMessage
from agent_kernel.store.transcript import TranscriptStore
from agent_kernel.testing.clock import CountingIds, FakeClock
from agent_kernel.testing.conformance import check_session_store
from agent_kernel.testing.store import MemoryStore


def user(text: str, uuid: str = "u") -> UserMessage:
    return UserMessage(uuid=uuid, content=(TextBlock(text=text),))


def make(folder: Path, **changes: Any) -> TranscriptStore:
    options: dict[str, Any] = {
        "cwd": Path("/work"), "scrub": lambda text: text.replace("hunter2", "[gone]"),
        "clock": FakeClock(), "ids": CountingIds(), **changes,
    }  # fmt: skip
    return TranscriptStore(folder, **options)


def texts(store: TranscriptStore, session: str = "s") -> list[str]:
    return [m.content[0].text for m in store.load(session)]  # type: ignore[union-attr]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "projects" / "-work"


def test_the_store_on_disk_keeps_the_promises_of_the_seam(folder: Path) -> None:
    check_session_store(lambda: make(folder))


def test_the_store_in_memory_keeps_the_promises_of_the_seam() -> None:
    store = MemoryStore()
    check_session_store(lambda: store)


def test_each_message_is_a_line_of_ascii_json_in_a_private_file(folder: Path) -> None:
    store = make(folder)
    store.open("s")
    store.append("s", user("a\u2028b\u0085c — \U0001f600"))
    path = folder / "s.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    header, line, rest = path.read_bytes().split(b"\n")
    assert rest == b""
    assert json.loads(header)["v"] == 1
    assert json.loads(line)["v"] == 1
    assert line.isascii()
    assert texts(store) == ["a\u2028b\u0085c — \U0001f600"]


def test_secrets_are_taken_out_but_signed_thinking_is_kept_as_it_is(folder: Path) -> None:
    store = make(folder)
    store.append("s", user("my key is hunter2"))
    thinking = ThinkingBlock(thinking="hunter2?", signature="hunter2")
    store.append("s", AssistantMessage(uuid="a", message_id="m", content=(thinking,)))
    assert b"hunter2?" in (folder / "s.jsonl").read_bytes()
    first, second = store.load("s")
    assert isinstance(first, UserMessage)
    assert first.content == (TextBlock(text="my key is [gone]"),)
    assert isinstance(second, AssistantMessage)
    assert second.content == (thinking,)


def test_a_torn_last_line_is_dropped_and_the_next_message_stands_on_its_own_line(
    folder: Path,
) -> None:
    store = make(folder)
    store.append("s", user("one"))
    store.append("s", user("two"))
    store.close("s")
    path = folder / "s.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    again = make(folder)
    opened = again.open("s")
    assert [m.content[0].text for m in opened.messages] == ["one"]  # type: ignore[union-attr]
    again.append("s", user("three"))
    assert texts(again) == ["one", "three"]


def test_a_bad_line_in_the_middle_is_skipped_and_counted(folder: Path) -> None:
    store = make(folder)
    for number in range(5):
        store.append("s", user(str(number)))
    store.close("s")
    path = folder / "s.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = b"\xff\xfe not json\n"
    path.write_bytes(b"".join(lines))
    opened = make(folder).open("s")
    assert len(opened.messages) == 4
    assert opened.skipped == 1
    assert "1 line(s)" in opened.notice


def test_a_line_glued_onto_a_torn_one_is_recovered(folder: Path) -> None:
    store = make(folder)
    store.append("s", user("one"))
    store.append("s", user("two"))
    store.close("s")
    path = folder / "s.jsonl"
    header, one, two, _ = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([header, one[:40] + two, b""]))
    assert texts(make(folder)) == ["two"]


def test_a_session_open_in_another_process_is_forked_with_a_notice(folder: Path) -> None:
    mine = make(folder)
    mine.append("s", user("one"))
    code = (
        "import sys; from pathlib import Path; from agent_kernel.store.transcript import *;"
        "from agent_kernel.system import RandomIds, SystemClock;"
        "s = TranscriptStore(Path(sys.argv[1]), cwd=Path('/'), scrub=str, clock=SystemClock(),"
        " ids=RandomIds()); o = s.open('s'); print(o.session_id, len(o.messages), o.notice)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    name, count, notice = done.stdout.strip().split(" ", 2)
    assert name != "s"
    assert count == "1"
    assert "open in another process" in notice


def test_the_lock_of_a_dead_process_is_taken_over(folder: Path) -> None:
    folder.mkdir(parents=True)
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    import socket

    (folder / "s.lock").write_text(f"{child.stdout.decode().strip()} {socket.gethostname()}")
    opened = make(folder).open("s")
    assert opened.session_id == "s"
    assert opened.notice == ""


def test_closing_gives_the_session_to_others(folder: Path) -> None:
    first, second = make(folder), make(folder, ids=CountingIds())
    first.open("s")
    assert second.open("s").session_id == "s_1"
    first.close("s")
    assert make(folder).open("s").session_id == "s"


def test_a_store_that_is_gone_holds_no_session(folder: Path) -> None:
    import gc

    make(folder).open("s")
    gc.collect()
    assert make(folder).open("s").session_id == "s"


def test_a_folder_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "projects").write_text("a file is in the way")
    store = make(tmp_path / "projects" / "x")
    with pytest.raises(StoreError):
        store.open("s")
    with pytest.raises(StoreError):
        store.append("s", user("x"))


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a\x00b", "x" * 200])
def test_a_session_id_that_is_no_plain_name_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(StoreError):
        make(folder).open(name)


def test_the_listing_reads_heads_only_and_puts_the_newest_first(folder: Path) -> None:
    store = make(folder)
    store.append("old", user("First  question\nof all"))
    store.append("new", user("Second"))
    store.open("empty")
    with (folder / "old.jsonl").open("ab") as file:
        file.truncate(50_000_000)  # a long file of nothing, that nobody should read
    os.utime(folder / "old.jsonl", (1, 1))
    listed = store.list()
    assert [(s.session_id, s.title) for s in listed] == [
        ("new", "Second"),
        ("old", "First question of all"),
    ]


@given(st.text() | st.text(alphabet=st.characters(categories=["Cs"])), st.binary(max_size=60))
def test_whatever_stands_in_a_file_the_good_lines_come_back(text: str, rubbish: bytes) -> None:
    import io

    from agent_kernel.store.lines import encode_message, parse

    line = encode_message(user(text), str)
    torn = rubbish.replace(b'{"v":', b"")
    parsed = parse(io.BytesIO(torn + b"\n" + line + torn))
    found = [m for m in parsed.messages if isinstance(m, UserMessage) and m.uuid == "u"]
    assert clean_text(found[0].content[0].text) == clean_text(text)  # type: ignore[union-attr]
