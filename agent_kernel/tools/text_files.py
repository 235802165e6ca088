"""Text files without loss: encoding, byte order mark and line ends survive an edit."""

from __future__ import annotations

import codecs
import contextlib
import difflib
import hashlib
import io
import os
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path

from agent_kernel.errors import ToolError
from agent_kernel.settings.atomic import write_atomic
from agent_kernel.tool_types import ToolContext

MAX_TEXT_BYTES = 100 * 1024 * 1024

# Longest first: the mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class TextFile:
    """A decoded file. ``text`` has the file's own line ends; ``guessed``: no mark, not UTF-8."""

    text: str
    encoding: str
    bom: bytes
    newline: str
    digest: str
    guessed: bool = False

    def encode(self, text: str) -> bytes:
        """Raises ``ToolError`` if the encoding of the file lacks a character of ``text``."""
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            bad = error.object[error.start : error.end][:10]
            raise ToolError(
                f"The file is {self.encoding} and cannot hold {bad!r}. "
                "Use characters that encoding has, or ask the person to convert the file."
            ) from None

    @property
    def note(self) -> str:
        """One line for the model when the file is not plain UTF-8, else empty."""
        if not self.guessed and self.encoding == "utf-8":
            return ""
        how = "probably " if self.guessed else ""
        return f"Encoding: {how}{self.encoding}; edits keep it."


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def resolve(path: str, cwd: Path) -> Path:
    """An absolute, normalised path; links stay. Raises ``ToolError`` for what is no path."""
    if not path.strip() or "\0" in path:
        raise ToolError("The path is empty or holds a NUL. Give an absolute path.")
    try:
        expanded = Path(path).expanduser()
    except RuntimeError:
        expanded = Path(path)
    return Path(os.path.normpath(cwd / expanded))


def short(path: Path, cwd: Path) -> str:
    """The path as a person reads it: relative below the working folder, else whole."""
    try:
        return path.relative_to(cwd).as_posix()
    except ValueError:
        return str(path)


def read_key(path: Path) -> str:
    """The key of a file in ``ReadState``: by its real path, so links are one file."""
    return f"file:{os.path.realpath(path)}"


def touch(context: ToolContext, path: Path) -> None:
    """Note that this run worked with the file: skills with ``paths`` appear by it."""
    context.run_notes.setdefault("touched_files", set()).add(str(path))


def load_bytes(path: Path) -> bytes:
    """Raises ``ToolError`` with what to do instead."""
    try:
        if path.is_dir():
            names = sorted(entry.name + "/" * entry.is_dir() for entry in path.iterdir())
            shown = ", ".join(names[:40]) + (", …" if len(names) > 40 else "")
            raise ToolError(f"{path} is a folder. It holds: {shown or 'nothing'}.")
        if not path.is_file():
            if path.exists():
                raise ToolError(f"{path} is neither a file nor a folder, so it is not read.")
            raise ToolError(_missing(path))
        if path.stat().st_size > MAX_TEXT_BYTES:
            raise ToolError(f"{path} is larger than 100 MB. Look at a part of it with Python.")
        return path.read_bytes()
    except OSError as error:
        raise ToolError(f"{path} cannot be read: {error.strerror or error}.") from None


def load(path: Path) -> TextFile:
    """Read and decode strictly. Raises ``ToolError``."""
    return decode(load_bytes(path), path)


def _missing(path: Path) -> str:
    """The text for a file that is not there, with what lies near by name."""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"There is no file {path}; its folder does not exist either."
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    hint = f" Near it: {', '.join(near)}." if near else ""
    return f"There is no file {path}.{hint}"


def decode(data: bytes, path: Path) -> TextFile:
    """Find the encoding by mark, UTF-8, declaration, then shape; never lose a byte."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = _strict(data[len(mark) :], encoding)
            if text is None:
                raise ToolError(f"{path} is marked as {encoding} but is not; it is left alone.")
            return _text_file(text, encoding, mark, data)
    text = _strict(data, "utf-8")
    if text is not None and "\0" not in text:
        return _text_file(text, "utf-8", b"", data)
    for encoding in _guesses(data, path):
        text = _strict(data, encoding)
        # A guess counts only if the very same bytes come back.
        if text is not None and "\0" not in text and text.encode(encoding) == data:
            return _text_file(text, encoding, b"", data, guessed=True)
    raise ToolError(f"{path} is not text ({len(data):,} bytes). Use Python to look into it.")


def store(path: Path, data: bytes, context: ToolContext) -> None:
    """Replace the file as a whole and remember it as read. Raises ``ToolError``."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, data)
        written = path.read_bytes()
    except OSError as error:
        raise ToolError(f"{path} cannot be written: {error.strerror or error}.") from None
    if written != data:
        raise ToolError(f"{path} does not hold what was written; something else changed it. Read.")
    context.read_state.remember(read_key(path), digest_of(data))
    touch(context, path)


def to_newline(text: str, newline: str) -> str:
    return _LINE_END.sub(lambda _: newline, text)


def to_lf(text: str) -> str:
    return _LINE_END.sub("\n", text)


def _text_file(
    text: str, encoding: str, bom: bytes, data: bytes, *, guessed: bool = False
) -> TextFile:
    return TextFile(text, encoding, bom, _newline(text), digest_of(data), guessed)


def _newline(text: str) -> str:
    """The line end most lines have."""
    windows = text.count("\r\n")
    unix = text.count("\n") - windows
    mac = text.count("\r") - windows
    most = max(windows, unix, mac)
    if most in {0, unix}:
        return "\n"
    return "\r\n" if most == windows else "\r"


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _guesses(data: bytes, path: Path) -> list[str]:
    head = data[:4096]
    if b"\0" in data:
        even, odd = head[0::2].count(0), head[1::2].count(0)
        half = max(1, len(head) // 2)
        if len(data) % 2 == 0 and odd > half * 0.4 and even < half * 0.1:
            return ["utf-16-le"]
        if len(data) % 2 == 0 and even > half * 0.4 and odd < half * 0.1:
            return ["utf-16-be"]
        return []
    if any(byte < 32 and byte not in b"\t\n\r\f\b\x1b" for byte in head):
        return []
    guesses = []
    if path.suffix in {".py", ".pyw", ".pyi"}:
        with contextlib.suppress(SyntaxError, UnicodeDecodeError):
            guesses.append(tokenize.detect_encoding(io.BytesIO(data).readline)[0])
    # In Chinese double-byte text high bytes come in pairs; in Western text mostly alone.
    high = sum(byte >= 0x80 for byte in data)
    paired = sum(len(run) for run in re.findall(rb"[\x80-\xff]{2,}", data))
    if high and paired / high > 0.9:
        guesses.append("gb18030")
    return [*guesses, "cp1252", "latin-1"]
