"""What to do when a model call fails or is cut (SPEC L4): one policy, which only decides.

The engine acts on its remedies; nothing here waits, sends or tells.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from agent_kernel.errors import ModelErrorKind
from agent_kernel.model_types import ReplyFailed
from agent_kernel.vocabulary import RunEnd

MAX_LIMIT_RECOVERIES = 3
"""How often in a row a reply that the output limit cut is asked again or continued."""

MAX_PAUSES = 20
"""How often in a row a reply may pause. A server that does nothing else must not hold a run."""

MAX_SHRINKS = 6
"""How often the oldest rounds are left out for one request."""

_REPAIRS = {"thinking": 1, "images": 5}
"""How often each may be tried for one request: an endpoint names one bad image at a time."""

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

_HINTS = {
    ModelErrorKind.AUTHENTICATION: "Give another key with %agent setup.",
    ModelErrorKind.NOT_FOUND: "Choose another model with %agent model NAME.",
}
"""What a person can do about a failure that stays."""

Action = Literal[
    "retry", "without_thinking", "without_image", "lower_limit", "compact", "shrink", "fallback",
    "give_up",
]  # fmt: skip


@dataclass(frozen=True)
class RetryPolicy:
    """Backoff in seconds: ``base``, doubled each time up to ``longest``, ``attempts`` times.

    A pause the server asks for is honoured if it is longer than ours, up to ``patience``: beyond
    that it is not waited for.
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
    """What to do before the same request is sent again; ``give_up``: end the run with ``end``.

    ``delay`` in seconds. ``text`` is what the person is told, ``code`` the notice's code; what
    makes room tells for itself.
    """

    action: Action
    text: str = ""
    code: str = "retry"
    delay: float = 0.0
    model: str = ""
    end: RunEnd = RunEnd.MODEL_ERROR


@dataclass
class Recovery:
    """The state of recovery in one run. :meth:`begin` before each request that is a new one."""

    policy: RetryPolicy = field(default_factory=RetryPolicy)
    fallbacks: tuple[str, ...] = ()
    _retries: int = 0
    _repairs: Counter[str] = field(default_factory=Counter)
    _compacted: bool = False
    _shrinks: int = 0
    _cuts: int = 0
    _pauses: int = 0

    def begin(self) -> None:
        """A new request: what was tried for the one before counts no more."""
        self._retries = 0
        self._repairs.clear()
        self._compacted = False
        self._shrinks = 0

    # -- a failure

    def after(self, failure: ReplyFailed, *, raised: bool = False) -> Remedy:
        """Decide what to do. ``raised``: the request asked for more than the first output limit."""
        match failure.kind:
            case ModelErrorKind.BAD_THINKING:
                return self._repair("thinking", failure)
            case ModelErrorKind.BAD_IMAGE:
                return self._repair("images", failure)
            case ModelErrorKind.PROMPT_TOO_LONG | ModelErrorKind.REQUEST_TOO_LARGE:
                return self._make_room(failure, raised=raised)
            case _:
                return self._again(failure)

    def _repair(self, part: Literal["thinking", "images"], failure: ReplyFailed) -> Remedy:
        self._repairs[part] += 1
        if self._repairs[part] > _REPAIRS[part]:
            return Remedy("give_up", failure.message)
        text = f"{_SAYINGS[failure.kind]} Trying again without it."
        return Remedy("without_thinking" if part == "thinking" else "without_image", text)

    def _make_room(self, failure: ReplyFailed, *, raised: bool) -> Remedy:
        if raised and failure.kind is ModelErrorKind.PROMPT_TOO_LONG:
            # Prompt and output share the window, so the raise itself may be what is too much.
            text = "There is no room for a longer reply. Trying again with the usual length."
            return Remedy("lower_limit", text, code="output_limit")
        if not self._compacted:
            self._compacted = True
            return Remedy("compact")
        if self._shrinks < MAX_SHRINKS:
            self._shrinks += 1
            return Remedy("shrink")
        return Remedy("give_up", failure.message, end=RunEnd.PROMPT_TOO_LONG)

    def _again(self, failure: ReplyFailed) -> Remedy:
        delay = self.policy.delay(self._retries + 1, failure)
        saying = _SAYINGS.get(failure.kind, "The model call failed.")
        if delay is not None:
            self._retries += 1
            count = f"{self._retries} of {self.policy.attempts}"
            return Remedy("retry", f"{saying} Trying again in {delay:g} s ({count}).", delay=delay)
        if failure.kind.is_retryable and self.fallbacks:
            model, *rest = self.fallbacks
            self.fallbacks = tuple(rest)
            self._retries = 0
            text = f"{saying} Going on with {model}."
            return Remedy("fallback", text, code="fallback_model", model=model)
        hint = _HINTS.get(failure.kind, "")
        return Remedy("give_up", f"{failure.message} {hint}".strip())

    # -- a reply that ended, but not by itself

    def after_cut(self) -> bool:
        """A reply was cut by the output limit; False: too often in a row."""
        self._cuts += 1
        return self._cuts <= MAX_LIMIT_RECOVERIES

    def after_pause(self) -> bool:
        """A reply paused; False: too often in a row."""
        self._pauses += 1
        return self._pauses <= MAX_PAUSES

    def whole(self) -> None:
        """A reply came to its own end."""
        self._cuts = 0
        self._pauses = 0
