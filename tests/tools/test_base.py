"""What the model gets of a tool: a schema, a short prompt, and lessons instead of failures."""

from __future__ import annotations

import json

import pytest

from agent_kernel.errors import ToolError
from agent_kernel.tools.registry import default_tools

TOOLS = {tool.name: tool for tool in default_tools()}


def test_the_tools_are_a_plain_list() -> None:
    assert list(TOOLS) == [
        "Read", "Write", "Edit", "NotebookEdit", "RunCell", "Python", "Variables", "Skill",
    ]  # fmt: skip
    aliases = {name: tool.aliases for name, tool in TOOLS.items() if tool.aliases}
    assert aliases == {"Read": ("FileRead",), "Write": ("FileWrite",), "Edit": ("FileEdit",)}


def test_all_that_is_sent_of_the_tools_stays_small() -> None:
    sizes = {
        name: len(tool.prompt()) + len(json.dumps(tool.input_schema()))
        for name, tool in TOOLS.items()
    }
    assert sum(sizes.values()) < 16_000, sizes


def test_schemas_are_objects_that_refuse_unknown_fields() -> None:
    for tool in TOOLS.values():
        schema = tool.input_schema()
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert '"title"' not in json.dumps(schema)
    assert TOOLS["Edit"].input_schema()["required"] == ["file_path", "old_string", "new_string"]


def test_a_wrong_input_says_what_is_wrong_and_which_fields_there_are() -> None:
    with pytest.raises(ToolError) as caught:
        TOOLS["NotebookEdit"].parse_input({"cell": "a1", "edit_mode": "append", "new_source": 3})
    assert str(caught.value).split("\n") == [
        "NotebookEdit cannot use this input:",
        "- `new_source`: Input should be a valid string.",
        "- `edit_mode`: Input should be 'replace', 'insert' or 'delete'.",
        "- `cell` is not a field of this tool.",
        (
            "Fields: `notebook_path` (string); `cell_id` (string); `new_source` (string); "
            '`cell_type` ("code" | "markdown"); `edit_mode` ("replace" | "insert" | "delete").'
        ),
    ]
    with pytest.raises(ToolError, match="`file_path` is missing"):
        TOOLS["Read"].parse_input({})


def test_only_looking_is_read_only() -> None:
    inputs = {
        "Read": {"file_path": "a"},
        "Write": {"file_path": "a", "content": ""},
        "Edit": {"file_path": "a", "old_string": "a", "new_string": "b"},
        "NotebookEdit": {"new_source": "x"},
        "RunCell": {"cell_id": "a"},
        "Python": {"code": "1"},
        "Variables": {},
        "Skill": {"skill": "x"},
    }
    parsed = {name: tool.parse_input(inputs[name]) for name, tool in TOOLS.items()}
    reads = {name for name, tool in TOOLS.items() if tool.is_read_only(parsed[name])}
    together = {name for name, tool in TOOLS.items() if tool.is_concurrency_safe(parsed[name])}
    assert (reads, together) == ({"Read", "Variables", "Skill"}, {"Read", "Variables"})
