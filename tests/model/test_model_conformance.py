"""Both clients pass the suite: the real one over HTTP and the one without a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_kernel.messages import AssistantContent, TextBlock, ToolUseBlock
from agent_kernel.model.offline import Fault
from agent_kernel.model.scripted import ScriptedServer
from agent_kernel.model_types import ModelRequest, ReplyEvent, ReplyFailed
from agent_kernel.protocols import ModelClient
from agent_kernel.testing.model import ModelClientConformance, Reply, ScriptedModel


class TestScriptedModel(ModelClientConformance):
    def client_that_says(self, *replies: Reply) -> ModelClient:
        return ScriptedModel(*replies)


class TestAnthropicClient(ModelClientConformance):
    @pytest.fixture(autouse=True)
    def _server(self, model_server: ScriptedServer, tmp_path: Path) -> None:
        self.server = model_server
        self.cwd = tmp_path

    def client_that_says(self, *replies: Reply) -> ModelClient:
        return _InTurn(self.server.client(self.cwd), self.server, list(replies))


class _InTurn:
    """Gives the server its next reply before each call: it keeps no count itself."""

    def __init__(self, client: ModelClient, server: ScriptedServer, replies: list[Reply]) -> None:
        self._client, self._server, self._replies = client, server, replies
        self.capabilities, self.status, self.close = (
            client.capabilities,
            client.status,
            client.close,
        )

    def stream(self, request: ModelRequest) -> AsyncIterator[ReplyEvent]:
        reply = self._replies.pop(0)
        if isinstance(reply, ReplyFailed):
            assert reply.status is not None
            self._server.fail_next(Fault(status=reply.status, message=reply.message))
        else:
            self._server.script([{"steps": [{"blocks": _parts(reply), "chunk": 4}]}])
        return self._client.stream(request)


def _parts(reply: Sequence[AssistantContent] | None) -> list[dict[str, Any]]:
    if reply is None:
        return [{"stall": True}]
    parts: list[dict[str, Any]] = []
    for block in reply:
        if isinstance(block, TextBlock):
            parts.append({"text": block.text})
        elif isinstance(block, ToolUseBlock):
            parts.append({"tool": block.name, "input": block.input, "id": block.id})
    return parts
