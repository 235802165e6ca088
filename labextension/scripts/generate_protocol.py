"""Write ``src/protocol/generated.ts`` from the pydantic models of events and wire.

    python labextension/scripts/generate_protocol.py            # write the file
    python labextension/scripts/generate_protocol.py --check    # exit 1 if it is out of date

Two rules turn a JSON schema into the TypeScript that is true at run time. What the *kernel*
writes carries every field, so all are required there. What a *page* writes may leave out fields
that have a default, so there they are optional; a type that both sides write follows this rule.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from agent_kernel import events, messages, vocabulary, wire, wire_sessions
from agent_kernel import wire_methods as methods

TARGET = Path(__file__).resolve().parents[1] / "src" / "protocol" / "generated.ts"

HEADER = """\
// Generated from agent_kernel/{events,messages,vocabulary,wire}.py; do not edit.
// Write it anew with: python labextension/scripts/generate_protocol.py

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | JsonValue[]
  | { [key: string]: JsonValue };
"""

Schema = dict[str, Any]


def _refs(schema: object) -> Iterator[str]:
    """Names of the definitions that a schema points at, directly."""
    if isinstance(schema, dict):
        ref = schema.get("$ref")
        if isinstance(ref, str):
            yield ref.rsplit("/", 1)[1]
        # The mapping of a discriminator repeats the references beside it.
        for key, value in schema.items():
            if key != "discriminator":
                yield from _refs(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _refs(value)


def _closure(names: set[str], definitions: dict[str, Schema]) -> set[str]:
    """The names and all they reach."""
    found: set[str] = set()
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= set(_refs(definitions.get(name, {}))) - found
    return found


def _models() -> dict[str, type[BaseModel]]:
    """Every model that crosses the wire by itself; what they reach comes with them."""
    roots: set[type[BaseModel]] = set()
    for module in (events, wire, wire_sessions):
        for value in vars(module).values():
            if (
                inspect.isclass(value)
                and issubclass(value, BaseModel)
                and value.__module__ == module.__name__
                and value is not events.BaseEvent
            ):
                roots.add(value)
    return {model.__name__: model for model in roots}


def _aliases() -> dict[str, Any]:
    """Module-level names for literals and unions; JSON schema forgets those names."""
    found: dict[str, Any] = {}
    for module in (messages, vocabulary, events):
        for name, value in vars(module).items():
            is_literal = get_origin(value) is Literal
            is_union = hasattr(value, "__metadata__")  # Annotated[… | …, Field(discriminator=…)]
            if name[0].isupper() and (is_literal or is_union):
                found[name] = value
    return found


class Writer:
    """Renders schemas, using an alias wherever one names exactly the same type."""

    def __init__(self) -> None:
        models = _models()
        _, top = models_json_schema([(model, "validation") for model in models.values()])
        self.definitions: dict[str, Schema] = top["$defs"]
        self.page_writes = _closure(self._page_roots(), self.definitions)
        self.named: dict[str, str] = {}
        self.bodies: dict[str, str] = {}
        for name, value in _aliases().items():
            schema = TypeAdapter(value).json_schema(ref_template="#/$defs/{model}")
            schema.pop("$defs", None)
            if set(_refs(schema)) <= set(self.definitions):
                body = self.type_of(schema)
                self.bodies[name] = body
                self.named[body] = name

    @staticmethod
    def _page_roots() -> set[str]:
        written = [params for params, _ in methods.FRONT_END_METHODS.values() if params is not None]
        written += [result for _, result in methods.KERNEL_METHODS.values()]
        envelopes = {"RpcRequest", "RpcNotification", "RpcResponse", "MessagePage"}
        return {model.__name__ for model in written} | envelopes

    def type_of(self, schema: Schema) -> str:
        """The TypeScript of one schema."""
        text = self._type_of(schema)
        return self.named.get(text, text)

    def _type_of(self, schema: Schema) -> str:  # one branch per schema keyword
        if "$ref" in schema:
            return str(schema["$ref"]).rsplit("/", 1)[1]
        if "const" in schema:
            return _literal(schema["const"])
        if "enum" in schema:
            return " | ".join(_literal(value) for value in schema["enum"])
        for key in ("oneOf", "anyOf"):
            if key in schema:
                return self._union(schema[key])
        kind = schema.get("type")
        if kind == "array":
            item = self.type_of(schema.get("items", {}))
            return f"readonly ({item})[]" if " " in item else f"readonly {item}[]"
        if kind == "object":
            values = schema.get("additionalProperties", {})
            inner = self.type_of(values) if isinstance(values, dict) else "JsonValue"
            return f"{{ [key: string]: {inner} }}"
        plain = {"string": "string", "integer": "number", "number": "number"}
        plain |= {"boolean": "boolean", "null": "null"}
        return plain.get(str(kind), "JsonValue")

    def _union(self, members: list[Schema]) -> str:
        """``null`` is told apart first, so that ``Decision | null`` keeps its name."""
        rest = [member for member in members if member.get("type") != "null"]
        parts = [self.type_of(member) for member in rest]
        joined = self.named.get(" | ".join(parts), " | ".join(parts))
        return joined if len(rest) == len(members) else f"{joined} | null"

    def definition(self, name: str) -> str:
        """One exported type."""
        schema = self.definitions[name]
        comment = _comment(schema.get("description"))
        if "enum" in schema:
            return f"{comment}export type {name} ={_wrap(self._type_of(schema))};\n"
        required = set(schema.get("required", ()))
        lines = []
        for field, sub in schema.get("properties", {}).items():
            text = self.type_of(sub)
            # A constant is how a reader tells types apart: never left out.
            needed = "const" in sub or field in required or name not in self.page_writes
            lines.append(f"  {field}: {text};" if needed else f"  {field}?: {text} | undefined;")
        body = "\n".join(lines)
        return f"{comment}export type {name} = {{\n{body}\n}};\n"


def _literal(value: object) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return json.dumps(value)


def _wrap(text: str) -> str:
    """A long union on lines of its own."""
    parts = text.split(" | ")
    return f" {text}" if len(text) < 80 else "\n  | " + "\n  | ".join(parts)


def _comment(text: str | None) -> str:
    """A docstring as TSDoc; Sphinx roles and double back-quotes become Markdown."""
    if not text:
        return ""
    plain = re.sub(r":\w+:`([^`]*)`", r"`\1`", inspect.cleandoc(text)).replace("``", "`")
    lines = plain.splitlines()
    if len(lines) == 1:
        return f"/** {lines[0]} */\n"
    return "/**\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */\n"


def _methods(
    name: str, comment: str, methods: dict[str, tuple[type[messages.Frozen] | None, type[Any]]]
) -> str:
    rows = []
    for method, (params, result) in methods.items():
        given = params.__name__ if params is not None else "Record<string, never>"
        rows.append(f"  {_literal(method)}: {{ params: {given}; result: {result.__name__} }};")
    return f"/** {comment} */\nexport type {name} = {{\n" + "\n".join(rows) + "\n};\n"


def _constants() -> str:
    """Numbers and names that both sides must agree on."""
    rows = [
        f"export const {name} = {_literal(value)};"
        for name, value in vars(wire).items()
        if name.isupper() and isinstance(value, int | str)
    ]
    return "\n".join(rows) + "\n"


def _event_types() -> str:
    union = get_args(get_args(events.Event)[0])
    names = [_literal(member.model_fields["type"].default) for member in union]
    rows = "".join(f"  {name},\n" for name in names).removesuffix(",\n") + "\n"
    return (
        "/** The types this reader knows; an event of any other type is skipped. */\n"
        f"export const EVENT_TYPES = [\n{rows}] as const;\n"
    )


def generate() -> str:
    """The whole file."""
    writer = Writer()
    parts = [HEADER, _constants()]
    parts += [f"export type {name} ={_wrap(body)};\n" for name, body in writer.bodies.items()]
    parts += [writer.definition(name) for name in writer.definitions if name != "JsonValue"]
    parts.append(_event_types())
    parts.append(_methods("FrontEndMethods", "What the kernel answers.", methods.FRONT_END_METHODS))
    parts.append(_methods("KernelMethods", "What the page answers.", methods.KERNEL_METHODS))
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    """Write or check; the exit code tells."""
    text = generate()
    current = TARGET.read_text("utf-8") if TARGET.is_file() else ""
    if text == current:
        return 0
    if "--check" in arguments:
        print(f"{TARGET} is out of date: run {Path(__file__).name}", file=sys.stderr)
        return 1
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
