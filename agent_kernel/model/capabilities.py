"""What a model can do: asked at the models endpoint, else from a small table, else safe guesses."""

from __future__ import annotations

from typing import Any, Literal

from agent_kernel.messages import Frozen
from agent_kernel.model_types import Capabilities

ThinkingStyle = Literal["budget", "adaptive"]


class ModelFacts(Frozen):
    """Capabilities and how this model wants thinking asked for.

    ``always_thinks``: it thinks without being asked, and hides it unless a display is named.
    """

    capabilities: Capabilities = Capabilities()
    thinking_style: ThinkingStyle = "budget"
    always_thinks: bool = False


UNKNOWN = ModelFacts()


def _family(
    window: int, output: int, style: ThinkingStyle, *, always_thinks: bool = False
) -> ModelFacts:
    capabilities = Capabilities(
        context_window=window, max_output_tokens=output, images=True, thinking=True, known=True
    )
    return ModelFacts(capabilities=capabilities, thinking_style=style, always_thinks=always_thinks)


# By the beginning of the id, the first that fits: for endpoints that tell nothing of their models
# (gateways, other servers).
_TABLE: tuple[tuple[str, ModelFacts], ...] = (
    ("claude-sonnet-4-6", _family(200_000, 64_000, "adaptive")),
    ("claude-sonnet-4", _family(200_000, 64_000, "budget")),
    ("claude-haiku-4", _family(200_000, 64_000, "budget")),
    ("claude-opus-4-5", _family(200_000, 64_000, "budget")),
    ("claude-opus-4-", _family(200_000, 128_000, "adaptive")),
    ("claude-sonnet-5", _family(1_000_000, 128_000, "adaptive", always_thinks=True)),
    ("claude-opus-5", _family(1_000_000, 128_000, "adaptive", always_thinks=True)),
    ("claude-haiku-5", _family(1_000_000, 128_000, "adaptive", always_thinks=True)),
    ("claude-fable-5", _family(1_000_000, 128_000, "adaptive", always_thinks=True)),
    ("claude-mythos-5", _family(1_000_000, 128_000, "adaptive", always_thinks=True)),
)


def facts_from_table(model: str) -> ModelFacts:
    """What the table says of a family, else safe defaults with ``known`` false."""
    return next((facts for prefix, facts in _TABLE if model.startswith(prefix)), UNKNOWN)


def facts_from_endpoint(model: str, info: dict[str, Any]) -> ModelFacts:
    """Read the answer of the models endpoint; what it leaves out comes from the table."""
    base = facts_from_table(model)
    told = _object(info.get("capabilities"))
    window, output = _count(info.get("max_input_tokens")), _count(info.get("max_tokens"))
    if not told and window is None and output is None:
        return base
    before = base.capabilities
    types = _object(_object(told.get("thinking")).get("types"))
    style = base.thinking_style
    if _supported(types.get("enabled"), default=False):
        style = "budget"
    elif _supported(types.get("adaptive"), default=False):
        style = "adaptive"
    return ModelFacts(
        capabilities=Capabilities(
            context_window=window or before.context_window,
            max_output_tokens=output or before.max_output_tokens,
            images=_supported(told.get("image_input"), default=before.images),
            thinking=_supported(told.get("thinking"), default=before.thinking),
            context_management=_supported(told.get("context_management"), default=False),
            known=True,
        ),
        thinking_style=style,
        always_thinks=base.always_thinks and style == "adaptive",
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _supported(entry: Any, *, default: bool) -> bool:
    return bool(entry.get("supported", default)) if isinstance(entry, dict) else default
