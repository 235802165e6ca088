"""Any stored conversation as a valid request (SPEC M3): pure and idempotent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from agent_kernel.context.boundary import snipped
from agent_kernel.context.image_limits import image_sizes, limited
from agent_kernel.context.images import checked_image, image_digest
from agent_kernel.context.pairing import pair_tool_results
from agent_kernel.context.text import REMINDER_OPEN, clean_object, clean_text, reminder
from agent_kernel.messages import (
    AssistantContent,
    AssistantMessage,
    AttachmentMessage,
    ImageBlock,
    Message,
    RedactedThinkingBlock,
    ResultContent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserContent,
    UserMessage,
)
from agent_kernel.model_types import ApiAssistantMessage, ApiMessage, ApiUserMessage

EMPTY_RESULT = "(no output)"
EMPTY_MESSAGE = "(empty message)"
CONTINUES = "(The conversation goes on from here.)"


_ODD = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass
class Repairs:
    """What an endpoint refused, so that it is left out from now on (CASES 62, 68).

    ``bad_thinking`` holds the signatures (of hidden thinking: the data) of what it refused; later
    thinking is sent as ever.
    """

    bad_thinking: set[str] = field(default_factory=set)
    drop_images: bool = False
    bad_images: set[str] = field(default_factory=set)


@dataclass
class _Assistant:
    message_id: str
    content: list[AssistantContent]


@dataclass
class _User:
    content: list[UserContent]


_Item = _Assistant | _User


class Normaliser:
    """The same, message by message: only the newest ones are looked at again (SPEC C7).

    Fed with messages that count (:func:`agent_kernel.context.boundary.snipped`).
    """

    def __init__(
        self,
        *,
        canonical: Callable[[str], str] = lambda name: name,
        repairs: Repairs | None = None,
        images: bool = True,
    ) -> None:
        self._canonical = canonical
        self._repairs = repairs or Repairs()
        self._no_images = self._repairs.drop_images or not images
        self._settled: list[ApiMessage] = []
        self._sizes: list[int] = []
        self._used: set[str] = set()
        # From the last assistant message that may still change: its results come after it.
        self._open: list[_Item] = []

    def add(self, message: Message) -> None:
        item = _convert(message, self._canonical, self._repairs, self._no_images)
        last = self._open[-1] if self._open else None
        if item is None:
            return
        if isinstance(item, _User) and isinstance(last, _Assistant):
            self._close(last)
            last = self._open[-1] if self._open else None
        if last is None or not _joined(last, item):
            self._open.append(item)

    def _close(self, reply: _Assistant) -> None:
        """A reply is whole, so what is before it stays as it is; it is gone if nothing is left."""
        self._open.pop()
        if not _trim(reply.content):
            return
        if self._open:
            self._settle(_paired(self._open, self._used, first=not self._settled))
        self._open = [reply]

    def _settle(self, messages: list[ApiMessage]) -> None:
        self._settled += messages
        self._sizes += image_sizes(messages)

    def result(self) -> tuple[ApiMessage, ...]:
        """A request's messages; those of the last one are its head."""
        items = [_copy(item) for item in self._open]
        if items and isinstance(last := items[-1], _Assistant) and not _trim(last.content):
            items.pop()
        if not items and not self._settled:
            items = [_User([])]
        newest = _paired(items, set(self._used), first=not self._settled)
        return limited((*self._settled, *newest), sizes=(*self._sizes, *image_sizes(newest)))


def normalise(
    messages: Iterable[Message],
    *,
    canonical: Callable[[str], str] = lambda name: name,
    repairs: Repairs | None = None,
    images: bool = True,
) -> tuple[ApiMessage, ...]:
    """Messages as the API takes them. ``canonical`` maps a tool's old name to its name.

    ``images`` false: the model takes none, so each becomes a line of text.
    """
    normaliser = Normaliser(canonical=canonical, repairs=repairs, images=images)
    for message in snipped(messages):
        normaliser.add(message)
    return normaliser.result()


