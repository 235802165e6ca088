"""The TypeScript of the wire is what the pydantic models say."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def generator(root: Path) -> ModuleType:
    path = root / "labextension" / "scripts" / "generate_protocol.py"
    spec = importlib.util.spec_from_file_location("generate_protocol", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def text(generator: ModuleType) -> str:
    generated: str = generator.generate()
    return generated


def _body(text: str, name: str) -> str:
    match = re.search(rf"export type {name} = \{{\n(.*?)\n\}};", text, re.DOTALL)
    assert match is not None, name
    return match.group(1)


def test_the_generated_file_is_current(generator: ModuleType, text: str) -> None:
    assert generator.TARGET.read_text("utf-8") == text, (
        "run: python labextension/scripts/generate_protocol.py"
    )


def test_what_the_kernel_writes_is_whole(text: str) -> None:
    assert "?" not in _body(text, "RunStarted")
    assert "  cell_id: string | null;" in _body(text, "RunStarted")


def test_what_a_page_writes_may_leave_out_defaults(text: str) -> None:
    body = _body(text, "AnswerParams")
    assert "  request_id: string;" in body
    assert "  destination?: RuleDestination | null | undefined;" in body


def test_tags_are_never_optional(text: str) -> None:
    assert "  jsonrpc: '2.0';" in _body(text, "RpcRequest")
    assert "  type: 'text_delta';" in _body(text, "TextDelta")


def test_unions_keep_their_names(text: str) -> None:
    assert "  preview: Preview | null;" in _body(text, "ToolFinished")
    assert "  events: readonly Event[];" in _body(text, "RunSnapshot")


def test_every_type_that_is_used_is_defined(text: str) -> None:
    defined = set(re.findall(r"export type (\w+)", text))
    used = set(re.findall(r"(?<![\w'.])([A-Z]\w*[a-z]\w*)(?=[\[\];| ,}]|$)", _code(text)))
    assert used - defined - {"Record"} == set()


def _code(text: str) -> str:
    without_comments = re.sub(r"/\*\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    return re.sub(r"'[^'\n]*'", "''", without_comments)
