"""A front end's end of the kernel's channels, on one asyncio loop.

It routes what the kernel sends by the request it belongs to, as a page does; it knows subshells and
comms but nothing of notebooks.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from jupyter_client.asynchronous.client import AsyncKernelClient

log = logging.getLogger(__name__)

Message = dict[str, Any]
OnMessage = Callable[[Message], None]
OnInput = Callable[[str, bool], Awaitable[str]]


class CommListener(Protocol):
    """Who hears a comm of this front end."""

    def on_comm_message(self, data: object) -> None: ...

    def on_comm_close(self) -> None: ...


class _Execution:
    """A request on its way: done when both its reply and the idle status have come."""

    def __init__(self, on_message: OnMessage | None) -> None:
        loop = asyncio.get_running_loop()
        self.on_message = on_message
        self.reply: asyncio.Future[Message] = loop.create_future()
        self.idle: asyncio.Future[None] = loop.create_future()


class KernelLink:
    """Wraps a started client. ``on_input`` answers ``input()``: it gets the prompt and whether the
    text is secret. ``on_comm_open`` hears of comms that the kernel opens (the bell, widgets).
    """

    def __init__(
        self,
        client: AsyncKernelClient,
        *,
        on_input: OnInput | None = None,
        on_comm_open: Callable[[str, Message], None] | None = None,
    ) -> None:
        self._client = client
        self.on_input = on_input
        self._on_comm_open = on_comm_open
        self._executions: dict[str, _Execution] = {}
        self._controls: dict[str, asyncio.Future[Message]] = {}
        self._comms: dict[str, CommListener] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._sending: set[asyncio.Future[Any]] = set()

    def start(self) -> None:
        """Begin to read the channels; the client's have to be running."""
        client = self._client
        for name, channel, take in (
            ("shell", client.shell_channel, self._take_reply),
            ("control", client.control_channel, self._take_control),
            ("iopub", client.iopub_channel, self._take_output),
            ("stdin", client.stdin_channel, self._take_stdin),
        ):
            self._tasks.append(asyncio.create_task(self._read(name, channel, take)))

    async def close(self) -> None:
        """Stop reading; what waits is cancelled."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for execution in self._executions.values():
            execution.reply.cancel()
            execution.idle.cancel()

    async def execute(
        self,
        code: str,
        *,
        on_message: OnMessage | None = None,
        metadata: dict[str, Any] | None = None,
        subshell_id: str | None = None,
        store_history: bool = True,
    ) -> dict[str, Any]:
        """Run code; the content of the reply, after everything it published has been heard."""
        content = {
            "code": code,
            "silent": False,
            "store_history": store_history,
            "user_expressions": {},
            "allow_stdin": self.on_input is not None,
            "stop_on_error": True,
        }
        message = self._message("execute_request", content, metadata, subshell_id)
        execution = _Execution(on_message)
        identifier = message["header"]["msg_id"]
        self._executions[identifier] = execution
        try:
            self._send(self._client.shell_channel, message)
            reply = await execution.reply
            with contextlib.suppress(TimeoutError):  # an aborted request has no idle of its own
                await asyncio.wait_for(asyncio.shield(execution.idle), 5)
        finally:
            self._executions.pop(identifier, None)
        answer: dict[str, Any] = reply["content"]
        return answer

    async def control(self, kind: str, content: dict[str, Any], timeout: float = 10) -> Any:
        """Ask on the control channel, which answers while a cell runs. Raises ``TimeoutError``."""
        message = self._message(kind, content, None, None)
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._controls[message["header"]["msg_id"]] = answer
        try:
            self._send(self._client.control_channel, message)
            return (await asyncio.wait_for(answer, timeout))["content"]
        finally:
            self._controls.pop(message["header"]["msg_id"], None)

    async def create_subshell(self) -> str | None:
        """A new subshell's id; None where the kernel has none."""
        with contextlib.suppress(TimeoutError):
            answer = await self.control("create_subshell_request", {}, 5)
            if answer.get("status") == "ok":
                identifier: str = answer["subshell_id"]
                return identifier
        return None

    async def delete_subshell(self, subshell_id: str) -> None:
        with contextlib.suppress(TimeoutError):
            await self.control("delete_subshell_request", {"subshell_id": subshell_id}, 5)

    async def interrupt(self) -> None:
        """As the stop button does."""
        with contextlib.suppress(TimeoutError):
            await self.control("interrupt_request", {}, 5)

    def open_comm(
        self,
        target: str,
        listener: CommListener,
        *,
        data: dict[str, Any] | None = None,
        subshell_id: str | None = None,
    ) -> str:
        identifier = uuid.uuid4().hex
        self._comms[identifier] = listener
        content = {"comm_id": identifier, "target_name": target, "data": data or {}}
        self._send(
            self._client.shell_channel, self._message("comm_open", content, None, subshell_id)
        )
        return identifier

    def send_comm(
        self, comm_id: str, data: dict[str, Any], *, subshell_id: str | None = None
    ) -> None:
        content = {"comm_id": comm_id, "data": data}
        self._send(
            self._client.shell_channel, self._message("comm_msg", content, None, subshell_id)
        )

    def close_comm(self, comm_id: str, *, subshell_id: str | None = None) -> None:
        self._comms.pop(comm_id, None)
        content = {"comm_id": comm_id, "data": {}}
        self._send(
            self._client.shell_channel, self._message("comm_close", content, None, subshell_id)
        )

    def _send(self, channel: Any, message: Message) -> None:
        """By the asynchronous socket itself.

        The client's own ``send`` writes beside it, and takes the one signal of a message that came
        at that moment: the reader would sleep on (zmq's descriptor tells of changes only).
        """
        sent = channel.socket.send_multipart(self._client.session.serialize(message))
        self._sending.add(sent)
        sent.add_done_callback(self._sending.discard)

    def _message(
        self,
        kind: str,
        content: dict[str, Any],
        metadata: dict[str, Any] | None,
        subshell_id: str | None,
    ) -> Message:
        message: Message = self._client.session.msg(kind, content, metadata=metadata)
        if subshell_id is not None:
            message["header"]["subshell_id"] = subshell_id
        return message

    async def _read(self, name: str, channel: Any, take: Callable[[Message], None]) -> None:
        while True:
            message = await channel.get_msg(timeout=None)
            try:
                take(message)
            except Exception:
                log.exception("a message on %s was not understood", name)

    def _take_reply(self, message: Message) -> None:
        execution = self._executions.get(_parent_id(message))
        if execution is not None and not execution.reply.done():
            execution.reply.set_result(message)
            if message["content"].get("status") == "aborted" and not execution.idle.done():
                execution.idle.set_result(None)

    def _take_control(self, message: Message) -> None:
        answer = self._controls.get(_parent_id(message))
        if answer is not None and not answer.done():
            answer.set_result(message)

    def _take_output(self, message: Message) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind == "comm_open":
            if self._on_comm_open is not None:
                self._on_comm_open(content["target_name"], message)
            return
        if kind in {"comm_msg", "comm_close"}:
            listener = self._comms.get(content["comm_id"])
            if listener is not None and kind == "comm_msg":
                listener.on_comm_message(content["data"])
            elif listener is not None:
                del self._comms[content["comm_id"]]
                listener.on_comm_close()
            return
        execution = self._executions.get(_parent_id(message))
        if execution is None:
            return
        if kind == "status" and content["execution_state"] == "idle":
            if not execution.idle.done():
                execution.idle.set_result(None)
        elif execution.on_message is not None:
            execution.on_message(message)

    def _take_stdin(self, message: Message) -> None:
        if message["msg_type"] == "input_request":
            self._tasks.append(asyncio.create_task(self._answer_input(message)))

    async def _answer_input(self, message: Message) -> None:
        if self.on_input is None:
            return
        content = message["content"]
        text = await self.on_input(content["prompt"], bool(content.get("password")))
        reply = self._client.session.msg("input_reply", {"value": text}, parent=message)
        self._send(self._client.stdin_channel, reply)


def _parent_id(message: Message) -> str:
    identifier: str = message.get("parent_header", {}).get("msg_id", "")
    return identifier
