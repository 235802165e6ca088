"""What to do when a model call fails: try again when, change what, or give up.

Only decisions; the engine acts on them. Fallback models, raised output limits and reactive
compaction join here, each as one more kind of :class:`Remedy`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from agent_kernel.errors import ModelErrorKind
from agent_kernel.model_types import ReplyFailed

MAX_CONTINUATIONS = 3
"""How often in a row a reply that the output limit cut is continued (SPEC L4)."""

_REPAIRS = {"thinking": 1, "images": 5}
"""How often each may be tried: an endpoint names one bad image at a time."""

_SAYINGS = {
    ModelErrorKind.RATE_LIMIT: "The model's rate limit is reached.",
    ModelErrorKind.OVERLOADED: "The model is overloaded.",
    ModelErrorKind.SERVER: "The model's server reported an error.",
    ModelErrorKind.CONNECTION: "The connection to the model failed.",
    ModelErrorKind.STALLED: "The model went silent.",
    ModelErrorKind.CUT: "The reply was cut off.",
    ModelErrorKind.BAD_THINKING: "The model refused its earlier thinking.",
    ModelErrorKind.BAD_IMAGE: "The model refused an image.",
}


@dataclass(frozen=True)
class RetryPolicy:
    """Backoff in seconds: ``base``, doubled each time up to ``longest``, ``attempts`` times.

    A pause the server asks for is honoured if it is longer than ours, up to ``patience``: beyond
    that the failure is reported at once.
    """

    attempts: int = 5
    base: float = 1.0
    longest: float = 30.0
    patience: float = 300.0

    def delay(self, retry: int, failure: ReplyFailed) -> float | None:
        """Seconds before retry number ``retry`` (from 1); None: do not try again."""
        if not failure.kind.is_retryable or retry > self.attempts:
            return None
        own = min(self.longest, self.base * 2.0 ** (retry - 1))
        asked = failure.retry_after or 0.0
        return None if asked > self.patience else max(own, asked)


@dataclass(frozen=True)
class Remedy:
    """``retry`` after ``delay`` seconds; ``repair`` names what to leave out of the request."""

    action: Literal["retry", "give_up"]
    delay: float = 0.0
    text: str = ""
    repair: Literal["thinking", "images"] | None = None


@dataclass
class Recovery:
    """The state of recovery within one model call; made anew for each."""

    policy: RetryPolicy = field(default_factory=RetryPolicy)
    retries: int = 0
    repairs: Counter[str] = field(default_factory=Counter)

    def after(self, failure: ReplyFailed) -> Remedy:
        """Decide what to do after a failure."""
        repair = _repair_for(failure)
        if repair is not None:
            self.repairs[repair] += 1
            if self.repairs[repair] > _REPAIRS[repair]:
                return Remedy("give_up")
            text = f"{_SAYINGS[failure.kind]} Trying again without it."
            return Remedy("retry", text=text, repair=repair)
        delay = self.policy.delay(self.retries + 1, failure)
        if delay is None:
            return Remedy("give_up")
        self.retries += 1
        text = (
            f"{_SAYINGS.get(failure.kind, 'The model call failed.')} Trying again in"
            f" {delay:g} s ({self.retries} of {self.policy.attempts})."
        )
        return Remedy("retry", delay=delay, text=text)


def _repair_for(failure: ReplyFailed) -> Literal["thinking", "images"] | None:
    if failure.kind is ModelErrorKind.BAD_THINKING:
        return "thinking"
    if failure.kind is ModelErrorKind.BAD_IMAGE:
        return "images"
    return None
