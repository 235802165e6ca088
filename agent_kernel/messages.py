"""What is said: the conversation as plain, serialisable values (SPEC M1, M2).

A stored conversation is an ordered list of ``Message``. It is richer than what the API takes;
``agent_kernel.context.normalise`` turns it into a valid request.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

MediaType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]


class Frozen(BaseModel):
    """Base of all values that cross a seam: immutable; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class TextBlock(Frozen):
    type: Literal["text"] = "text"
    text: str


class ThinkingBlock(Frozen):
    """Kept and sent back verbatim: the signature covers the exact text."""

    type: Literal["thinking"] = "thinking"
    thinking: str
    signature: str = ""


class RedactedThinkingBlock(Frozen):
    type: Literal["redacted_thinking"] = "redacted_thinking"
    data: str


class ImageBlock(Frozen):
    """``data`` is base64 without white space."""

    type: Literal["image"] = "image"
    media_type: MediaType
    data: str


class ToolUseBlock(Frozen):
    type: Literal["tool_use"] = "tool_use"
    id: str
    name: str
    input: dict[str, JsonValue] = Field(default_factory=dict)


ResultContent = Annotated[TextBlock | ImageBlock, Field(discriminator="type")]


class ToolResultBlock(Frozen):
    type: Literal["tool_result"] = "tool_result"
    tool_use_id: str
    content: tuple[ResultContent, ...] = ()
    is_error: bool = False


UserContent = Annotated[TextBlock | ImageBlock | ToolResultBlock, Field(discriminator="type")]
AssistantContent = Annotated[
    TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock, Field(discriminator="type")
]


class Usage(Frozen):
    """Tokens of one model call, or the sum of several."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0

    @property
    def total_input(self) -> int:
        """All tokens the model read: fresh, cached and newly cached."""
        return self.input_tokens + self.cache_read_input_tokens + self.cache_creation_input_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_input_tokens=self.cache_read_input_tokens + other.cache_read_input_tokens,
            cache_creation_input_tokens=(
                self.cache_creation_input_tokens + other.cache_creation_input_tokens
            ),
        )


class BaseMessage(Frozen):
    """``timestamp`` is ISO 8601 in UTC; ``is_meta`` marks text the person did not write."""

    uuid: str
    parent_uuid: str | None = None
    timestamp: str = ""
    is_meta: bool = False


class UserMessage(BaseMessage):
    """``source_tool_use_id``: the call whose result brought this text (a skill's)."""

    type: Literal["user"] = "user"
    content: tuple[UserContent, ...]
    source_tool_use_id: str | None = None


class AssistantMessage(BaseMessage):
    """One reply. ``message_id`` is the API's id; ``complete`` is false if the stream was cut."""

    type: Literal["assistant"] = "assistant"
    message_id: str
    model: str = ""
    content: tuple[AssistantContent, ...]
    stop_reason: str | None = None
    usage: Usage = Usage()
    complete: bool = True


class SystemMessage(BaseMessage):
    """Shown, not sent; but a local command's output (``is_command_output``) is sent."""

    type: Literal["system"] = "system"
    level: Literal["info", "warning", "error"] = "info"
    text: str
    is_command_output: bool = False


class AttachmentMessage(BaseMessage):
    """What the product adds for the model: skills, changed cells. Sent as user text."""

    type: Literal["attachment"] = "attachment"
    kind: str
    content: tuple[ResultContent, ...]


class ProgressMessage(BaseMessage):
    type: Literal["progress"] = "progress"
    tool_use_id: str
    text: str


class TombstoneMessage(BaseMessage):
    """Withdraws an earlier message; neither is sent."""

    type: Literal["tombstone"] = "tombstone"
    target_uuid: str
    reason: str = ""


class CompactBoundary(BaseMessage):
    """Everything before this line is represented by the message that follows it.

    That is a summary, or after a ``cut`` a word that something is left out. ``kept``: uuids of
    earlier messages that are still sent as they are, after it.
    """

    type: Literal["compact_boundary"] = "compact_boundary"
    trigger: Literal["manual", "auto", "reactive", "cut"] = "auto"
    tokens_before: int = 0
    kept: tuple[str, ...] = ()


Message = Annotated[
    UserMessage
    | AssistantMessage
    | SystemMessage
    | AttachmentMessage
    | ProgressMessage
    | TombstoneMessage
    | CompactBoundary,
    Field(discriminator="type"),
]


def text_of(content: tuple[UserContent, ...] | tuple[AssistantContent, ...]) -> str:
    """The text blocks of a message joined by blank lines."""
    return "\n\n".join(block.text for block in content if isinstance(block, TextBlock))
