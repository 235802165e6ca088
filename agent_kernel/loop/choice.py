"""The model a request goes to, with what is asked of it there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent_kernel.loop.ports import QueryConfig
from agent_kernel.model_types import Capabilities

OUTPUT_TOKENS = 20_000
"""What a reply may hold at first, beside its thinking: what the window keeps free for it."""

MARGIN = 1_000
"""Tokens kept free when a raised limit is fitted into the window: counts are estimates."""


@dataclass(frozen=True)
class Choice:
    """``max_tokens`` is the output limit of the next request, ``first`` what it began with."""

    model: str
    capabilities: Capabilities
    max_tokens: int
    first: int
    thinking_budget: int | None
    may_rise: bool = True

    @property
    def raised(self) -> bool:
        """Whether more is asked for than at first."""
        return self.max_tokens > self.first

    def higher(self, config: QueryConfig, used: int) -> Choice | None:
        """With the highest output limit that ``used`` tokens leave room for; None: no higher."""
        room = self.capabilities.context_window - used - MARGIN
        ceiling = min(self.capabilities.max_output_tokens, room)
        if config.most_tokens is not None:
            ceiling = min(ceiling, config.most_tokens)
        if not self.may_rise or ceiling <= self.max_tokens:
            return None
        return replace(self, max_tokens=ceiling, may_rise=False)

    def lowered(self) -> Choice:
        """Back at the first limit, for good: there is no room for more."""
        return replace(self, max_tokens=self.first, may_rise=False)


def choose(config: QueryConfig, model: str, capabilities: Capabilities) -> Choice:
    """How this run asks a model: limits and thinking as far as the model has them."""
    budget = config.thinking_budget if capabilities.thinking else None
    first = config.max_tokens or OUTPUT_TOKENS + (budget or 0)
    if config.most_tokens is not None:
        first = min(first, config.most_tokens)
    first = min(first, capabilities.max_output_tokens)
    return Choice(model, capabilities, max_tokens=first, first=first, thinking_budget=budget)
