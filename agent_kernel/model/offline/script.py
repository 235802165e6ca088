"""Scripts: what the offline server says, as YAML.

A script is a list of rules. The first rule that fits the newest text a *person* wrote is played;
its steps are the replies of the turn, in order: the first step answers the text, the second answers
the tool results of the first, and so on. The step is counted from the request, so a retried request
gets the same reply and the server keeps nothing between requests.

    name: hello
    pace: 0.01                   # seconds between pieces of text; 0 is the default
    chunk: 12                    # characters per piece
    rules:
      - contains: how many rows  # in any letter case; or `matches: <regex>`; neither fits any text
        example: How many rows does df have   # listed when a text fits no rule
        steps:
          - - thinking: The variables will tell.
            - text: I will look.
            - tool: Variables
              input: {names: [df]}
          - - text: "It has {{result:-1:(\\d+) rows}} rows."
      - contains: hi
        reply: Hello.            # short for one step with one text

**Whose text.** A text inside ``<system-reminder>`` is not a person's. Text that arrives beside tool
results (steering) counts as the newest; if it fits no rule, the one before it goes on. Rules with
``agent: NAME`` fit only requests whose system prompt holds ``<agent-type>NAME</agent-type>``.

**A step** is a list of parts, or a mapping with ``blocks`` and any of ``pace``, ``chunk``,
``stop_reason``, ``usage`` (``{input_tokens: ...}``), ``wait_for`` (a gate that is held before the
reply begins) and ``fault``. ``cases`` instead of ``blocks``: the first case whose ``when`` (a regex
on the last tool results) and ``error`` (whether one of them failed) fit. ``repeat: true`` in a
rule plays its last step for ever; without it a rule that has ended says so.

**Parts**: ``text``, ``thinking`` (with ``signature``), ``redacted_thinking``, ``tool`` (with
``input``, or ``raw_input``: JSON as written, and ``id``). ``upto: N`` sends only N characters and
leaves the block open. For tests: ``wait_for: NAME`` (a gate in mid-stream), ``ping: true``,
``again: true`` (the last event once more), ``event: {...}`` and ``content_block: {...}`` (of any
type), ``raw: TEXT`` (a data line that need not be JSON), ``error: TYPE`` (an error event),
``stall: true`` (silence until the client goes), ``cut: true`` (the connection breaks) or
``cut: clean`` (it ends as if all were said).

**Values** in texts and tool inputs: ``{{result:N:REGEX}}`` is the first group of REGEX (else its
match) in the text of tool result N of this turn, -1 being the last; N may be a tool's name, for its
last result; without REGEX it is the whole text. ``{{prompt:REGEX}}`` looks in the person's text,
``{{match:N}}`` is a group of the rule's regex, ``{{seen:REGEX}}`` looks through the whole
conversation, newest first (cell ids, say), and then the system prompt. ``| number`` at the end
makes an input that is nothing else a number, ``| lines N`` keeps N lines and ``| round N`` rounds.
What is not found is written as ``(not found)``.

**fault**: ``status`` and ``message``, ``type``, ``retry_after`` (sent as it is), ``body`` (text
instead of the API's error object), ``times`` (how often it happens before the step is played;
default 1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)

from agent_kernel.errors import SettingsError


class Strict(BaseModel):
    """A misspelt key in a script is an error, not a silent nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class TextPart(Strict):
    text: str
    upto: int | None = None


class ThinkingPart(Strict):
    thinking: str
    signature: str | None = None
    upto: int | None = None


class RedactedPart(Strict):
    redacted_thinking: str


class ToolPart(Strict):
    tool: str
    input: dict[str, JsonValue] = Field(default_factory=dict)
    raw_input: str | None = None
    id: str | None = None
    upto: int | None = None


class ContentPart(Strict):
    content_block: dict[str, JsonValue]


class EventPart(Strict):
    event: dict[str, JsonValue]


class RawPart(Strict):
    raw: str


class WaitPart(Strict):
    wait_for: str


class PingPart(Strict):
    ping: Literal[True]


class AgainPart(Strict):
    again: Literal[True]


class ErrorPart(Strict):
    error: str
    message: str = "the script says so"


class StallPart(Strict):
    stall: Literal[True]


class CutPart(Strict):
    cut: Literal[True, "clean"]


_PARTS: dict[str, type[Strict]] = {
    "text": TextPart,
    "thinking": ThinkingPart,
    "redacted_thinking": RedactedPart,
    "tool": ToolPart,
    "content_block": ContentPart,
    "event": EventPart,
    "raw": RawPart,
    "wait_for": WaitPart,
    "ping": PingPart,
    "again": AgainPart,
    "error": ErrorPart,
    "stall": StallPart,
    "cut": CutPart,
}