def _convert(
    message: Message, canonical: Callable[[str], str], repairs: Repairs, no_images: bool
) -> _Item | None:
    match message:
        case UserMessage():
            return _User(_user_blocks(message.content, repairs, no_images))
        case AttachmentMessage():
            wrapped = tuple(
                TextBlock(text=reminder(block.text))
                if isinstance(block, TextBlock) and block.text.strip()
                else block
                for block in message.content
            )
            return _User(_user_blocks(wrapped, repairs, no_images))
        case SystemMessage(is_command_output=True):
            return _User(_user_blocks((TextBlock(text=message.text),), repairs, no_images))
        case AssistantMessage():
            return _Assistant(
                message.message_id, _assistant_blocks(message.content, canonical, repairs)
            )
        case _:
            return None


def _user_blocks(
    content: Iterable[UserContent], repairs: Repairs, no_images: bool
) -> list[UserContent]:
    blocks: list[UserContent] = []
    for block in content:
        if isinstance(block, ToolResultBlock):
            inner = _result_blocks(block.content, repairs, no_images, error=block.is_error)
            name = _api_id(block.tool_use_id)
            if name != block.tool_use_id or not _same(inner, block.content):
                block = block.model_copy(update={"tool_use_id": name, "content": inner})  # noqa: PLW2901
            blocks.append(block)
        else:
            blocks.extend(_plain_blocks((block,), repairs, no_images))
    return blocks


def _result_blocks(
    content: Iterable[ResultContent], repairs: Repairs, no_images: bool, *, error: bool
) -> tuple[ResultContent, ...]:
    blocks: list[ResultContent] = _plain_blocks(content, repairs, no_images)
    if error:  # an error result may hold text only
        blocks = [
            TextBlock(text="[an image]") if isinstance(block, ImageBlock) else block
            for block in blocks
        ]
    return tuple(blocks) or (TextBlock(text=EMPTY_RESULT),)


def _plain_blocks(
    content: Iterable[ResultContent], repairs: Repairs, no_images: bool
) -> list[ResultContent]:
    blocks: list[ResultContent] = []
    for block in content:
        if isinstance(block, ImageBlock):
            if no_images or image_digest(block) in repairs.bad_images:
                blocks.append(TextBlock(text="[an image that this model does not take]"))
            else:
                blocks.append(checked_image(block))
        elif (text := clean_text(block.text)).strip():
            blocks.append(block if text == block.text else TextBlock(text=text))
    return blocks


def _assistant_blocks(
    content: Iterable[AssistantContent], canonical: Callable[[str], str], repairs: Repairs
) -> list[AssistantContent]:
    blocks: list[AssistantContent] = []
    for block in content:
        match block:
            case TextBlock():
                if (text := clean_text(block.text)).strip():
                    blocks.append(block if text == block.text else TextBlock(text=text))
            case ThinkingBlock():
                # Without a signature, or with text that no request can carry, it cannot go back.
                sendable = block.signature and clean_text(block.thinking) == block.thinking
                if sendable and block.signature not in repairs.bad_thinking:
                    blocks.append(block)
            case RedactedThinkingBlock():
                if block.data not in repairs.bad_thinking:
                    blocks.append(block)
            case ToolUseBlock():
                fields = {
                    "id": _api_id(block.id),
                    "name": _api_name(canonical(block.name)),
                    "input": clean_object(block.input),
                }
                same = all(getattr(block, key) == value for key, value in fields.items())
                blocks.append(block if same else block.model_copy(update=fields))
    return blocks


def _same(one: Sequence[object], other: Sequence[object]) -> bool:
    """By identity: cleaning returns what needs none as it is."""
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _api_id(name: str) -> str:
    return _ODD.sub("_", name) or "call"


def _api_name(name: str) -> str:
    return _ODD.sub("_", name)[:64] or "unknown"


