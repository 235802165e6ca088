"""The flags of ``%%agent``: what is meant, or a sentence that says how to write it."""

from __future__ import annotations

import pytest

from agent_kernel.errors import SettingsError
from agent_kernel.jupyter.flags import CellFlags, parse_flags


@pytest.mark.parametrize(
    ("line", "flags"),
    [
        ("", CellFlags()),
        ("--mode plan", CellFlags(mode="plan")),
        ("--mode=accept-edits", CellFlags(mode="acceptEdits")),
        ("--max-turns 5 --new", CellFlags(max_turns=5, new=True)),
        ("--out answer --model opus", CellFlags(out="answer", model="opus")),
        ("explain {df} -- it", CellFlags(text="explain {df} -- it")),
        ("--new explain it", CellFlags(new=True, text="explain it")),
        ("--resume go on", CellFlags(resume="", text="go on")),
        ("--resume=s_12 go on", CellFlags(resume="s_12", text="go on")),
        ("--schema my.Model --out x", CellFlags(schema_name="my.Model", out="x")),
        ("-- --mode is a flag", CellFlags(text="--mode is a flag")),
    ],
)
def test_flags_are_read_from_the_front(line: str, flags: CellFlags) -> None:
    assert parse_flags(line) == flags


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("--mod plan", "--mode"),
        ("--mode fast", "acceptEdits"),
        ("--mode", "a mode"),
        ("--mode --new", "a mode"),
        ("--max-turns none", "whole number"),
        ("--max-turns 0", "whole number"),
        ("--out class", "a variable"),
        ("--out a.b", "a variable"),
        ("--new=yes", "no value"),
        ("--resume= go", "session id"),
        ("--new --resume", "exclude"),
        ("--schema list[int]", "name of a type"),
        ("explain it --mode plan", "before the prompt"),
    ],
)
def test_a_wrong_flag_says_the_right_form(line: str, hint: str) -> None:
    with pytest.raises(SettingsError, match=hint):
        parse_flags(line)
