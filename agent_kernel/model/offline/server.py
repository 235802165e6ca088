"""A loopback server that speaks the Messages API and plays scripts.

It has a thread and an event loop of its own, so it answers while the loop or the main thread of its
user is busy. Everything public here may be called from any thread.

Beside the API (``/v1/messages``, ``/v1/messages/count_tokens``, ``/v1/models``) it answers
``POST /_control/release/NAME``, which opens a gate, and ``GET /_control/reached/NAME``, which
returns once a reply waits at that gate: what a test in another process needs to set an order.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from agent_kernel.model.offline import http, player
from agent_kernel.model.offline.gates import Gates
from agent_kernel.model.offline.models import MODELS, model_info
from agent_kernel.model.offline.record import Exchange
from agent_kernel.model.offline.script import (
    Fault,
    Script,
    load_scripts,
    packaged_scripts,
    parse_script,
)
from agent_kernel.model.offline.validate import InvalidRequest, validate_request

_SSE = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "transfer-encoding": "chunked",
}
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class OfflineServer:
    """The scripted model on 127.0.0.1.

    ``scripts``: files, folders or scripts, first come first served; None for those of the package.
    ``faults``: happen to the next requests, one each, before any script is asked.
    """

    def __init__(
        self,
        scripts: Sequence[Path | Script] | None = None,
        *,
        faults: Sequence[Fault] = (),
        port: int = 0,
        host: str = "127.0.0.1",
    ) -> None:
        self._scripts: tuple[Script, ...] = (
            packaged_scripts() if scripts is None else _loaded(scripts)
        )
        self._faults = list(faults)
        self._fault_counts: dict[str, int] = {}
        self._address = (host, port)
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._base_url = ""
        self._serial = 0
        self._exchanges: list[Exchange] = []
        self._connections: set[asyncio.Task[None]] = set()
        self.gates = Gates()

    @property
    def base_url(self) -> str:
        """Where it listens; empty while it is stopped."""
        return self._base_url

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """Every ``/v1/messages`` request received and what became of it, in order."""
        with self._lock:
            return tuple(self._exchanges)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The parsed bodies of those requests, in order."""
        return [exchange.body for exchange in self.exchanges]

    def play(self, *scripts: Path | Script | str | list[Any] | dict[str, Any]) -> None:
        """Put scripts in front of those it has: files, scripts, YAML text or lists of rules."""
        loaded = tuple(
            found
            for item in scripts
            for found in (load_scripts([item]) if isinstance(item, Path) else [parse_script(item)])
        )
        with self._lock:
            self._scripts = loaded + self._scripts

    def fail_next(self, *faults: Fault) -> None:
        """Let these happen to the next requests, one each (``times`` repeats one)."""
        with self._lock:
            self._faults.extend(faults)

    def start(self) -> str:
        """Listen and return the base URL. Started twice, it stays as it is."""
        with self._lock:
            if self._thread is not None:
                return self._base_url
            ready = threading.Event()
            failure: list[OSError] = []
            self._thread = threading.Thread(
                target=self._run, args=(ready, failure), name="agent-kernel-offline", daemon=True
            )
            self._thread.start()
        ready.wait()
        if failure:
            self._thread = None
            raise failure[0]
        return self._base_url

    def stop(self) -> None:
        """Break all connections and end the thread."""
        thread, loop = self._thread, self._loop
        if thread is None or loop is None:
            return
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(loop.stop)
        thread.join()
        self._thread = self._loop = None
        self._base_url = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self, ready: threading.Event, failure: list[OSError]) -> None:
        loop = asyncio.new_event_loop()
        try:
            host, port = self._address
            server = loop.run_until_complete(
                loop.create_server(lambda: http.Connection(self._connected), host, port)
            )
        except OSError as error:
            failure.append(error)
            loop.close()
            ready.set()
            return
        address = server.sockets[0].getsockname()
        self._base_url = f"http://{address[0]}:{address[1]}"
        self._loop = loop
        self.gates.bind(loop)
        ready.set()
        try:
            loop.run_forever()
        finally:
            server.close()
            loop.run_until_complete(self._hang_up())
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    async def _hang_up(self) -> None:
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # The transports are closed by callbacks of the loop.
        await asyncio.sleep(0)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio runs a handler as a task
        self._connections.add(task)
        try:
            while (request := await http.read_request(reader)) is not None:
                if not await self._answer(request, writer) or request.wants_close:
                    break
        except http.BadRequest as error:
            writer.write(http.json_answer(400, _error("invalid_request_error", str(error))))
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, request: http.HttpRequest, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; false if the connection is used up."""
        match request.method, request.path.rstrip("/").split("/")[1:]:
            case "POST", ["v1", "messages"]:
                return await self._messages(request, writer)
            case "POST", ["v1", "messages", "count_tokens"]:
                tokens = len(request.body) // 4
                writer.write(http.json_answer(200, {"input_tokens": tokens}))
            case "GET", ["v1", "models"]:
                page = {"data": [model_info(name) for name in MODELS], "has_more": False}
                page |= {"first_id": MODELS[0], "last_id": MODELS[-1]}
                writer.write(http.json_answer(200, page))
            case "GET", ["v1", "models", name] if name in MODELS:
                writer.write(http.json_answer(200, model_info(name)))
            case "POST", ["_control", "release", name]:
                self.gates.release(name)
                writer.write(http.json_answer(200, {"released": name}))
            case "GET", ["_control", "reached", name]:
                await self.gates.arrival(name)
                writer.write(http.json_answer(200, {"reached": name}))
            case _:
                text = f"{request.method} {request.path}"
                writer.write(http.json_answer(404, _error("not_found_error", text)))
        await writer.drain()
        return True

    async def _messages(self, request: http.HttpRequest, writer: asyncio.StreamWriter) -> bool:
        peer = int(writer.get_extra_info("peername")[1])
        exchange, refusal = self._judge(request, peer)
        if refusal is not None:
            writer.write(refusal)
            await writer.drain()
            return True
        body = exchange.body
        with self._lock:
            scripts = self._scripts
        choice = player.choose(scripts, body)
        # The client's going must be seen while nothing is written to it, as in a stall.
        gone = asyncio.ensure_future(http.client_gone(writer))
        stream = asyncio.ensure_future(self._stream(choice, exchange, writer))
        try:
            await asyncio.wait({gone, stream}, return_when=asyncio.FIRST_COMPLETED)
            if not stream.done():
                exchange.end = "client_gone"
                return False
            return await stream
        except ConnectionError:
            exchange.end = "client_gone"
            return False
        finally:
            for task in (gone, stream):
                task.cancel()
            await asyncio.gather(gone, stream, return_exceptions=True)
            exchange.finished.set()

    def _judge(self, request: http.HttpRequest, peer: int) -> tuple[Exchange, bytes | None]:
        """Record the request; the answer if it is refused or a fault is due."""
        try:
            body = json.loads(request.body)
        except ValueError:
            body = None
        valid = isinstance(body, dict)
        exchange = Exchange(
            body if valid else {},
            request.headers,
            size=len(request.body),
            digest=hashlib.sha256(request.body).hexdigest(),
            connection=peer,
        )
        with self._lock:
            self._exchanges.append(exchange)
            self._serial += 1
            exchange.serial = self._serial
            fault = self._due_fault()
        refusal = self._fault_answer(fault) if fault else None
        if refusal is None:
            try:
                validate_request(body)
            except InvalidRequest as error:
                exchange.status = error.status
                name = _ERROR_TYPES.get(error.status, "invalid_request_error")
                refusal = http.json_answer(error.status, _error(name, str(error)))
        elif fault:
            exchange.status = fault.status
        if refusal is not None:
            exchange.end = "refused"
            exchange.finished.set()
        return exchange, refusal

    def _due_fault(self) -> Fault | None:
        if not self._faults:
            return None
        fault = self._faults[0]
        if fault.times <= 1:
            self._faults.pop(0)
        else:
            self._faults[0] = fault.model_copy(update={"times": fault.times - 1})
        return fault

    @staticmethod
    def _fault_answer(fault: Fault) -> bytes:
        headers = {} if fault.retry_after is None else {"retry-after": fault.retry_after}
        if fault.body is not None:
            return http.whole_answer(fault.status, fault.body, kind="text/html", headers=headers)
        name = fault.type or _ERROR_TYPES.get(fault.status, "api_error")
        return http.json_answer(fault.status, _error(name, fault.message), headers)

    async def _stream(
        self, choice: player.Choice, exchange: Exchange, writer: asyncio.StreamWriter
    ) -> bool:
        """Play a step; false if the connection must be closed."""
        step = choice.step
        if step.wait_for is not None:
            await self.gates.wait(step.wait_for)
        fault = step.fault
        if fault is not None and self._fault_counts.get(choice.key, 0) < fault.times:
            self._fault_counts[choice.key] = self._fault_counts.get(choice.key, 0) + 1
            exchange.status, exchange.end = fault.status, "refused"
            writer.write(self._fault_answer(fault))
            await writer.drain()
            return True
        if not exchange.body.get("stream"):
            writer.write(http.json_answer(200, player.whole_message(choice, exchange)))
            await writer.drain()
            exchange.end = "whole"
            return True
        writer.write(http.head_bytes(200, _SSE))
        last = b""
        for action in player.reply_actions(choice, exchange):
            match action:
                case player.Send(event=event):
                    last = _sse(str(event.get("type", "message")), json.dumps(event))
                    writer.write(http.chunk(last))
                case player.SendRaw(data=data):
                    last = _sse("content_block_delta", data)
                    writer.write(http.chunk(last))
                case player.Again():
                    writer.write(http.chunk(last))
                case player.Pause(seconds=seconds):
                    await writer.drain()
                    await asyncio.sleep(seconds)
                case player.Wait(gate=gate):
                    await writer.drain()
                    await self.gates.wait(gate)
                case player.Stall():
                    await writer.drain()
                    exchange.end = "stalled"
                    await asyncio.Event().wait()
                case player.Cut(clean=clean):
                    exchange.end = "cut"
                    if clean:
                        writer.write(http.chunk(b""))
                    await writer.drain()
                    return clean
        writer.write(http.chunk(b""))
        await writer.drain()
        exchange.end = "whole"
        return True


def _loaded(scripts: Sequence[Path | Script]) -> tuple[Script, ...]:
    return tuple(
        found
        for item in scripts
        for found in (load_scripts([item]) if isinstance(item, Path) else (item,))
    )


def _sse(event: str, data: str) -> bytes:
    return f"event: {event}\ndata: {data}\n\n".encode()


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}
