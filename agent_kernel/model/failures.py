"""What went wrong, as far as recovery needs to know it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from agent_kernel.errors import ModelErrorKind
from agent_kernel.model_types import ReplyFailed

_BY_TYPE = {
    "invalid_request_error": ModelErrorKind.INVALID_REQUEST,
    "authentication_error": ModelErrorKind.AUTHENTICATION,
    "billing_error": ModelErrorKind.PERMISSION,
    "permission_error": ModelErrorKind.PERMISSION,
    "not_found_error": ModelErrorKind.NOT_FOUND,
    "request_too_large": ModelErrorKind.REQUEST_TOO_LARGE,
    "rate_limit_error": ModelErrorKind.RATE_LIMIT,
    "timeout_error": ModelErrorKind.SERVER,
    "api_error": ModelErrorKind.SERVER,
    "overloaded_error": ModelErrorKind.OVERLOADED,
    "conflict_error": ModelErrorKind.SERVER,
}
_BY_STATUS = {
    400: ModelErrorKind.INVALID_REQUEST,
    401: ModelErrorKind.AUTHENTICATION,
    402: ModelErrorKind.PERMISSION,
    403: ModelErrorKind.PERMISSION,
    404: ModelErrorKind.NOT_FOUND,
    408: ModelErrorKind.SERVER,
    409: ModelErrorKind.SERVER,
    413: ModelErrorKind.REQUEST_TOO_LARGE,
    422: ModelErrorKind.INVALID_REQUEST,
    429: ModelErrorKind.RATE_LIMIT,
    503: ModelErrorKind.OVERLOADED,
    529: ModelErrorKind.OVERLOADED,
}
# A 400 says only in words which of our remedies fits.
_BY_WORDS = (
    (
        re.compile(
            r"prompt is too long|exceed context limit|context (window|length)|"
            r"maximum context|too many (input )?tokens|input is too long",
            re.IGNORECASE,
        ),
        ModelErrorKind.PROMPT_TOO_LONG,
    ),
    (
        re.compile(
            r"thinking.{0,80}(block|signature|modified)|signature", re.IGNORECASE | re.DOTALL
        ),
        ModelErrorKind.BAD_THINKING,
    ),
    (re.compile(r"\bimages?\b", re.IGNORECASE), ModelErrorKind.BAD_IMAGE),
)


def failure_of_type(error: Any, *, status: int | None = None) -> ReplyFailed:
    """An error object of the API. ``status`` is the HTTP status, not that of a stream's head."""
    error = error if isinstance(error, dict) else {}
    name = str(error.get("type") or "")
    message = str(error.get("message") or name or "The server reported an error.")
    kind = _BY_TYPE.get(name) or _of_status(status)
    return ReplyFailed(kind=_refined(kind, message), message=message, status=status)


def failure_of_status(
    status: int, body: Any, headers: Mapping[str, str], *, now: float
) -> ReplyFailed:
    """An error status. ``now`` is seconds since the epoch, for a ``retry-after`` that is a date."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, str):
        error = {"message": error}
    if not isinstance(error, dict):
        error = {"message": f"HTTP status {status}: {_plain(body)}".rstrip(": ")}
    failure = failure_of_type(error, status=status)
    # A gateway's status is its own; the API's type says more, where there is one.
    return failure.model_copy(update={"retry_after": retry_after(headers, now=now)})


def retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds to wait, from ``retry-after-ms`` or ``retry-after`` (seconds or an HTTP date)."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    written = headers.get("retry-after")
    seconds = _number(written)
    if seconds is not None or not written:
        return seconds
    try:
        date = parsedate_to_datetime(written)
    except (TypeError, ValueError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.fromtimestamp(now, UTC)).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _of_status(status: int | None) -> ModelErrorKind:
    if status is None or status >= 500:
        return _BY_STATUS.get(status or 0, ModelErrorKind.SERVER)
    return _BY_STATUS.get(status, ModelErrorKind.INVALID_REQUEST)


def _refined(kind: ModelErrorKind, message: str) -> ModelErrorKind:
    if kind is ModelErrorKind.INVALID_REQUEST:
        return next((found for words, found in _BY_WORDS if words.search(message)), kind)
    return kind


def _plain(body: Any) -> str:
    """The words of an error page, short."""
    text = re.sub(r"<[^>]*>", " ", body if isinstance(body, str) else "")
    return " ".join(text.split())[:300]
