"""JSON-RPC 2.0, both ways, over anything that carries objects.

A :class:`Peer` lives on one asyncio loop. It answers requests by a table of methods, sends requests
with time limits, and never lets the other side's mistake become an exception here.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, JsonValue, ValidationError

from agent_kernel.errors import WireError, WireTimeout
from agent_kernel.jupyter.paging import JsonObject, Unpacker
from agent_kernel.wire import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    RpcErrorObject,
    RpcNotification,
    RpcRequest,
    RpcResponse,
)

log = logging.getLogger(__name__)

Handler = Callable[[Any], Awaitable[BaseModel]]

_UNAVAILABLE = -32000
_REMEMBERED = 256  # answers kept for requests that are sent again


@dataclass(frozen=True)
class Method:
    """How a request is answered: its params model (None: no params) and the coroutine."""

    params: type[BaseModel] | None
    handler: Handler


class Peer:
    """One side of the conversation. All methods belong to the loop it was made on.

    ``send`` takes the objects of one message and never blocks. ``on_notification`` gets the method
    and the raw params.
    """

    def __init__(
        self,
        *,
        send: Callable[[Sequence[JsonObject]], None],
        methods: Mapping[str, Method],
        on_notification: Callable[[str, JsonObject], None] | None = None,
        prefix: str = "k",
    ) -> None:
        self._send = send
        self._methods = methods
        self._on_notification = on_notification
        self._unpacker = Unpacker()
        self._waiting: dict[str, asyncio.Future[JsonObject]] = {}
        self._numbers = itertools.count(1)
        self._prefix = prefix
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers: dict[str, JsonObject | None] = {}  # by request id; None: under way
        self._closed = False

    def receive(self, data: object) -> None:
        """Take the data of one comm message."""
        try:
            objects = self._unpacker.unpack(data)
        except ValueError as error:
            self._answer_error("", PARSE_ERROR, str(error))
            return
        for item in objects:
            self._take(item)

    async def request(
        self, method: str, params: BaseModel | None, *, timeout: float
    ) -> dict[str, JsonValue]:
        """Ask the other side. Raises ``WireError`` for an error, ``WireTimeout`` for no answer."""
        if self._closed:
            raise WireError("The page is gone.", code=_UNAVAILABLE)
        identifier = f"{self._prefix}{next(self._numbers)}"
        answer: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._waiting[identifier] = answer
        body = RpcRequest(id=identifier, method=method, params=dump(params))
        try:
            self._send([body.model_dump(mode="json")])
            return await asyncio.wait_for(answer, timeout)
        except TimeoutError:
            raise WireTimeout(
                f"The page did not answer {method} within {timeout:g} s.", code=_UNAVAILABLE
            ) from None
        finally:
            self._waiting.pop(identifier, None)

    def notify(self, method: str, params: Sequence[BaseModel]) -> None:
        """Send one notification per params model, in one batch."""
        self._send(
            [
                RpcNotification(method=method, params=dump(item)).model_dump(mode="json")
                for item in params
            ]
        )

    def close(self, reason: str = "The page is gone.") -> None:
        """Fail what waits; later requests fail at once."""
        self._closed = True
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(WireError(reason, code=_UNAVAILABLE))
        for task in self._tasks:
            task.cancel()

    def _take(self, item: object) -> None:
        if not isinstance(item, dict):
            self._answer_error("", INVALID_REQUEST, "a JSON-RPC object was expected")
        elif "method" in item and "id" in item:
            self._take_request(item)
        elif "method" in item:
            self._take_notification(item)
        else:
            self._take_response(item)

    def _take_request(self, item: dict[str, Any]) -> None:
        try:
            request = RpcRequest.model_validate(item)
        except ValidationError:
            identifier = item.get("id")
            self._answer_error(
                identifier if isinstance(identifier, str) else "",
                INVALID_REQUEST,
                "not a JSON-RPC 2.0 request with a text id",
            )
            return
        if request.id in self._answers:
            # Sent again because our answer was late or lost: act once, answer again.
            answer = self._answers[request.id]
            if answer is not None:
                self._send([answer])
            return
        self._answers[request.id] = None
        while len(self._answers) > _REMEMBERED:
            del self._answers[next(iter(self._answers))]
        task = asyncio.get_running_loop().create_task(self._answer(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _take_notification(self, item: dict[str, Any]) -> None:
        if self._on_notification is None:
            return
        try:
            notification = RpcNotification.model_validate(item)
            self._on_notification(notification.method, notification.params)
        except ValidationError:
            log.debug("a malformed notification was dropped")

    def _take_response(self, item: dict[str, Any]) -> None:
        try:
            response = RpcResponse.model_validate(item)
        except ValidationError:
            log.debug("a malformed response was dropped")
            return
        answer = self._waiting.get(response.id)
        if answer is None or answer.done():
            return  # too late, or an answer sent twice
        if response.error is not None:
            problem = response.error
            answer.set_exception(WireError(problem.message, code=problem.code, data=problem.data))
        elif isinstance(response.result, dict):
            answer.set_result(response.result)
        else:
            answer.set_result({})

    async def _answer(self, request: RpcRequest) -> None:
        method = self._methods.get(request.method)
        if method is None:
            text = f"There is no method {request.method!r}."
            self._answer_error(request.id, METHOD_NOT_FOUND, text)
            return
        params: BaseModel | None = None
        if method.params is not None:
            try:
                params = method.params.model_validate(request.params)
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                where = ".".join(str(part) for part in first["loc"])
                text = f"{request.method}: {where}: {first['msg']}"
                self._answer_error(request.id, INVALID_PARAMS, text)
                return
        try:
            result = await method.handler(params)
        except WireError as error:
            self._answer_error(request.id, error.code, str(error), error.data)
        except asyncio.CancelledError:
            self._answer_error(request.id, INTERNAL_ERROR, "cancelled")
            raise
        except Exception as error:
            log.exception("%s failed", request.method)
            self._answer_error(request.id, INTERNAL_ERROR, f"{type(error).__name__}: {error}"[:500])
        else:
            response = RpcResponse(id=request.id, result=dump(result))
            self._respond(request.id, response.model_dump(mode="json", exclude={"error"}))

    def _answer_error(self, identifier: str, code: int, message: str, data: object = None) -> None:
        problem = RpcErrorObject(code=code, message=message, data=_plain(data))
        response = RpcResponse(id=identifier, error=problem)
        self._respond(identifier, response.model_dump(mode="json", exclude={"result"}))

    def _respond(self, identifier: str, response: JsonObject) -> None:
        if identifier in self._answers:
            self._answers[identifier] = response
        self._send([response])


def dump(model: BaseModel | None) -> dict[str, JsonValue]:
    """A model as JSON values; None is null, as the other side's types say."""
    if model is None:
        return {}
    dumped: dict[str, JsonValue] = model.model_dump(mode="json")
    return dumped


def _plain(data: object) -> JsonValue:
    return data if isinstance(data, dict | list | str | int | float | bool | None) else str(data)
