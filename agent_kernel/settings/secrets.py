"""Keep secrets out of what is stored, shown and sent; keep text encodable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MARKER = "[secret removed]"
_MIN_LENGTH = 8
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH)(?:_|$)",
    re.IGNORECASE,
)
# Names that end in KEY and the like but hold no secret, and values that are only settings.
_HARMLESS_NAME = re.compile(r"SSH_AUTH_SOCK|_FILE$|_PATH$|_DIR$|XAUTHORITY|_URL$", re.IGNORECASE)
_HARMLESS_VALUE = re.compile(r"true|false|yes|no|none|null|\d{1,12}|[/~.][^\s]*", re.IGNORECASE)

_KEY_LIKE = re.compile(
    r"""
    \bsk-(?:ant-|proj-|live-|test-)?[A-Za-z0-9_-]{16,}
  | \b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}
  | \bgithub_pat_[A-Za-z0-9_]{20,}
  | \bglpat-[A-Za-z0-9_-]{16,}
  | \bxox[abprs]-[A-Za-z0-9-]{10,}
  | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
  | \bAIza[A-Za-z0-9_-]{35}
  | \bhf_[A-Za-z0-9]{20,}
  | \bnpm_[A-Za-z0-9]{30,}
  | \bpypi-[A-Za-z0-9_-]{40,}
  | \beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}
  | -----BEGIN\ (?:[A-Z]+\ )*PRIVATE\ KEY-----[\s\S]*?-----END\ (?:[A-Z]+\ )*PRIVATE\ KEY-----
    """,
    re.VERBOSE,
)
_HEADER = re.compile(
    r"""(?ix) ( \b(?:authorization|x-api-key|proxy-authorization)\b ["']? \s* [:=] \s* ["']?
              (?:bearer\s+|basic\s+)? ) ( [^\s"',;\[\]]{8,} )"""
)
_URL_PASSWORD = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s/:@]+:)([^\s/@]{3,})(@)", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")


def without_lone_surrogates(text: str) -> str:
    """The text with pairs joined and each half that has no partner replaced: it can be encoded."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def ends_in_half(text: str) -> bool:
    """Whether the other half of the last character may be in the text that follows."""
    return "\ud800" <= text[-1:] <= "\udbff"


class Scrubber:
    """Replaces secrets by a visible marker.

    ``values`` are known secrets (keys, values of environment variables); beside them, strings that
    look like keys are replaced. The result is the same for the same text, so a stored result does
    not change.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: frozenset[str] = frozenset()
        self._known: re.Pattern[str] | None = None
        self.learn(*values)

    def learn(self, *values: str) -> None:
        """Know these from now on as well: a key that was typed in. Any thread."""
        self._values |= {value for value in values if len(value) >= _MIN_LENGTH}
        # Longest first: a secret may hold another.
        ordered = sorted(self._values, key=lambda value: (-len(value), value))
        self._known = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], *more: str) -> Scrubber:
        """Knows the values of variables whose names say that they are secret."""
        return cls(
            [
                *more,
                *(value for name, value in environ.items() if _is_secret(name, value)),
            ]
        )

    def scrub(self, text: str) -> str:
        """The text without secrets and without lone surrogates."""
        text = without_lone_surrogates(text)
        if self._known is not None:
            text = self._known.sub(MARKER, text)
        text = _KEY_LIKE.sub(MARKER, text)
        text = _HEADER.sub(lambda found: found.group(1) + MARKER, text)
        return _URL_PASSWORD.sub(lambda found: found.group(1) + MARKER + found.group(3), text)

    def __repr__(self) -> str:
        return "Scrubber()"


def _is_secret(name: str, value: str) -> bool:
    if not _SECRET_NAME.search(name) or _HARMLESS_NAME.search(name):
        return False
    return not _HARMLESS_VALUE.fullmatch(value)
