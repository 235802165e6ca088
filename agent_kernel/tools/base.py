"""What every tool starts from: a pydantic input, safe defaults, errors that teach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from agent_kernel.errors import ToolError
from agent_kernel.tool_types import Opinion, RuleTarget, ToolContext, ToolDisplay, ToolResult
from agent_kernel.vocabulary import Preview, TextPreview

DEFAULT_RESULT_CHARS = 30_000


class ToolInput(BaseModel):
    """Base of inputs: unknown fields are refused, because they are usually misspelt ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")


InputT = TypeVar("InputT", bound=ToolInput)


class BaseTool(Generic[InputT]):
    """Safe defaults (SPEC T1): alone, not read-only, enabled, no opinion on permission.

    A tool sets ``name``, ``input_model`` and ``description`` and overrides ``call``.
    """

    name: str
    input_model: type[InputT]
    description: str
    aliases: tuple[str, ...] = ()
    search_hint: str = ""
    max_result_chars: int = DEFAULT_RESULT_CHARS
    verb: ClassVar[str] = ""

    def input_schema(self) -> dict[str, JsonValue]:
        schema = _without_titles(self.input_model.model_json_schema())
        assert isinstance(schema, dict)  # noqa: S101 (for the type checker)
        schema.pop("description", None)
        return schema

    def parse_input(self, raw: Mapping[str, JsonValue]) -> InputT:
        """Validate. Raises ``ToolError`` whose text says how to write the input right."""
        try:
            return self.input_model.model_validate(dict(raw))
        except ValidationError as error:
            raise ToolError(self._lesson(error)) from None

    def prompt(self) -> str:
        return self.description

    def is_enabled(self, context: ToolContext) -> bool:
        return True

    def is_read_only(self, input: InputT) -> bool:
        return False

    def is_concurrency_safe(self, input: InputT) -> bool:
        return False

    def is_destructive(self, input: InputT) -> bool:
        return not self.is_read_only(input)

    def interrupt_behavior(self) -> Literal["cancel", "wait"]:
        return "cancel"

    async def validate_input(self, input: InputT, context: ToolContext) -> str | None:
        """None if the call makes sense now, else the text of the error result."""
        return None

    async def check_permissions(self, input: InputT, context: ToolContext) -> Opinion:
        return Opinion()

    async def rule_targets(self, input: InputT, context: ToolContext) -> tuple[RuleTarget, ...]:
        return ()

    def display(self, input: InputT, context: ToolContext) -> ToolDisplay:
        return ToolDisplay(verb=self.verb or self.name)

    async def preview(self, input: InputT, context: ToolContext) -> Preview:
        return TextPreview(text=input.model_dump_json(indent=2, exclude_none=True))

    async def call(self, input: InputT, context: ToolContext) -> ToolResult:
        raise NotImplementedError

    def _lesson(self, error: ValidationError) -> str:
        lines = [f"{self.name} cannot use this input:"]
        for fault in error.errors(include_url=False, include_context=False, include_input=False):
            where = ".".join(str(part) for part in fault["loc"]) or "input"
            if fault["type"] == "missing":
                lines.append(f"- `{where}` is missing.")
            elif fault["type"] == "extra_forbidden":
                lines.append(f"- `{where}` is not a field of this tool.")
            else:
                message = fault["msg"].removeprefix("Value error, ")
                lines.append(f"- `{where}`: {message}.".replace("..", "."))
        lines.append("Fields: " + "; ".join(_fields(self.input_schema())) + ".")
        return "\n".join(lines)


def _fields(schema: dict[str, JsonValue]) -> list[str]:
    properties = schema.get("properties")
    required = schema.get("required")
    if not isinstance(properties, dict):
        return ["none"]
    needed = required if isinstance(required, list) else []
    texts = []
    for name, field in properties.items():
        kind = _kind(field)
        texts.append(f"`{name}` ({kind}, required)" if name in needed else f"`{name}` ({kind})")
    return texts


def _kind(field: JsonValue) -> str:
    if not isinstance(field, dict):
        return "any"
    if isinstance(enum := field.get("enum"), list):
        return " | ".join(f'"{value}"' for value in enum)
    if isinstance(choices := field.get("anyOf"), list):
        kinds = [_kind(choice) for choice in choices]
        return " or ".join(kind for kind in kinds if kind != "null")
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items'))}"
    return str(field.get("type", "any"))


def _without_titles(schema: Any) -> Any:
    """Titles, null alternatives and null defaults only repeat what the rest says."""
    if isinstance(schema, list):
        return [_without_titles(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    slim = {
        key: _properties(value) if key == "properties" else _without_titles(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str)) and not (key == "default" and not value)
    }
    choices = slim.get("anyOf")
    if isinstance(choices, list):
        real = [choice for choice in choices if choice != {"type": "null"}]
        if len(real) == 1:
            del slim["anyOf"]
            slim = {**real[0], **slim}
    return slim


def _properties(value: Any) -> Any:
    """A field may well be called ``title`` or ``default``; only its schema is slimmed."""
    if not isinstance(value, dict):
        return value
    return {name: _without_titles(field) for name, field in value.items()}
