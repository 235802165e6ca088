"""Tool results where the API wants them: all of them, once, first, in the order of the calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_kernel.messages import TextBlock, ToolResultBlock, ToolUseBlock, UserContent

NO_RESULT = "No result was recorded: the call was interrupted before it ended."


def pair_tool_results(
    content: Sequence[UserContent],
    calls: Sequence[ToolUseBlock],
    renamed: Mapping[str, Sequence[str]],
) -> list[UserContent]:
    """The content of the user message that follows ``calls``.

    Missing results are supplied, orphans and repeats dropped. ``renamed`` maps the id a result
    carries to the ids its calls have now, in order.
    """
    found: dict[str, ToolResultBlock] = {}
    rest: list[UserContent] = []
    for block in content:
        if not isinstance(block, ToolResultBlock):
            rest.append(block)
            continue
        for name in renamed.get(block.tool_use_id, ()):
            if name not in found:
                found[name] = (
                    block
                    if name == block.tool_use_id
                    else block.model_copy(update={"tool_use_id": name})
                )
                break
    results: list[UserContent] = [
        found.get(call.id)
        or ToolResultBlock(tool_use_id=call.id, content=(TextBlock(text=NO_RESULT),), is_error=True)
        for call in calls
    ]
    return [*results, *rest]
