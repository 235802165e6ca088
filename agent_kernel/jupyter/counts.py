"""Execution counts when cells ran inside a cell: the ``%%agent`` cell ends with the highest.

IPython counts a cell when it begins (9.x) or when it ends (older); nested runs move the count on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def ends_highest(shell: Any) -> Iterator[None]:
    """Around what a cell does: if cells ran inside it, it gets the number after the last of them.

    ``In`` gets the cell's source under that number too, so numbers and list stay in step.
    """
    history = getattr(shell, "history_manager", None)
    lists = [] if history is None else [history.input_hist_parsed, history.input_hist_raw]
    if not lists or shell.execution_count is None:
        yield
        return
    before = [len(entries) for entries in lists]
    counted = shell.execution_count >= before[1]  # the cell has been counted already
    try:
        yield
    finally:
        if len(lists[1]) > before[1] > 0:
            for entries, length in zip(lists, before, strict=True):
                entries.append(entries[length - 1])
            if counted:
                shell.execution_count += 1
