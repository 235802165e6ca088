"""``ModelClient`` over the ``anthropic`` library.

The library's own retries are off: one policy, the loop's, decides, and people can see and stop it.
Each event loop gets a client of its own, because connections belong to the loop they were made on.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent_kernel.errors import ModelErrorKind, SettingsError
from agent_kernel.model.capabilities import ModelFacts, facts_from_endpoint, facts_from_table
from agent_kernel.model.failures import failure_of_status
from agent_kernel.model.reading import ReplyReader
from agent_kernel.model.request import WrittenMessages, build_body
from agent_kernel.model_types import Capabilities, ModelRequest, ReplyEvent, ReplyFailed
from agent_kernel.settings.credentials import DEFAULT_BASE_URL, Credential
from agent_kernel.settings.secrets import without_lone_surrogates
from agent_kernel.wire import ModelStatus

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic

CLEARING = "context_management"
CONNECT_TIMEOUT = 15.0
WRITE_TIMEOUT = 120.0
_LOOK_UP_TIMEOUT = 10.0
_DRAIN_TIMEOUT = 0.2
# Answers that will be the same next time; others (a bad key, an overload) may change.
_NO_SUCH_ENDPOINT = frozenset({400, 404, 405, 410, 501})


class AnthropicClient:
    """One endpoint. Any event loop may use it; each loop has connections of its own.

    ``idle_timeout``: seconds of silence (pings are no silence) after which a reply counts as
    stalled. ``endpoint`` is asked when the first request is made; it may start a server.
    """

    def __init__(
        self,
        *,
        model: str,
        credential: Credential,
        endpoint: Callable[[], str] | str | None = None,
        idle_timeout: float = 90.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._model = model
        self._credential = credential
        self._endpoint = endpoint
        self._idle_timeout = idle_timeout
        self._now = now
        self._clients: dict[asyncio.AbstractEventLoop, AsyncAnthropic] = {}
        self._facts: dict[str, ModelFacts] = {}
        self._no_thinking: set[str] = set()
        self._no_clearing: set[str] = set()
        self._written = WrittenMessages()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyEvent, None]:
        """Stream one reply; see the protocol. Closing the iterator closes the connection."""
        facts = await self._facts_of(request.model)
        body = build_body(request, facts, self._written)
        attempt = self._attempt(body)
        try:
            first = await anext(attempt)
            # Nothing was shown yet: leave out what is not known here, now and from here on.
            for name, refuses, models in (
                (CLEARING, _refuses_clearing, self._no_clearing),
                ("thinking", _refuses_thinking, self._no_thinking),
            ):
                if name in body and refuses(first):
                    models.add(request.model)
                    del body[name]
                    await attempt.aclose()
                    attempt = self._attempt(body)
                    first = await anext(attempt)
            yield first
            async for event in attempt:
                yield event
        finally:
            await attempt.aclose()

    async def capabilities(self, model: str) -> Capabilities:
        """What the endpoint says of the model, asked once; else what is known of its family."""
        return (await self._facts_of(model)).capabilities

    async def status(self) -> ModelStatus:
        """What people see: never the key."""
        offline = self._credential.kind == "offline"
        endpoint = self._endpoint if isinstance(self._endpoint, str) else DEFAULT_BASE_URL
        return ModelStatus(
            model=self._model,
            offline=offline,
            endpoint="" if offline else _without_user(endpoint),
            key_source=self._credential.source,
        )

    async def close(self) -> None:
        """Close the connections of this loop. Those of loops that have ended are let go."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _attempt(self, body: dict[str, Any]) -> AsyncGenerator[ReplyEvent, None]:
        await _library_loaded()
        import anthropic
        import httpx2

        reader = ReplyReader()
        try:
            client = await self._client()
            async with client.messages.with_streaming_response.create(
                **_plain(body), stream=True, **_beta(body)
            ) as response:
                events = anthropic.AsyncStream.raw_events(response.http_response)
                async for line in events:
                    told = list(reader.feed(line.event, line.data))
                    if reader.ended:
                        await _drain(events)
                    for event in told:
                        yield event
                    if reader.ended:
                        return
                yield reader.cut()
        except UnicodeEncodeError:
            # Rare, so that no request is searched for it: half a character is in some text.
            async for event in self._attempt(_cleaned(body)):
                yield event
        except anthropic.APIStatusError as error:
            yield failure_of_status(
                error.status_code, error.body, error.response.headers, now=self._now()
            )
        except anthropic.APITimeoutError as error:
            yield self._silent(error.__cause__)
        except httpx2.TimeoutException as error:
            yield self._silent(error)
        except (anthropic.APIConnectionError, httpx2.TransportError) as error:
            yield _broken(error, started=reader.started)
        except SettingsError as error:
            # The scripted server does not start: a script of the person's own is wrong.
            yield ReplyFailed(kind=ModelErrorKind.INVALID_REQUEST, message=str(error))
        except OSError as error:
            yield _broken(error, started=reader.started)
        except (anthropic.AnthropicError, UnicodeDecodeError) as error:
            kind = ModelErrorKind.PROTOCOL
            if isinstance(error, anthropic.CredentialsError):
                kind = ModelErrorKind.AUTHENTICATION
            yield ReplyFailed(kind=kind, message=str(error))

    def _silent(self, cause: BaseException | None) -> ReplyFailed:
        import httpx2

        if isinstance(cause, httpx2.ConnectTimeout | httpx2.PoolTimeout):
            text = "The server did not take the connection in time."
            return ReplyFailed(kind=ModelErrorKind.CONNECTION, message=text)
        text = f"The server said nothing for {self._idle_timeout:g} seconds."
        return ReplyFailed(kind=ModelErrorKind.STALLED, message=text)

    async def _facts_of(self, model: str) -> ModelFacts:
        facts = self._facts.get(model)
        if facts is None:
            facts = await self._ask_facts(model)
        refused: dict[str, bool] = {}
        if model in self._no_thinking:
            refused["thinking"] = False
        if model in self._no_clearing:
            refused[CLEARING] = False
        if refused:
            told = facts.capabilities.model_copy(update=refused)
            return facts.model_copy(update={"capabilities": told})
        return facts

    async def _ask_facts(self, model: str) -> ModelFacts:
        await _library_loaded()
        import anthropic

        try:
            client = await self._client()
            info = await client.models.with_raw_response.retrieve(model, timeout=_LOOK_UP_TIMEOUT)
            facts = facts_from_endpoint(model, _object(info.http_response.content))
        except anthropic.APIStatusError as error:
            facts = facts_from_table(model)
            if error.status_code not in _NO_SUCH_ENDPOINT:
                return facts
        except (anthropic.AnthropicError, SettingsError, OSError):
            return facts_from_table(model)
        self._facts[model] = facts
        return facts

    async def _client(self) -> AsyncAnthropic:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            # A client of a loop that has ended can be neither used nor closed: let it go.
            self._clients = {
                old: made for old, made in self._clients.items() if not old.is_closed()
            }
            endpoint = self._endpoint
            if callable(endpoint):
                endpoint = await asyncio.to_thread(endpoint)
            client = self._clients[loop] = self._make(endpoint)
        return client

    def _make(self, endpoint: str | None) -> AsyncAnthropic:
        import anthropic
        import httpx2

        timeout = httpx2.Timeout(
            connect=CONNECT_TIMEOUT, read=self._idle_timeout, write=WRITE_TIMEOUT, pool=None
        )
        http_client: httpx2.AsyncClient | None = None
        if endpoint is not None and is_loopback(endpoint):
            # A proxy of the environment must not see what is meant for this machine. Loading the
            # certificates of the world takes longer than a reply from here.
            http_client = anthropic.DefaultAsyncHttpxClient(
                trust_env=False, timeout=timeout, verify=urlsplit(endpoint).scheme == "https"
            )
        secret = self._credential.secret
        value = secret.get_secret_value() if secret is not None else "none"
        kind = self._credential.kind
        client = anthropic.AsyncAnthropic(
            # Given explicitly, so that the library looks nowhere else; a chain is its own search.
            api_key=value if kind in ("api_key", "none", "offline") else None,
            auth_token=value if kind == "auth_token" else None,
            base_url=endpoint or (None if kind == "chain" else DEFAULT_BASE_URL),
            max_retries=0,
            timeout=timeout,
            http_client=http_client,
        )
        if client.api_key is None and client.auth_token is None and client.credentials is None:
            raise anthropic.CredentialsError(f"The {self._credential.source} holds no usable key.")
        return client


