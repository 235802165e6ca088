"""Output styles: named Markdown files that say how to answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from agent_kernel.prompt.notes_text import rule_text, without_comments

MAX_CHARS = 20_000
_NAME = re.compile(r"[\w][\w .-]{0,79}")
_PLAIN = frozenset({"", "default"})


def find_style(
    name: str, cwd: Path, user_folder: Path, *, may_read: Callable[[Path], bool]
) -> tuple[str, str]:
    """The text of a style and a notice for the person; the nearest file of that name counts.

    Looked for in ``.claude/output-styles`` of the folders upward, then of the person.
    """
    if name.strip().casefold() in _PLAIN:
        return "", ""
    missing = f"There is no output style {name!r}; answers keep their usual form."
    if not _NAME.fullmatch(name):
        return "", missing
    places = [*(folder / ".claude" for folder in (cwd, *cwd.parents)), user_folder]
    for folder in places:
        path = folder / "output-styles" / f"{name}.md"
        try:
            if not path.resolve().is_relative_to(folder.resolve()) or not may_read(path):
                continue
            text = path.read_text(encoding="utf-8-sig", errors="replace")[:MAX_CHARS]
        except (OSError, RuntimeError, ValueError):
            continue
        body = without_comments(rule_text(text) or "")
        return (f"# Output style: {name}\n\n{body}", "") if body else ("", missing)
    return "", missing
