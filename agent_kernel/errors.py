"""The one error tree.

    AgentKernelError
    ├── SettingsError            a setting, rule or key that cannot be used as written
    ├── ModelError               a call to the model failed; carried by an event, never raised
    ├── ToolError                a tool cannot do what was asked; the model gets the text
    │   └── NotebookError        ... because of the notebook
    │       ├── CellNotFound     no cell has that id
    │       ├── AmbiguousCell    several cells have that id
    │       ├── CellChanged      the cell is not what was read; carries the new text
    │       └── NotebookUnavailable  neither the page nor the file may be used now
    ├── WireError                a JSON-RPC request was answered with an error
    │   └── WireTimeout          ... or not at all, in time
    ├── StoreError               a session cannot be written or read
    ├── SkillError               a skill cannot be loaded, expanded or run
    └── RunFailed                a run ended badly; magics raise it so that *run all* stops

A tool's failure is a result, a model's failure is an event, and only a programmer's error is any
other exception.
"""

from __future__ import annotations

from enum import StrEnum


class AgentKernelError(Exception):
    """Root of everything this package raises on purpose."""


class SettingsError(AgentKernelError):
    """A setting, permission rule or key cannot be used; the text says how to write it right."""


class ModelErrorKind(StrEnum):
    """Why a model call failed, as far as recovery needs to know."""

    AUTHENTICATION = "authentication"
    PERMISSION = "permission"
    NOT_FOUND = "not_found"
    INVALID_REQUEST = "invalid_request"
    PROMPT_TOO_LONG = "prompt_too_long"
    BAD_THINKING = "bad_thinking"
    BAD_IMAGE = "bad_image"
    REQUEST_TOO_LARGE = "request_too_large"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    SERVER = "server"
    CONNECTION = "connection"
    STALLED = "stalled"
    CUT = "cut"
    PROTOCOL = "protocol"

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed when it is sent again later."""
        return self in _RETRYABLE


_RETRYABLE = frozenset(
    {
        ModelErrorKind.RATE_LIMIT,
        ModelErrorKind.OVERLOADED,
        ModelErrorKind.SERVER,
        ModelErrorKind.CONNECTION,
        ModelErrorKind.STALLED,
        ModelErrorKind.CUT,
    }
)


class ModelError(AgentKernelError):
    """A model call failed.

    ``status`` is the HTTP status, if there was one; ``retry_after`` is in seconds, if the server
    asked for a pause.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ModelErrorKind,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retry_after = retry_after


class ToolError(AgentKernelError):
    """A tool cannot do what was asked. The model gets the text: how to do it right."""


class NotebookError(ToolError):
    """The notebook stands in the way of what was asked."""


class CellNotFound(NotebookError):
    """No cell has the id; the text lists the ids there are."""


class AmbiguousCell(NotebookError):
    """More than one cell has the id, so no edit by that id is safe."""


class CellChanged(NotebookError):
    """The cell is not what was read before. ``source`` and ``hash`` are what it is now."""

    def __init__(self, message: str, *, cell_id: str, source: str, hash: str) -> None:
        super().__init__(message)
        self.cell_id = cell_id
        self.source = source
        self.hash = hash


class NotebookUnavailable(NotebookError):
    """Neither the open page nor the file may be used now; the text says why.

    ``maybe_open``: a page may hold unsaved changes of it, so no notebook file is safe to write.
    """

    def __init__(self, message: str, *, maybe_open: bool = True) -> None:
        super().__init__(message)
        self.maybe_open = maybe_open


class WireError(AgentKernelError):
    """The other side of the wire answered a request with a JSON-RPC error object."""

    def __init__(self, message: str, *, code: int, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class WireTimeout(WireError):
    """The other side did not answer within the time limit of the request."""


class StoreError(AgentKernelError):
    """A session cannot be written or read."""


class SkillError(AgentKernelError):
    """A skill cannot be loaded, expanded or run; the text names the skill and the file."""


class RunFailed(AgentKernelError):
    """A run ended badly. ``end`` is the value of :class:`agent_kernel.events.RunEnd`."""

    def __init__(self, message: str, *, end: str) -> None:
        super().__init__(message)
        self.end = end

    def _render_traceback_(self) -> list[str]:
        """IPython calls this: one line instead of our own frames (SPEC N4)."""
        return [f"{self.end}: {self}"]