def load_library() -> None:
    """Import all of the client library that a reply needs; it takes seconds."""
    import anthropic.resources.messages
    import anthropic.resources.models  # noqa: F401 - both are what the client would load late


async def _library_loaded() -> None:
    """The first reply must not hold up the loop, or nobody could stop it meanwhile."""
    if "anthropic.resources.models" not in sys.modules:
        await asyncio.to_thread(load_library)


def is_loopback(url: str) -> bool:
    """Whether the URL points at this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def _refuses_thinking(event: ReplyEvent) -> bool:
    """Whether the server does not know the thinking parameter (as other servers may not)."""
    if not isinstance(event, ReplyFailed) or event.status not in (400, 422):
        return False
    text = event.message.lower()
    return "thinking" in text and any(
        words in text for words in ("not support", "unsupported", "unknown", "unexpected", "extra")
    )


def _refuses_clearing(event: ReplyEvent) -> bool:
    """Whether the server does not know how to clear old tool results."""
    if not isinstance(event, ReplyFailed) or event.status not in (400, 422):
        return False
    text = event.message.lower().replace("-", "_")
    return CLEARING in text or "anthropic_beta" in text


def _plain(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != CLEARING}


def _beta(body: dict[str, Any]) -> dict[str, Any]:
    """What the library's plain method has no parameter for."""
    if CLEARING not in body:
        return {}
    headers = {"anthropic-beta": "context-management-2025-06-27"}
    return {"extra_headers": headers, "extra_body": {CLEARING: body[CLEARING]}}


def _broken(error: Exception, *, started: bool) -> ReplyFailed:
    """The connection failed: before the reply, or in the middle of it."""
    cause = error.__cause__ or error
    detail = str(cause) or type(cause).__name__
    if started:
        text = f"The connection ended before the reply was complete ({detail})."
        return ReplyFailed(kind=ModelErrorKind.CUT, message=text)
    return ReplyFailed(
        kind=ModelErrorKind.CONNECTION, message=f"The server cannot be reached: {detail}"
    )


async def _drain(events: AsyncIterator[Any]) -> None:
    """Read the end of the body, which is there already, so that the connection is used again."""
    import httpx2

    with contextlib.suppress(TimeoutError, httpx2.TransportError, UnicodeDecodeError):
        async with asyncio.timeout(_DRAIN_TIMEOUT):
            async for _ in events:
                pass


def _cleaned(value: Any) -> Any:
    """Without lone surrogates, which no request may hold."""
    if isinstance(value, str):
        return without_lone_surrogates(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {without_lone_surrogates(key): _cleaned(item) for key, item in value.items()}
    return value


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _without_user(url: str) -> str:
    """The URL without a user name and password that may stand in it."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host, query="", fragment="").geturl()