def _joined(last: _Item, item: _Item) -> bool:
    """Whether a message became part of the one before it."""
    if isinstance(item, _User) and isinstance(last, _User):
        last.content.extend(item.content)
        return True
    if isinstance(item, _Assistant) and isinstance(last, _Assistant):
        if last.message_id == item.message_id:  # chunks of one message may repeat a call
            seen = {b.id for b in last.content if isinstance(b, ToolUseBlock)}
            item.content = [
                b for b in item.content if not (isinstance(b, ToolUseBlock) and b.id in seen)
            ]
        last.content.extend(item.content)
        last.message_id = item.message_id
        return True
    return False


def _copy(item: _Item) -> _Item:
    if isinstance(item, _User):
        return _User(list(item.content))
    return _Assistant(item.message_id, list(item.content))


def _trim(content: list[AssistantContent]) -> bool:
    """Drops what may not end a message, then says whether something is left to send."""
    while content and isinstance(content[-1], ThinkingBlock | RedactedThinkingBlock):
        content.pop()
    if content and isinstance(last := content[-1], TextBlock):
        text = last.text.rstrip()
        if text != last.text:
            content[-1] = TextBlock(text=text)
    return bool(content)


def _paired(items: Iterable[_Item], used: set[str], *, first: bool) -> list[ApiMessage]:
    """Every call gets its result, at the head of the very next user message (CASES 59, 61).

    ``used``: ids of calls so far. ``first``: no message comes before these.
    """
    api: list[ApiMessage] = []
    calls: list[ToolUseBlock] = []
    renamed: dict[str, list[str]] = {}
    for item in items:
        if isinstance(item, _Assistant):
            if first and not api:
                api.append(ApiUserMessage(content=_empty(first=True)))
            calls, renamed, content = _unique_calls(item.content, used)
            api.append(ApiAssistantMessage(content=tuple(content)))
        else:
            content_ = pair_tool_results(item.content, calls, renamed)
            user = tuple(_fold(content_)) or _empty(first=first and not api)
            api.append(ApiUserMessage(content=user))
            calls, renamed = [], {}
    if calls:
        api.append(ApiUserMessage(content=tuple(pair_tool_results([], calls, renamed))))
    return api


def _unique_calls(
    content: list[AssistantContent], used: set[str]
) -> tuple[list[ToolUseBlock], dict[str, list[str]], list[AssistantContent]]:
    """Rename calls whose id an earlier call has; some servers count from zero each time."""
    calls: list[ToolUseBlock] = []
    renamed: dict[str, list[str]] = {}
    blocks: list[AssistantContent] = []
    for block in content:
        if isinstance(block, ToolUseBlock):
            name, number = block.id, 2
            while name in used:
                name, number = f"{block.id}_{number}", number + 1
            used.add(name)
            renamed.setdefault(block.id, []).append(name)
            block = block if name == block.id else block.model_copy(update={"id": name})  # noqa: PLW2901
            calls.append(block)
        blocks.append(block)
    return calls, renamed, blocks


def _fold(content: list[UserContent]) -> list[UserContent]:
    """Move reminders behind a tool result into it; the person's own words stay beside it."""
    last = max((i for i, b in enumerate(content) if isinstance(b, ToolResultBlock)), default=-1)
    if last < 0:
        return content
    result = content[last]
    assert isinstance(result, ToolResultBlock)  # noqa: S101
    folded = [b for b in content[last + 1 :] if _is_reminder(b)]
    if not folded:
        return content
    rest = [b for b in content[last + 1 :] if not _is_reminder(b)]
    inner = (*result.content, *(b for b in folded if isinstance(b, TextBlock)))
    return [*content[:last], result.model_copy(update={"content": inner}), *rest]


def _is_reminder(block: UserContent) -> bool:
    return isinstance(block, TextBlock) and block.text.startswith(REMINDER_OPEN)


def _empty(*, first: bool) -> tuple[UserContent, ...]:
    return (TextBlock(text=CONTINUES if first else EMPTY_MESSAGE),)