def _part_kind(value: Any) -> str | None:
    if isinstance(value, dict):
        return next((key for key in _PARTS if key in value), None)
    return next((key for key, kind in _PARTS.items() if isinstance(value, kind)), None)


Part = Annotated[
    Annotated[TextPart, Tag("text")]
    | Annotated[ThinkingPart, Tag("thinking")]
    | Annotated[RedactedPart, Tag("redacted_thinking")]
    | Annotated[ToolPart, Tag("tool")]
    | Annotated[ContentPart, Tag("content_block")]
    | Annotated[EventPart, Tag("event")]
    | Annotated[RawPart, Tag("raw")]
    | Annotated[WaitPart, Tag("wait_for")]
    | Annotated[PingPart, Tag("ping")]
    | Annotated[AgainPart, Tag("again")]
    | Annotated[ErrorPart, Tag("error")]
    | Annotated[StallPart, Tag("stall")]
    | Annotated[CutPart, Tag("cut")],
    Discriminator(_part_kind),
]


class Fault(Strict):
    """An answer that is no reply. ``retry_after`` is sent as written; ``body`` replaces JSON."""

    status: int
    type: str | None = None
    message: str = "the script says so"
    retry_after: str | None = None
    body: str | None = None
    times: int = 1

    @field_validator("retry_after", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        return str(value) if isinstance(value, int | float) else value


class Step(Strict):
    """One reply of the model; see the module's docstring."""

    blocks: tuple[Part, ...] = ()
    cases: tuple[Step, ...] = ()
    when: str | None = None
    error: bool | None = None
    pace: float | None = None
    chunk: int | None = Field(default=None, ge=1)
    stop_reason: str | None = None
    usage: dict[str, int] = Field(default_factory=dict)
    wait_for: str | None = None
    fault: Fault | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"blocks": [{"text": value}]}
        return {"blocks": value} if isinstance(value, list | tuple) else value

    @field_validator("when")
    @classmethod
    def _is_regex(cls, value: str | None) -> str | None:
        return _checked_regex(value)


class Rule(Strict):
    contains: str | None = None
    matches: str | None = None
    agent: str | None = None
    example: str | None = None
    repeat: bool = False
    steps: tuple[Step, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: Any) -> Any:
        if isinstance(value, dict) and "reply" in value:
            rest = {key: item for key, item in value.items() if key != "reply"}
            return {**rest, "steps": [value["reply"]]}
        return value

    @field_validator("matches")
    @classmethod
    def _is_regex(cls, value: str | None) -> str | None:
        return _checked_regex(value)

    def fits(self, text: str, agent: str | None) -> re.Match[str] | None:
        """A match object if the rule answers this text of this agent."""
        if self.agent != agent:
            return None
        if self.matches is not None:
            return re.search(self.matches, text)
        if self.contains is not None:
            return re.search(re.escape(self.contains), text, re.IGNORECASE)
        return re.match("", text)


class Script(Strict):
    name: str = "script"
    about: str = ""
    pace: float = 0.0
    chunk: int = Field(default=24, ge=1)
    rules: tuple[Rule, ...] = ()


def _checked_regex(value: str | None) -> str | None:
    if value is not None:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from error
    return value


def parse_script(source: object, *, origin: str = "script") -> Script:
    """A script from YAML text, from a mapping, or from a list of rules.

    Raises ``SettingsError`` that names ``origin`` and the place.
    """
    import yaml

    if isinstance(source, Script):
        return source
    if isinstance(source, str):
        try:
            source = yaml.safe_load(source)
        except yaml.YAMLError as error:
            raise SettingsError(f"{origin}: not valid YAML: {error}") from error
    if isinstance(source, list | tuple):
        source = {"rules": list(source)}
    try:
        return Script.model_validate(source)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "top level"
        raise SettingsError(f"{origin}: {place}: {first['msg']}") from error


def load_scripts(paths: Iterable[Path]) -> tuple[Script, ...]:
    """Read script files; a folder stands for all its ``*.yaml`` files, sorted by name."""
    scripts: list[Script] = []
    for path in paths:
        files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
        for file in files:
            try:
                text = file.read_text(encoding="utf-8-sig")
            except OSError as error:
                raise SettingsError(f"{file}: cannot be read: {error.strerror}") from error
            scripts.append(parse_script(text, origin=file.name))
    return tuple(scripts)


def packaged_scripts() -> tuple[Script, ...]:
    """The scripts that come with the package."""
    return load_scripts([Path(__file__).parent / "scripts"])
