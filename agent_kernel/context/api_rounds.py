"""A conversation as API rounds: a reply with all that follows it (SPEC C2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from agent_kernel.context.tokens import estimate_block, estimate_message
from agent_kernel.messages import (
    AssistantMessage,
    AttachmentMessage,
    ImageBlock,
    Message,
    ResultContent,
    TextBlock,
    ToolResultBlock,
    UserContent,
    UserMessage,
)

IMAGE_MARK = TextBlock(text="[an image]")
HEAD_CHARS = 2_000
"""What stays of a result that is cut because nothing else is left to cut."""

Replacements = Mapping[str, tuple[ResultContent, ...]]


def api_rounds(messages: Iterable[Message]) -> list[list[Message]]:
    """Grouped by the id of the reply; the first group is what comes before any reply."""
    rounds: list[list[Message]] = [[]]
    reply = ""
    for message in messages:
        if isinstance(message, AssistantMessage) and message.message_id != reply:
            reply = message.message_id
            rounds.append([])
        rounds[-1].append(message)
    return rounds if rounds[0] else rounds[1:]


def without_head(messages: Sequence[Message], share: float = 0.25) -> list[Message] | None:
    """Without the oldest rounds, about that share of the tokens; the newest one always stays.

    So does what the person said last: without it nobody knows what to do. None: nothing can go.
    """
    rounds = api_rounds(messages)
    whole = sum(_weight(message) for message in messages)
    enough = share * whole
    freed = 0
    while len(rounds) > 1 and freed < enough:
        freed += sum(_weight(message) for message in rounds.pop(0))
    rest = [message for group in rounds for message in group]
    prompt = newest_prompt(messages)
    if prompt is not None and prompt not in rest:
        rest.insert(0, prompt)
    return rest if sum(_weight(message) for message in rest) < whole else None


def _weight(message: Message) -> int:
    """Our own words at the head come back after each cut, so leaving them out frees nothing."""
    own = isinstance(message, UserMessage) and message.is_meta
    return 0 if own else estimate_message(message)


def newest_prompt(messages: Sequence[Message]) -> UserMessage | None:
    """What the person said last."""
    for message in reversed(messages):
        if (
            isinstance(message, UserMessage)
            and not message.is_meta
            and any(isinstance(block, TextBlock) for block in message.content)
        ):
            return message
    return None


def cuts(messages: Iterable[Message], share: float = 0.5) -> dict[str, tuple[ResultContent, ...]]:
    """The largest results, cut to their first characters, so that this share of all is freed."""
    sizes: dict[str, int] = {}
    contents: dict[str, tuple[ResultContent, ...]] = {}
    for message in messages:
        for block in message.content if isinstance(message, UserMessage) else ():
            if isinstance(block, ToolResultBlock) and _can_be_cut(block.content):
                contents[block.tool_use_id] = block.content
                sizes[block.tool_use_id] = estimate_block(block)
    enough, freed = share * sum(sizes.values()), 0
    chosen: dict[str, tuple[ResultContent, ...]] = {}
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if freed >= enough:
            break
        chosen[name] = (_head_of(contents[name]),)
        freed += sizes[name]
    return chosen


def _can_be_cut(content: Sequence[ResultContent]) -> bool:
    texts = [block.text for block in content if isinstance(block, TextBlock)]
    return len(texts) < len(content) or sum(map(len, texts)) > 2 * HEAD_CHARS


def _head_of(content: Sequence[ResultContent]) -> TextBlock:
    whole = "\n".join(block.text for block in content if isinstance(block, TextBlock))
    note = f"[{len(whole):,} characters; the rest was left out because nothing more fits.]"
    return TextBlock(text=f"{whole[:HEAD_CHARS]}\n\n{note}")


def replaced(message: Message, replacements: Replacements) -> Message:
    """The message with other contents for the results of these calls."""
    if not replacements or not isinstance(message, UserMessage):
        return message
    if not any(
        isinstance(b, ToolResultBlock) and b.tool_use_id in replacements for b in message.content
    ):
        return message
    content = tuple(
        block.model_copy(update={"content": replacements[block.tool_use_id]})
        if isinstance(block, ToolResultBlock) and block.tool_use_id in replacements
        else block
        for block in message.content
    )
    return message.model_copy(update={"content": content})


def without_images(message: Message) -> Message:
    """For a summary, which is made of text (SPEC C2)."""
    if isinstance(message, AttachmentMessage):
        return message.model_copy(update={"content": _texts(message.content)})
    if not isinstance(message, UserMessage):
        return message
    content: list[UserContent] = [
        block.model_copy(update={"content": _texts(block.content)})
        if isinstance(block, ToolResultBlock)
        else IMAGE_MARK
        if isinstance(block, ImageBlock)
        else block
        for block in message.content
    ]
    return message.model_copy(update={"content": tuple(content)})


def _texts(content: Iterable[ResultContent]) -> tuple[ResultContent, ...]:
    return tuple(IMAGE_MARK if isinstance(block, ImageBlock) else block for block in content)
