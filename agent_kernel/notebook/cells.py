"""Cells by id, however the model writes the id, and outputs from nbformat's dictionaries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from agent_kernel.errors import AmbiguousCell, CellNotFound
from agent_kernel.vocabulary import CellOutput
from agent_kernel.wire import CellContent

_INDEX = re.compile(r"cell-(\d{1,6})")
_LISTED = 40


def find_cell(cell_id: str, cells: Sequence[CellContent]) -> int:
    """Index of the cell meant by ``cell_id``.

    Taken are the id itself, a prefix that only one cell has, and ``cell-N`` (from 0) where no cell
    has that id. Raises ``CellNotFound`` with the ids there are, or ``AmbiguousCell``.
    """
    exact = [index for index, cell in enumerate(cells) if cell.id == cell_id]
    if len(exact) == 1:
        return exact[0]
    if exact:
        places = ", ".join(f"`cell-{index}`" for index in exact)
        raise AmbiguousCell(
            f"{len(exact)} cells have the id `{cell_id}`, so none is changed. "
            f"Name the one you mean by its position: {places}."
        )
    if (match := _INDEX.fullmatch(cell_id)) and int(match.group(1)) < len(cells):
        return int(match.group(1))
    # "2" is a position somebody counted, not the beginning of an id.
    if cell_id and not (cell_id.isdigit() and len(cell_id) < 4):
        begins = [index for index, cell in enumerate(cells) if cell.id.startswith(cell_id)]
        if len(begins) == 1:
            return begins[0]
        if begins and len({cells[index].id for index in begins}) > 1:
            names = ", ".join(f"`{cells[index].id}`" for index in begins[:10])
            raise AmbiguousCell(f"`{cell_id}` begins several cell ids: {names}. Give one in full.")
    raise CellNotFound(unknown_cell(cell_id, cells))


def unknown_cell(cell_id: str, cells: Sequence[CellContent]) -> str:
    """Text for a wrong id: the ids there are, each with the first line of its cell."""
    shown = cell_id if len(cell_id) <= 60 else cell_id[:57] + "…"
    lines = [f"No cell has the id `{shown.splitlines()[0] if shown.strip() else shown}`."]
    if not cells:
        return lines[0] + " The notebook has no cells."
    lines.append("The cells, by id:")
    lines += [f"- {cell.id}: {first_line(cell.source)}" for cell in cells[:_LISTED]]
    if len(cells) > _LISTED:
        lines.append(f"and {len(cells) - _LISTED} more; Read the notebook for all of them.")
    return "\n".join(lines)


def first_line(source: str, width: int = 60) -> str:
    """The first line that says something, cut at ``width`` characters."""
    line = next((line.strip() for line in source.split("\n") if line.strip()), "(empty)")
    return line if len(line) <= width else line[: width - 1] + "…"


def joined(value: object) -> str:
    """nbformat's multi-line text: a string, or a list of lines."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        try:
            return "".join(value)
        except TypeError:
            return "".join(part for part in value if isinstance(part, str))
    return ""


def outputs_of(outputs: object) -> tuple[CellOutput, ...]:
    """nbformat's output dictionaries as values; what is no output is left out."""
    if not isinstance(outputs, list):
        return ()
    return tuple(
        output for raw in outputs if isinstance(raw, dict) and (output := _output(raw)) is not None
    )


def _output(raw: Mapping[str, Any]) -> CellOutput | None:
    kind = raw.get("output_type")
    if kind == "stream":
        name = "stderr" if raw.get("name") == "stderr" else "stdout"
        return CellOutput(
            output_type="stream",
            name=cast("Literal['stdout', 'stderr']", name),
            text=joined(raw.get("text")),
        )
    if kind in {"display_data", "execute_result"}:
        data = raw.get("data")
        count = raw.get("execution_count")
        return CellOutput(
            output_type=cast("Literal['display_data', 'execute_result']", kind),
            data=data if isinstance(data, dict) else {},
            metadata=raw["metadata"] if isinstance(raw.get("metadata"), dict) else {},
            execution_count=count if isinstance(count, int) else None,
        )
    if kind == "error":
        trace = raw.get("traceback")
        return CellOutput(
            output_type="error",
            ename=str(raw.get("ename", "")),
            evalue=str(raw.get("evalue", "")),
            traceback=tuple(str(line) for line in trace) if isinstance(trace, list) else (),
        )
    return None
