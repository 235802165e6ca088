"""What code gave back, for the model and as the one fact of a line."""

from __future__ import annotations

from collections.abc import Sequence

from agent_kernel.messages import ImageBlock, ResultContent, TextBlock
from agent_kernel.notebook.render import Budget, render_outputs
from agent_kernel.vocabulary import CellOutput

# Leaves room for the line about the status below a tool's limit of 30,000.
OUTPUT_CHARS = 28_000


def shown(outputs: Sequence[CellOutput], how: str = "") -> list[ResultContent]:
    """Text and pictures in the order they came, within what one result may hold."""
    return render_outputs(outputs, Budget(chars=OUTPUT_CHARS, per_output=OUTPUT_CHARS), how)


def fact_of(outputs: Sequence[CellOutput], content: Sequence[ResultContent]) -> str:
    """ "ValueError: …", "2 images", "14 lines" or "no output"."""
    error = next((output for output in outputs if output.output_type == "error"), None)
    if error is not None:
        return f"{error.ename or 'Error'}: {error.evalue or ''}".rstrip(": ")[:120]
    images = sum(isinstance(block, ImageBlock) for block in content)
    if images:
        return f"{images} image" + "s" * (images != 1)
    lines = sum(
        block.text.rstrip("\n").count("\n") + 1
        for block in content
        if isinstance(block, TextBlock) and block.text.strip()
    )
    return f"{lines:,} line" + "s" * (lines != 1) if lines else "no output"
