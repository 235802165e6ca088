"""The flags of ``%%agent``: read from the front of the line, everything else is the prompt."""

from __future__ import annotations

import difflib
import keyword
from typing import get_args

from agent_kernel.errors import SettingsError
from agent_kernel.messages import Frozen
from agent_kernel.vocabulary import PermissionMode

MODES: tuple[PermissionMode, ...] = get_args(PermissionMode)
FORM = (
    "%%agent [--mode MODE] [--model MODEL] [--max-turns N] [--new] [--resume[=ID]] [--out NAME]"
    " [--schema MODEL]"
)
_VALUES = {
    "--mode": "a mode",
    "--model": "a model",
    "--max-turns": "a number",
    "--out": "a name",
    "--schema": "the name of a type",
}
_FLAGS = (*_VALUES, "--new", "--resume")


class CellFlags(Frozen):
    """``text`` is what stood on the line after the flags: the prompt's first line.

    ``resume`` is the session to go on with; empty: the notebook's own, else the newest.
    """

    mode: PermissionMode | None = None
    model: str | None = None
    max_turns: int | None = None
    new: bool = False
    resume: str | None = None
    out: str | None = None
    schema_name: str | None = None
    text: str = ""


def parse_flags(line: str) -> CellFlags:
    """Raises ``SettingsError`` whose text says how to write it right."""
    found: dict[str, object] = {}
    rest = line.strip()
    while rest.startswith("--"):
        word, _, after = rest.partition(" ")
        if word == "--":
            return CellFlags.model_validate({**found, "text": after.strip()})
        name, equals, value = word.partition("=")
        if name not in _FLAGS:
            raise SettingsError(_unknown(name))
        rest = after.strip()
        if name == "--new":
            if equals:
                raise SettingsError("--new takes no value.")
            found["new"] = True
            continue
        if name == "--resume":  # its value stands behind "=", for the prompt may follow at once
            if equals and not value:
                raise SettingsError("--resume= needs a session id behind it.")
            found["resume"] = value
            continue
        if not equals:
            value, _, rest = rest.partition(" ")
            rest = rest.strip()
        if not value or value.startswith("--"):
            raise SettingsError(f"{name} needs {_VALUES[name]} after it. The form is: {FORM}")
        key = "schema_name" if name == "--schema" else name[2:].replace("-", "_")
        found[key] = _checked(name, value)
    late = [word for word in rest.split() if word.partition("=")[0] in _FLAGS]
    if late:
        raise SettingsError(
            f"{late[0]} must stand before the prompt. The form is: {FORM}\n"
            "If it belongs to the prompt, write -- in front of the prompt."
        )
    if "new" in found and "resume" in found:
        raise SettingsError("--new and --resume exclude each other.")
    return CellFlags.model_validate({**found, "text": rest})


def mode_named(value: str) -> PermissionMode:
    """The mode, whatever its letters' case. Raises ``SettingsError`` that lists the modes."""
    for mode in MODES:
        if mode.casefold() == value.replace("-", "").replace("_", "").casefold():
            return mode
    raise SettingsError(f"There is no mode {value!r}. The modes are: {', '.join(MODES)}.")


def _checked(name: str, value: str) -> object:
    if name == "--mode":
        return mode_named(value)
    if name == "--max-turns":
        if not value.isdecimal() or int(value) < 1:
            raise SettingsError(f"--max-turns takes a whole number from 1 on, not {value!r}.")
        return int(value)
    if name == "--out":
        if not value.isidentifier() or keyword.iskeyword(value):
            raise SettingsError(f"--out takes a name a variable may have, not {value!r}.")
        return value
    if name == "--schema" and not all(part.isidentifier() for part in value.split(".")):
        raise SettingsError(
            f"--schema takes the name of a type, such as a pydantic model: {value!r}"
        )
    return value


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, _FLAGS, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    return f"There is no flag {name}.{hint} The form is: {FORM}"
