"""What of a conversation is sent: followed message by message, folded where it must be."""

from __future__ import annotations

from agent_kernel.context.api_rounds import Replacements, replaced
from agent_kernel.context.boundary import after_boundary, is_sent, snipped
from agent_kernel.context.normalise import Normaliser
from agent_kernel.context.plain import MessageLog
from agent_kernel.context.stale import PLACEHOLDER, StaleResults
from agent_kernel.context.text import reminder
from agent_kernel.context.tokens import TokenCount, estimate_message, estimate_text
from agent_kernel.context_types import ContextRun
from agent_kernel.messages import (
    CompactBoundary,
    Message,
    ResultContent,
    TextBlock,
    TombstoneMessage,
    Usage,
    UserMessage,
)
from agent_kernel.model_types import ApiMessage


class View:
    """Costs only the new messages of a turn, unless something earlier has to change."""

    def __init__(self, log: MessageLog) -> None:
        self._log = log
        self._run: ContextRun | None = None
        self._seen = 0
        self._messages: list[Message] = []
        self._outdated: set[str] = set()
        self._replaced: dict[str, tuple[ResultContent, ...]] = {}
        self._stale = StaleResults()
        self._count = TokenCount()
        self._normaliser = Normaliser()
        self._form: object = None

    def begin(self, run: ContextRun) -> None:
        if self._run is None:
            self._run = run
            self._stale = StaleResults(run.canonical)
            self._rebuild()
        self._run = run
        self._renormalise_if_changed()

    @property
    def fixed(self) -> int:
        """What every request holds beside the messages of the log."""
        run = self._run
        return run.fixed + estimate_text(run.preamble) if run else 0

    def sync(self) -> None:
        """Take in what was added to the log."""
        log = self._log.messages
        if self._seen < len(log):
            new = log[self._seen :]
            if any(isinstance(m, CompactBoundary | TombstoneMessage) for m in new):
                self._rebuild()
            else:
                self._seen = len(log)
                for message in new:
                    if is_sent(message):
                        self._add(message)
        self._renormalise_if_changed()

    def tokens(self) -> int:
        return self._count.total(self.fixed)

    def told(self, usage: Usage) -> None:
        self._count.told(usage)

    def request(self) -> tuple[ApiMessage, ...]:
        return self._normaliser.result()

    def shaped(self) -> list[Message]:
        """As they are sent, before they are made valid."""
        return [replaced(message, self._replaced) for message in self._messages]

    # -- folding

    def clear_stale(self) -> None:
        """Leave out old results if the endpoint's cache is cold (SPEC C3)."""
        fresh = self._stale.clear_if_cold()
        if fresh:
            self.replace(dict.fromkeys(fresh, (PLACEHOLDER,)))

    def replace(self, contents: Replacements) -> None:
        """Send other contents for the results of these calls."""
        for message in self._messages:
            other = replaced(message, contents)
            if other is not message:
                now = replaced(message, self._replaced)
                self._count.free(estimate_message(now) - estimate_message(other))
        self._replaced.update(contents)
        self._renormalise()

    # -- inside

    def _add(self, message: Message) -> None:
        self._messages.append(message)
        self._stale.see(message)
        self._count.add(message)
        self._normaliser.add(replaced(message, self._replaced))

    def _rebuild(self) -> None:
        log = self._log.messages
        self._seen = len(log)
        boundary = next((m for m in reversed(log) if isinstance(m, CompactBoundary)), None)
        if boundary is not None:
            self._outdated.update(boundary.kept)
        self._messages = snipped(after_boundary(log))
        canonical = self._run.canonical if self._run else lambda name: name
        self._stale = StaleResults(canonical)
        for message in self._messages:
            self._stale.see(message)
        for name in self._stale.cleared:
            self._replaced.setdefault(name, (PLACEHOLDER,))
        self._count.start(self.shaped(), outdated=self._outdated)
        self._renormalise()

    def _wanted_form(self) -> object:
        """What the bytes of all messages depend on."""
        repairs = self._log.repairs
        run = self._run
        return (
            len(repairs.bad_thinking),
            repairs.drop_images,
            len(repairs.bad_images),
            run.preamble if run else "",
            run.capabilities.images if run else True,
        )

    def _renormalise_if_changed(self) -> None:
        if self._form != self._wanted_form():
            self._renormalise()

    def _renormalise(self) -> None:
        run = self._run
        self._form = self._wanted_form()
        self._normaliser = Normaliser(
            canonical=run.canonical if run else lambda name: name,
            repairs=self._log.repairs,
            images=run.capabilities.images if run else True,
        )
        if run is not None and run.preamble:
            preamble = TextBlock(text=reminder(run.preamble))
            self._normaliser.add(UserMessage(uuid="", content=(preamble,), is_meta=True))
        for message in self.shaped():
            self._normaliser.add(message)
