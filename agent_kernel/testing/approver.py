"""Approvers that answer from a script."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agent_kernel.events import PermissionRequested
from agent_kernel.protocols import ApprovalAnswer
from agent_kernel.vocabulary import Decision


class ScriptedApprover:
    """Gives the answers in order, then the last one again; keeps what it was asked.

    With no answers it waits for ever, as when nobody looks. ``reachable`` False: nobody can be
    asked. ``withdrawn`` counts questions that were cancelled.
    """

    def __init__(
        self, answers: Sequence[ApprovalAnswer | Decision] = (), *, reachable: bool = True
    ) -> None:
        self._answers = [
            a if isinstance(a, ApprovalAnswer) else ApprovalAnswer(decision=a) for a in answers
        ]
        self._reachable = reachable
        self.asked: list[PermissionRequested] = []
        self.withdrawn = 0

    def can_ask(self) -> bool:
        return self._reachable

    async def ask(self, request: PermissionRequested) -> ApprovalAnswer:
        self.asked.append(request)
        if not self._answers:
            try:
                await asyncio.Event().wait()
            finally:
                self.withdrawn += 1
        await asyncio.sleep(0)
        if len(self._answers) > 1:
            return self._answers.pop(0)
        return self._answers[0]


class NoApprover:
    """Nobody can be asked: a plain Python session, a batch run."""

    def can_ask(self) -> bool:
        return False

    async def ask(self, request: PermissionRequested) -> ApprovalAnswer:
        del request
        return ApprovalAnswer(decision="deny", by="policy", reason="Nobody can be asked.")
