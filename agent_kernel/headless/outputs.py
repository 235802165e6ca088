"""Outputs of a cell from the messages of its execution, in nbformat's terms."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import output_from_msg

from agent_kernel.vocabulary import CellOutput

_PUBLISHED = frozenset({"stream", "display_data", "execute_result", "error"})


class DisplayIds:
    """Which outputs of the notebook an update of a display id changes."""

    def __init__(self) -> None:
        self._known: dict[str, list[NotebookNode]] = {}

    def remember(self, display_id: str, output: NotebookNode) -> None:
        self._known.setdefault(display_id, []).append(output)

    def update(self, display_id: str, content: dict[str, Any]) -> None:
        for output in self._known.get(display_id, ()):
            output["data"] = content["data"]
            output["metadata"] = content.get("metadata", {})


class OutputArea:
    """Fills a list of nbformat outputs from the messages of one execution."""

    def __init__(self, outputs: list[NotebookNode], displays: DisplayIds) -> None:
        self.outputs = outputs
        self.execution_count: int | None = None
        self._displays = displays
        self._clear_next = False

    def take(self, message: dict[str, Any]) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind == "execute_input":
            self.execution_count = content.get("execution_count")
        elif kind == "clear_output":
            if content.get("wait"):
                self._clear_next = True
            else:
                self.outputs.clear()
        elif kind == "update_display_data":
            display_id = content.get("transient", {}).get("display_id")
            if display_id is not None:
                self._displays.update(display_id, content)
        elif kind in _PUBLISHED:
            self._add(message)

    def _add(self, message: dict[str, Any]) -> None:
        content = message["content"]
        if self._clear_next:
            self.outputs.clear()
            self._clear_next = False
        last = self.outputs[-1] if self.outputs else None
        if (
            message["msg_type"] == "stream"
            and last is not None
            and last["output_type"] == "stream"
            and last["name"] == content["name"]
        ):
            last["text"] += content["text"]
            return
        output = output_from_msg(message)
        self.outputs.append(output)
        display_id = content.get("transient", {}).get("display_id")
        if display_id is not None:
            self._displays.remember(display_id, output)


def as_cell_output(output: Any) -> CellOutput:
    """An nbformat output as the wire carries it; lists of lines are joined."""
    fields = dict(output)
    text = fields.get("text")
    if isinstance(text, list):
        fields["text"] = "".join(text)
    return CellOutput.model_validate(fields)
