"""Wires the parts of a session: each is what was given, else the sane default.

Imports are inside functions: a session that brings its own parts loads only those.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent_kernel.agents.reads import ReadMemory
from agent_kernel.context.window import WindowSettings
from agent_kernel.errors import SettingsError
from agent_kernel.events import PermissionRequested
from agent_kernel.messages import Usage
from agent_kernel.prompt.build import PromptChoice
from agent_kernel.protocols import (
    ApprovalAnswer,
    Approver,
    AttachmentSource,
    Blobs,
    Clock,
    CommandSource,
    Hooks,
    Ids,
    ModelClient,
    Namespace,
    Notebook,
    PermissionGate,
    SessionStore,
    Trust,
)
from agent_kernel.store.folders import file_name, session_folder
from agent_kernel.tool_types import Tool
from agent_kernel.vocabulary import PermissionMode
from agent_kernel.wire import ModelStatus

if TYPE_CHECKING:
    from agent_kernel.settings.secrets import Scrubber
    from agent_kernel.settings.settings import Settings


class NoApprover:
    """Nobody can be asked: a plain Python session, a batch run (the ``Approver`` seam)."""

    def can_ask(self) -> bool:
        return False

    async def ask(self, request: PermissionRequested) -> ApprovalAnswer:
        del request
        return ApprovalAnswer(decision="deny", by="policy", reason="Nobody can be asked.")


@dataclass(frozen=True)
class Given:
    """What the maker of a session brought; None stands for the default."""

    cwd: Path
    settings: Settings | None = None
    model_client: ModelClient | None = None
    notebook: Notebook | None = None
    namespace: Namespace | None = None
    approver: Approver | None = None
    store: SessionStore | None = None
    commands: CommandSource | None = None
    clock: Clock | None = None
    ids: Ids | None = None
    gate: PermissionGate | None = None
    tools: tuple[Tool, ...] | None = None
    prompt: PromptChoice | None = None


@dataclass
class Parts:
    """Everything a session is made of. ``notices``: what settings held that cannot be used."""

    cwd: Path
    settings: Settings
    clock: Clock
    ids: Ids
    gate: PermissionGate
    approver: Approver
    hooks: Hooks
    commands: CommandSource
    store: SessionStore
    blobs: Callable[[str], Blobs]
    scrub: Callable[[str], str]
    tools: tuple[Tool, ...]
    attachments: tuple[AttachmentSource, ...]
    prompt: PromptChoice | None = None
    trust: Trust | None = None
    learn_secret: Callable[[str], None] = field(default=lambda _value: None)
    given_client: ModelClient | None = None
    notebook: Notebook | None = None
    namespace: Namespace | None = None
    reads: ReadMemory = field(default_factory=ReadMemory)
    notices: tuple[str, ...] = ()
    window: WindowSettings = field(default_factory=WindowSettings)
    _own_client: ModelClient | None = None
    _client_loop: asyncio.AbstractEventLoop | None = None

    def model_client(self) -> ModelClient:
        """The client of the running loop; a client must not outlive the loop it was made on."""
        if self.given_client is not None:
            return self.given_client
        loop = asyncio.get_running_loop()
        if self._own_client is None or self._client_loop is not loop:
            from agent_kernel.model.client import create_client

            self._own_client, self._client_loop = create_client(self.settings), loop
        return self._own_client

    def likely_status(self, model: str) -> ModelStatus:
        """What settings say about the endpoint, without asking it."""
        settings = self.settings
        return ModelStatus(
            model=model,
            offline=self.given_client is None and settings.is_offline,
            endpoint=settings.base_url or "",
            key_source=settings.credential.source,
        )

    def price(self, model: str, usage: Usage) -> float | None:
        """US dollars for a call; None offline and for models of unknown price."""
        if self.settings.is_offline:
            return None
        from agent_kernel.model.prices import cost

        return cost(model, usage)

    def check_mode(self, mode: PermissionMode) -> None:
        """Raises ``SettingsError`` if policy forbids the mode."""
        if mode == "bypassPermissions" and not self.settings.bypass_allowed:
            raise SettingsError("The mode bypassPermissions is forbidden by policy.")

    async def close(self) -> None:
        """Close the connections that the session itself opened."""
        client, self._own_client = self._own_client, None
        if client is not None and self._client_loop is asyncio.get_running_loop():
            await client.close()


def build_parts(given: Given) -> Parts:
    """The parts of one session. Reads settings files; makes nothing and connects to nothing."""
    from agent_kernel.hooks.null import NullHooks
    from agent_kernel.settings.settings import load_settings
    from agent_kernel.store.blobs import FileBlobs
    from agent_kernel.system import RandomIds, SystemClock

    settings = given.settings or load_settings(given.cwd)
    clock = given.clock or SystemClock()
    ids = given.ids or RandomIds()
    scrubber = _scrubber(settings)
    scrub = scrubber.scrub
    trust = _trust(settings)
    gate, problems = (given.gate, ()) if given.gate else _gate(settings, trust)
    return Parts(
        cwd=given.cwd,
        settings=settings,
        clock=clock,
        ids=ids,
        gate=gate,
        notices=(*settings.notices, *problems),
        approver=given.approver or NoApprover(),
        hooks=NullHooks(),
        commands=given.commands or _commands(settings, trust),
        store=given.store or _store(settings, scrub, clock, ids),
        blobs=lambda session_id: FileBlobs(
            session_folder(settings.home, given.cwd) / file_name(session_id)
        ),
        scrub=scrub,
        learn_secret=scrubber.learn,
        tools=_tools() if given.tools is None else given.tools,
        attachments=_attachments(),
        prompt=given.prompt,
        trust=trust,
        given_client=given.model_client,
        notebook=given.notebook,
        namespace=given.namespace,
        window=WindowSettings(
            size=settings.context_window,
            most=settings.autocompact_window,
            percent=settings.autocompact_percent,
            autocompact=settings.autocompact,
        ),
    )


def _tools() -> tuple[Tool, ...]:
    from agent_kernel.tools.registry import default_tools

    return default_tools()


def _gate(settings: Settings, trust: Trust) -> tuple[PermissionGate, tuple[str, ...]]:
    from agent_kernel.permissions.gate import Gate

    gate = Gate.from_settings(settings, trust=trust)
    return gate, gate.problems


def _commands(settings: Settings, trust: Trust) -> CommandSource:
    from agent_kernel.skills.source import SkillSource

    return SkillSource(settings, trust=trust)


def _attachments() -> tuple[AttachmentSource, ...]:
    from agent_kernel.skills.listing import SkillListing

    return (SkillListing(),)


def _store(settings: Settings, scrub: Callable[[str], str], clock: Clock, ids: Ids) -> SessionStore:
    from agent_kernel.store.transcript import TranscriptStore

    return TranscriptStore(
        session_folder(settings.home, settings.cwd),
        cwd=settings.cwd,
        scrub=scrub,
        clock=clock,
        ids=ids,
    )


def _scrubber(settings: Settings) -> Scrubber:
    import os

    from agent_kernel.settings.secrets import Scrubber

    secret = settings.credential.secret
    return Scrubber.from_environment(os.environ, *([secret.get_secret_value()] if secret else []))


def _trust(settings: Settings) -> Trust:
    from agent_kernel.settings.trust import TrustStore

    return TrustStore(settings.home)
