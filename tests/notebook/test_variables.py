"""Variables in bounded words, without running the person's own code."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.notebook.variables import MAX_SUMMARY, brief, describe


class Trap:
    """Any look at it from outside fails."""

    def __init__(self) -> None:
        self.secret_of_mine = 1

    def __repr__(self) -> str:
        raise AssertionError("repr was called")

    __str__ = __repr__

    def __len__(self) -> int:
        raise AssertionError("len was called")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("eq was called")

    def __hash__(self) -> int:
        raise AssertionError("hash was called")

    def __bool__(self) -> bool:
        raise AssertionError("bool was called")


def one(value: Any) -> Any:
    (info,) = describe({"it": value}, ["it"])
    return info


def test_a_table_shows_shape_types_nulls_and_head() -> None:
    frame = pd.DataFrame({"price": [1.5, None, 3.0], "name": ["a", "b", "c"]})
    info = one(frame)
    assert (info.type, info.shape) == ("pandas.DataFrame", "3 × 2")
    assert "'price': float64, 1 null" in info.summary
    assert "first 3 rows" in info.summary
    assert info.size is not None


def test_a_table_of_strange_objects_runs_none_of_their_code() -> None:
    info = one(pd.DataFrame({"trap": pd.Series([Trap()], dtype=object)}))
    assert "Trap>" in info.summary


def test_an_array_shows_shape_and_range() -> None:
    info = one(np.arange(12, dtype=np.int64).reshape(3, 4))
    assert (info.shape, info.size) == ("3 × 4", 96)
    assert "min 0, max 11" in info.summary


def test_code_of_the_persons_classes_is_not_run() -> None:
    info = one(Trap())
    assert info.summary == "attributes: secret_of_mine"
    assert "Trap>" in one([Trap()]).summary
    assert "Trap>" in one({"key": Trap()}).summary


def test_modules_private_names_and_the_shells_own_are_left_out() -> None:
    shown = object()
    namespace = {
        "np": types.ModuleType("np"),
        "_private": 1,
        "In": [],
        "kept": 2,
        "shell_own": shown,
        "replaced": 3,
    }
    hidden = {"shell_own": shown, "replaced": object()}
    names = [info.name for info in describe(namespace, hidden=hidden)]
    assert names == ["kept", "replaced"]


def test_unknown_names_are_left_out() -> None:
    assert describe({"a": 1}, ["b"]) == ()


def test_endless_and_huge_values_stay_short() -> None:
    loop: list[Any] = []
    loop.append(loop)
    for value in (loop, "x" * 10_000_000, [0] * 1_000_000, 10**100_000, {i: i for i in range(999)}):
        assert len(one(value).summary) <= MAX_SUMMARY


@given(st.recursive(st.none() | st.integers() | st.text() | st.floats() | st.binary(), st.lists))
def test_any_plain_value_is_described_in_one_bounded_line(value: object) -> None:
    text = brief(value)
    assert len(text) <= 200
    assert "\n" not in text
