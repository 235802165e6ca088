"""As much HTTP/1.1 as a loopback server needs: requests with a length, chunked answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

MAX_HEAD = 64 * 1024
MAX_BODY = 64 * 1024 * 1024


class BadRequest(Exception):
    """The bytes are no request this server reads."""


@dataclass(frozen=True)
class HttpRequest:
    """``path`` has no query; ``headers`` have lower-case names."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def wants_close(self) -> bool:
        return self.headers.get("connection", "").lower() == "close"


class Connection(asyncio.StreamReaderProtocol):
    """A stream connection that notices at once when the client goes."""

    def __init__(
        self,
        handler: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    ) -> None:
        loop = asyncio.get_running_loop()
        self.gone = asyncio.Event()
        super().__init__(asyncio.StreamReader(limit=MAX_HEAD, loop=loop), handler, loop=loop)

    def eof_received(self) -> bool | None:
        self.gone.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()
        super().connection_lost(exc)


async def client_gone(writer: asyncio.StreamWriter) -> None:
    """Return once the client has closed its side."""
    protocol = writer.transport.get_protocol()
    assert isinstance(protocol, Connection)  # noqa: S101 - the server makes no others
    await protocol.gone.wait()


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """The next request of a connection; None when the client has gone."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError as error:
        raise BadRequest("the head of the request is too long") from error
    first, *lines = head.decode("latin-1").split("\r\n")
    try:
        method, target, _version = first.split(" ")
    except ValueError as error:
        raise BadRequest("not an HTTP request") from error
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    length = headers.get("content-length", "0")
    if "transfer-encoding" in headers or not length.isdigit() or int(length) > MAX_BODY:
        raise BadRequest("a request must have a Content-Length within the limit")
    try:
        body = await reader.readexactly(int(length))
    except asyncio.IncompleteReadError:
        return None
    return HttpRequest(method, target.partition("?")[0], headers, body)


def head_bytes(status: int, headers: dict[str, str]) -> bytes:
    """Status line and headers."""
    try:
        reason = HTTPStatus(status).phrase
    except ValueError:
        reason = "Overloaded" if status == 529 else "Status"
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {text}" for name, text in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def whole_answer(
    status: int, content: str, *, kind: str, headers: dict[str, str] | None = None
) -> bytes:
    """An answer that is sent at once."""
    data = content.encode()
    fields = {"content-type": kind, "content-length": str(len(data)), **(headers or {})}
    return head_bytes(status, fields) + data


def json_answer(status: int, value: Any, headers: dict[str, str] | None = None) -> bytes:
    return whole_answer(status, json.dumps(value), kind="application/json", headers=headers)


def chunk(data: bytes) -> bytes:
    """One piece of a chunked body; the empty one ends it."""
    return b"%x\r\n%b\r\n" % (len(data), data)
