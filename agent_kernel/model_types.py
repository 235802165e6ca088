"""What goes to a model and what comes back, free of any client library."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, SkipValidation

from agent_kernel.errors import ModelErrorKind
from agent_kernel.messages import AssistantContent, Frozen, Usage, UserContent


class SystemBlock(Frozen):
    """One block of the system prompt; ``cache`` asks for a cache breakpoint at its end.

    ``volatile``: it may change from turn to turn, so nothing is marked behind it.
    """

    text: str
    cache: bool = False
    volatile: bool = False


class ToolSpec(Frozen):
    """A tool as the model sees it."""

    name: str
    description: str
    input_schema: dict[str, JsonValue]


class ApiUserMessage(Frozen):
    role: Literal["user"] = "user"
    content: tuple[UserContent, ...]


class ApiAssistantMessage(Frozen):
    role: Literal["assistant"] = "assistant"
    content: tuple[AssistantContent, ...]


ApiMessage = Annotated[ApiUserMessage | ApiAssistantMessage, Field(discriminator="role")]


class ClearToolUses(Frozen):
    """What an endpoint may leave out by itself once a request has ``above`` tokens: the results of
    these ``tools``, except for the newest ``keep`` of all calls."""

    tools: tuple[str, ...]
    above: int
    keep: int


class ModelRequest(Frozen):
    """One call. ``messages`` are normalised (SPEC M3); ``max_tokens`` None: the model's own.

    The adapter places the cache marks (at most 4, by one function) and the identity prefix.
    ``clear_tool_uses``: for an endpoint that can.
    """

    model: str
    system: tuple[SystemBlock, ...] = ()
    # Made for this request, and many: looking at each again would cost more than all the rest.
    messages: SkipValidation[tuple[ApiMessage, ...]]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    thinking_budget: int | None = None
    stop_sequences: tuple[str, ...] = ()
    clear_tool_uses: ClearToolUses | None = None


class Capabilities(Frozen):
    """What a model can do and take; safe defaults for a model nobody knows."""

    context_window: int = 200_000
    max_output_tokens: int = 8_192
    images: bool = True
    thinking: bool = False
    tool_references: bool = False
    context_management: bool = False
    known: bool = False


class ReplyStarted(Frozen):
    type: Literal["reply_started"] = "reply_started"
    message_id: str
    model: str
    usage: Usage = Usage()


class ReplyText(Frozen):
    type: Literal["reply_text"] = "reply_text"
    index: int
    text: str


class ReplyThinking(Frozen):
    type: Literal["reply_thinking"] = "reply_thinking"
    index: int
    text: str


class ReplyToolStarted(Frozen):
    type: Literal["reply_tool_started"] = "reply_tool_started"
    index: int
    tool_use_id: str
    name: str


class ReplyToolInput(Frozen):
    type: Literal["reply_tool_input"] = "reply_tool_input"
    index: int
    tool_use_id: str
    partial_json: str


class ReplyBlock(Frozen):
    """A block is complete. ``broken_input``: the raw tool input that is no JSON object."""

    type: Literal["reply_block"] = "reply_block"
    index: int
    block: AssistantContent
    broken_input: str | None = None


class ReplyFinished(Frozen):
    """The message ended whole (``message_stop`` was seen)."""

    type: Literal["reply_finished"] = "reply_finished"
    stop_reason: str | None
    usage: Usage


class ReplyFailed(Frozen):
    """The call failed; always the last reply event. Nothing is raised."""

    type: Literal["reply_failed"] = "reply_failed"
    kind: ModelErrorKind
    message: str
    status: int | None = None
    retry_after: float | None = None


ReplyEvent = Annotated[
    ReplyStarted
    | ReplyText
    | ReplyThinking
    | ReplyToolStarted
    | ReplyToolInput
    | ReplyBlock
    | ReplyFinished
    | ReplyFailed,
    Field(discriminator="type"),
]
