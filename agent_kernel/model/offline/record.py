"""What the server remembers of a request, for tests to look at."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass
class Exchange:
    """A request and what became of it.

    ``end``: ``whole`` (all was sent), ``refused`` (an error status), ``cut`` and ``stalled`` (as
    the script says), ``client_gone`` (the client left first), None while it goes on. ``finished``
    is set with it. ``size`` is in bytes, ``digest`` the SHA-256 of the body as it came,
    ``connection`` the number of the connection it came on.
    """

    body: dict[str, Any]
    headers: dict[str, str]
    status: int = 200
    end: Literal["whole", "refused", "cut", "stalled", "client_gone"] | None = None
    serial: int = 0
    size: int = 0
    digest: str = ""
    connection: int = 0
    finished: threading.Event = field(default_factory=threading.Event)
