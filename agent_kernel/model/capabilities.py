"""What a model can do: asked at the models endpoint, else from a small table, else safe guesses."""

from __future__ import annotations

from typing import Any, Literal

from agent_kernel.messages import Frozen
from agent_kernel.model_types import Capabilities

ThinkingStyle = Literal["budget", "adaptive"]


class ModelFacts(Frozen):
    """Capabilities and how this model wants thinking asked for."""

    capabilities: Capabilities = Capabilities()
    thinking_style: ThinkingStyle = "budget"


UNKNOWN = ModelFacts()

# Families by the beginning of the id, for endpoints that list no models (gateways, other servers).
_FAMILIES: tuple[tuple[str, int, ThinkingStyle], ...] = (
    ("claude-sonnet-4", 64_000, "budget"),
    ("claude-haiku-4", 64_000, "budget"),
    ("claude-opus-4-5", 64_000, "budget"),
    ("claude-opus-4", 32_000, "budget"),
    ("claude-sonnet-5", 64_000, "adaptive"),
    ("claude-opus-5", 64_000, "adaptive"),
    ("claude-haiku-5", 64_000, "adaptive"),
    ("claude-fable-5", 64_000, "adaptive"),
    ("claude-mythos-5", 64_000, "adaptive"),
)
_TABLE: tuple[tuple[str, ModelFacts], ...] = tuple(
    (
        prefix,
        ModelFacts(
            capabilities=Capabilities(
                context_window=200_000,
                max_output_tokens=output,
                images=True,
                thinking=True,
                known=True,
            ),
            thinking_style=style,
        ),
    )
    for prefix, output, style in _FAMILIES
)


def facts_from_table(model: str) -> ModelFacts:
    """What the table says of a family, else safe defaults with ``known`` false."""
    return next((facts for prefix, facts in _TABLE if model.startswith(prefix)), UNKNOWN)


def facts_from_endpoint(model: str, info: dict[str, Any]) -> ModelFacts:
    """Read the answer of the models endpoint; what it leaves out comes from the table."""
    base = facts_from_table(model)
    told = info.get("capabilities") or {}
    window, output = info.get("max_input_tokens"), info.get("max_tokens")
    if not told and window is None and output is None:
        return base
    thinking = told.get("thinking") or {}
    types = thinking.get("types") or {}
    management = told.get("context_management") or {}
    return ModelFacts(
        capabilities=Capabilities(
            context_window=window or base.capabilities.context_window,
            max_output_tokens=output or base.capabilities.max_output_tokens,
            images=_supported(told.get("image_input"), default=base.capabilities.images),
            thinking=_supported(thinking, default=base.capabilities.thinking),
            context_management=_supported(management, default=False),
            known=True,
        ),
        thinking_style="budget"
        if _supported(types.get("enabled"), default=False)
        else "adaptive"
        if _supported(types.get("adaptive"), default=False)
        else base.thinking_style,
    )


def _supported(entry: Any, *, default: bool) -> bool:
    return bool(entry.get("supported", default)) if isinstance(entry, dict) else default
