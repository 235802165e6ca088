"""What an agent has read; a sub-agent has a memory of its own."""

from __future__ import annotations

from collections.abc import Mapping


class ReadMemory:
    """What one agent has read, in memory (the ``ReadState`` seam)."""

    def __init__(self, digests: Mapping[str, str] | None = None) -> None:
        self._digests = dict(digests or {})

    def remember(self, key: str, digest: str) -> None:
        self._digests.pop(key, None)
        self._digests[key] = digest

    def digest(self, key: str) -> str | None:
        return self._digests.get(key)

    def forget(self, key: str) -> None:
        self._digests.pop(key, None)

    def recent(self) -> tuple[str, ...]:
        return tuple(reversed(self._digests))

    def copy(self) -> ReadMemory:
        """For a sub-agent that knows what its parent knows."""
        return ReadMemory(self._digests)

    def clear(self) -> None:
        """A new conversation has read nothing."""
        self._digests.clear()
