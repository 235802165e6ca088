"""What happens to files: NUL runs, glued objects, writers that cross; nothing good is lost."""

from __future__ import annotations

import io
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.events import TextDelta, ToolFinished
from agent_kernel.messages import (
    ImageBlock,
    Message,
    TextBlock,
    ToolResultBlock,
    UserMessage,
)
from agent_kernel.store.lines import encode_header, encode_message, parse
from agent_kernel.store.lock import SessionLock
from agent_kernel.store.side import LONGEST
from agent_kernel.store.transcript import TranscriptStore
from agent_kernel.testing.clock import CountingIds, FakeClock
from agent_kernel.wire import RunSnapshot


def user(text: str, uuid: str = "") -> UserMessage:
    return UserMessage(uuid=uuid or f"u-{text}", content=(TextBlock(text=text),))


def line(text: str) -> bytes:
    return encode_message(user(text), str)


def texts(messages: list[Message]) -> list[str]:
    return [m.content[0].text for m in messages]  # type: ignore[union-attr]


def make(folder: Path, **changes: Any) -> TranscriptStore:
    options: dict[str, Any] = {
        "cwd": Path("/work"), "scrub": lambda text: text.replace("hunter2", "[gone]"),
        "clock": FakeClock(), "ids": CountingIds(), **changes,
    }  # fmt: skip
    return TranscriptStore(folder, **options)


A, B, C = line("a"), line("b"), line("c")


@pytest.mark.parametrize(
    ("data", "found", "skipped"),
    [
        (A + B, "ab", 0),
        (A.strip() + B, "ab", 0),
        (A.strip() + b"  " + B.strip() + C, "abc", 0),
        (A + b"\0" * 4096 + b"\n" + B, "ab", 0),
        (A + b"\0" * 4096 + B, "ab", 0),
        (A[:50] + b"\0" * 100 + B, "b", 1),
        (A[:-30] + B, "b", 1),
        (A[:-30] + B.strip() + C[:-9] + b"\n" + A, "ba", 1),
        (A + B[:-1], "ab", 0),
        (A + B[:-20], "a", 0),
        (b"\xff\xfe\n" + A, "a", 1),
        (b"[1, 2]\n" + A + b"null\n", "a", 2),
        (b"\n\n  \n" + A, "a", 0),
        (b"[" * 200_000 + b"\n" + A, "a", 1),
        (A.replace(b'"user"', b'"hologram"') + B, "b", 0),
        (A.replace(b'"text":"a"', b'"text":7') + B, "b", 1),
        (encode_header("s", "/", "now") + A, "a", 0),
        (A + A + B + A, "ab", 0),
        (A.replace(b"\n", b"\r\n") + B, "ab", 0),
    ],
)
def test_the_good_objects_come_back_and_the_bad_lines_are_counted(
    data: bytes, found: str, skipped: int
) -> None:
    parsed = parse(io.BytesIO(data))
    assert "".join(texts(parsed.messages)) == found
    assert parsed.skipped == skipped


@given(
    st.lists(st.sampled_from("abc"), max_size=8),
    st.binary(max_size=40),
    st.integers(0, 2000),
    st.integers(0, 400),
)
def test_damage_in_one_place_never_costs_a_line_elsewhere(
    names: list[str], rubbish: bytes, at: int, gone: int
) -> None:
    lines = [line(f"{name}{number}") for number, name in enumerate(names)]
    data = b"".join(lines)
    at = min(at, len(data))
    broken = data[:at] + rubbish.replace(b"\n", b"") + data[at + gone :]
    found = set(texts(parse(io.BytesIO(broken)).messages))
    offset = 0
    for number, (name, whole) in enumerate(zip(names, lines, strict=True)):
        begins, offset = offset, offset + len(whole)
        if offset <= at - 1 or begins > at + gone:
            assert f"{name}{number}" in found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "projects" / "-work"


def test_long_texts_and_pictures_stand_beside_the_transcript_once(folder: Path) -> None:
    store = make(folder)
    picture = ImageBlock(media_type="image/png", data="A" * 200_000)
    long = "hunter2 " + "x\u2028\U0001f600" * 30_000
    result = ToolResultBlock(tool_use_id="t", content=(TextBlock(text=long), picture))
    store.append("s", UserMessage(uuid="r", content=(result,)))
    store.append("s", UserMessage(uuid="p", content=(picture,)))
    assert (folder / "s.jsonl").stat().st_size < 4_000
    files = list((folder / "s" / "side").iterdir())
    assert len(files) == 2
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    store.close("s")
    one, two = make(folder).open("s").messages
    assert isinstance(one, UserMessage)
    assert isinstance(two, UserMessage)
    assert two.content == (picture,)
    assert isinstance(one.content[0], ToolResultBlock)
    assert one.content[0].content == (
        TextBlock(text=long.replace("hunter2", "[gone]")),
        picture,
    )


