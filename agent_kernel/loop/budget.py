"""What a run may spend, and what it should spend (SPEC L6)."""

from __future__ import annotations

from dataclasses import dataclass

from agent_kernel.events import Event, UsageReported
from agent_kernel.messages import Frozen, Usage

LITTLE = 500
"""A round that adds fewer output tokens than this has nothing left to say."""

ENOUGH = 0.9
"""The part of a target at which it counts as spent; the answer takes the rest."""


class Budget(Frozen):
    """Limits of one run; None: no limit.

    ``max_tokens`` counts all tokens that were read and written, cached ones too, by this agent and
    those it started. ``max_cost_usd`` needs a model of known price. ``target_tokens``: output
    tokens to use up, so that a run that would end early goes on.
    """

    max_tokens: int | None = None
    max_cost_usd: float | None = None
    target_tokens: int | None = None


@dataclass
class Tally:
    """What a run has spent: the sum of the ``usage`` events told in it, whoever's they are."""

    usage: Usage = Usage()
    cost: float | None = None
    unpriced: bool = False

    def watch(self, event: Event) -> None:
        """Add an event's share, if it has one."""
        if not isinstance(event, UsageReported):
            return
        self.usage += event.usage
        if event.cost_usd is None:
            self.unpriced = True
        else:
            self.cost = (self.cost or 0.0) + event.cost_usd

    @property
    def tokens(self) -> int:
        return self.usage.total_input + self.usage.output_tokens


@dataclass
class Purse:
    """Holds a budget against what was spent."""

    budget: Budget
    tally: Tally
    _urged_at: int = 0
    _cost_told: bool = False

    def spent(self) -> str | None:
        """Why the run must end, in the person's words; None if it may go on."""
        most = self.budget.max_tokens
        if most is not None and self.tally.tokens >= most:
            return f"The token budget is spent: {self.tally.tokens:,} of {most:,}."
        dollars, cost = self.budget.max_cost_usd, self.tally.cost
        if dollars is not None and cost is not None and cost >= dollars:
            return f"The cost budget is spent: ${cost:.2f} of ${dollars:.2f}."
        return None

    def blind_spot(self) -> str | None:
        """Said once: a cost limit that cannot hold, since a price is not known."""
        if self._cost_told or self.budget.max_cost_usd is None or not self.tally.unpriced:
            return None
        self._cost_told = True
        return "The price of this model is not known, so the cost budget cannot be kept."

    def urge(self) -> str | None:
        """What to tell a model that would end before its target; None: let it end."""
        target = self.budget.target_tokens
        said = self.tally.usage.output_tokens
        if target is None or said >= target * ENOUGH:
            return None
        if self._urged_at and said - self._urged_at < LITTLE:
            return None
        self._urged_at = max(said, 1)
        return (
            f"You have used {said:,} of the {target:,} output tokens meant for this task;"
            f" {target - said:,} are left. Go on working on it: look deeper, check what you did,"
            " do what is still open. Do not sum up."
        )