def test_a_side_file_that_is_gone_leaves_the_beginning_and_a_remark(folder: Path) -> None:
    store = make(folder)
    store.append("s", user("begin " + "x" * LONGEST, uuid="u"))
    for file in (folder / "s" / "side").iterdir():
        file.unlink()
    (message,) = store.load("s")
    (text,) = texts([message])
    assert text.startswith("begin xxx")
    assert text.endswith("[the rest of this is no longer there]")
    assert store.list()[0].title.startswith("begin xxx")


def test_a_reference_names_no_file_elsewhere(folder: Path, tmp_path: Path) -> None:
    store = make(folder)
    store.open("s")
    (tmp_path / "secret").write_text("SECRET")
    value = {"$side": "../../../secret", "head": "h"}
    message = json.loads(A)["message"]
    message["content"] = [{"type": "text", "text": value}]
    with (folder / "s.jsonl").open("ab") as file:
        file.write(json.dumps({"v": 1, "message": message}).encode() + b"\n" + B)
    assert texts(store.load("s")) == ["b"]


def test_of_many_large_results_only_the_newest_are_shown_again(folder: Path) -> None:
    store = make(folder)
    store.open("s")
    picture = ImageBlock(media_type="image/png", data="A" * 5_000_000)
    for number in range(4):
        done = ToolFinished(tool_use_id=f"t{number}", status="ok", content=(picture,))
        long = TextDelta(message_id="m", index=0, text=f"{number}" * 100_000)
        run = RunSnapshot(run_id=f"run_{number}", events=(done, long), seq=2)
        store.keep_run("s", run, until="")
    runs = store.runs("s", ())
    assert [run.run_id for run in runs] == ["run_0", "run_1", "run_2", "run_3"]
    shown = [event.content for run in runs for event in run.events[:1]]  # type: ignore[union-attr]
    assert shown[3] == shown[2] == (picture,)
    assert shown[0] == (TextBlock(text="[picture not shown again]"),)
    (_, cut), (_, whole) = runs[0].events, runs[3].events
    assert isinstance(cut, TextDelta)
    assert isinstance(whole, TextDelta)
    assert len(whole.text) == 100_000
    assert cut.text == "0" * 200 + " […]"


def test_a_fork_has_its_own_side_files(folder: Path) -> None:
    store = make(folder)
    store.append("s", user("y" * (LONGEST + 1), uuid="u"))
    name = store.fork("s")
    for file in (folder / "s" / "side").iterdir():
        file.unlink()
    assert texts(store.load(name)) == ["y" * (LONGEST + 1)]


def test_a_damaged_file_is_copied_before_anything_is_added(folder: Path) -> None:
    store = make(folder)
    store.append("s", user("one"))
    store.close("s")
    path = folder / "s.jsonl"
    path.write_bytes(path.read_bytes() + b"{broken\n")
    before = path.read_bytes()
    opened = make(folder).open("s")
    assert opened.skipped == 1
    (copy,) = folder.glob("*.damaged")
    assert copy.read_bytes() == before
    assert str(copy) in opened.notice
    assert copy.stat().st_mode & 0o777 == 0o600
    assert [s.session_id for s in store.list()] == ["s"]


def test_a_lone_surrogate_is_no_damage(folder: Path) -> None:
    store = make(folder)
    store.append("s", user("cut \ud83c here", uuid="u"))
    store.append("s", user("next"))
    store.close("s")
    opened = make(folder).open("s")
    assert opened.skipped == 0
    assert len(opened.messages) == 2


def test_the_listing_of_many_long_sessions_reads_little(folder: Path) -> None:
    store = make(folder)
    for number in range(30):
        store.append(f"s{number}", user(f"question {number}"))
        with (folder / f"s{number}.jsonl").open("ab") as file:
            file.truncate(500_000_000)
        store.close(f"s{number}")
    assert len(store.list()) == 30


def test_two_that_take_over_a_dead_ones_lock_do_not_both_get_it(folder: Path) -> None:
    folder.mkdir(parents=True)
    path = folder / "s.lock"
    for dead in ("0", str(2**22 + 5), str(2**70)):
        path.write_text(f"{dead} {socket.gethostname()}")
        locks = [SessionLock(path) for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            held = list(pool.map(SessionLock.acquire, locks))
        assert held.count(True) == 1
        for lock in locks:
            lock.release()
        assert not path.exists()


def test_a_lock_of_another_machine_is_respected(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "s.lock").write_text("1 another-machine")
    assert SessionLock(folder / "s.lock").acquire() is False
