"""A skill of a folder as the ``Command`` seam: known by its front matter, read when it is run."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agent_kernel.errors import SkillError
from agent_kernel.skills.expand import expand, refuse_shell, shell_part
from agent_kernel.skills.front_matter import FrontMatter, read
from agent_kernel.tool_types import ToolContext
from agent_kernel.vocabulary import SkillInfo

Source = Literal["user", "project", "bundled"]

MAX_FILE_BYTES = 2 * 1024 * 1024
MAX_DESCRIPTION = 2_000
MAX_HEAD = 128 * 1024
_CHUNK = 4 * 1024

# Keys whose presence cannot make a call do more than bring text (SPEC K9). Whatever is not
# named here, a key of tomorrow included, makes the call a question.
_SAFE_KEYS = frozenset(
    {
        "name", "description", "aliases", "when-to-use", "arguments", "argument-hint", "context",
        "execution-context", "model", "effort", "paths", "version", "disable-model-invocation",
        "user-invocable", "license", "compatibility", "metadata",
    }
)  # fmt: skip


@dataclass(frozen=True)
class SkillCommand:
    """One skill. ``path`` is its file, ``root`` its folder.

    ``grants_count`` says whether its ``allowed-tools`` may pre-approve anything: those of a
    project only once the person has trusted the folder (SPEC A6).
    """

    name: str
    path: Path
    root: Path
    source: Source
    project: Path
    front: FrontMatter = field(repr=False)
    shadowed_by: str | None = None
    grants_count: Callable[[], bool] = lambda: True

    @property
    def info(self) -> SkillInfo:
        return SkillInfo(
            name=self.name,
            description=self.description,
            source=self.source,
            argument_hint=self.front.text("argument-hint"),
            arguments=self.argument_names,
            user_invocable=self.front.flag("user-invocable", True),
            shadowed_by=self.shadowed_by,
        )

    @property
    def label(self) -> str:
        """What the front matter calls it, if that differs from the folder's name."""
        return self.front.text("name")

    @property
    def description(self) -> str:
        """The front matter's, else the first paragraph of the text; one line."""
        text = self.front.text("description") or _first_paragraph(self.front.body)
        return " ".join(text.split())[:MAX_DESCRIPTION]

    @property
    def when_to_use(self) -> str:
        return " ".join(self.front.text("when-to-use").split())

    @property
    def argument_names(self) -> tuple[str, ...]:
        return tuple(name for name in self.front.names("arguments") if name.isidentifier())

    @property
    def model_invocable(self) -> bool:
        return not self.front.flag("disable-model-invocation", False)

    @property
    def declared_tools(self) -> tuple[str, ...]:
        return self.front.names("allowed-tools")

    @property
    def allowed_tools(self) -> tuple[str, ...]:
        return self.declared_tools if self.grants_count() else ()

    @property
    def model(self) -> str | None:
        name = self.front.text("model")
        return name if name and name != "inherit" else None

    @property
    def paths(self) -> tuple[str, ...]:
        return self.front.names("paths")

    @property
    def only_safe_properties(self) -> bool:
        keys = {key.replace("_", "-") for key in self.front.fields}
        if not keys <= _SAFE_KEYS or self._runs_elsewhere():
            return False
        try:
            return shell_part(self._load().body) is None
        except SkillError:
            return False

    async def get_prompt(self, args: str, context: ToolContext | None) -> str:
        """The text with the arguments in place, read from the file as it is now.

        Raises ``SkillError``.
        """
        if why := self._runs_elsewhere():
            raise SkillError(f"The skill {self.name} ({self.path}) {why}")
        front = self._load()
        refuse_shell(front.body, self.name)
        variables = {
            "CLAUDE_SKILL_DIR": str(self.root),
            "CLAUDE_PROJECT_DIR": str(self.project),
            "CLAUDE_SESSION_ID": context.session_id if context else "",
        }
        names = tuple(name for name in front.names("arguments") if name.isidentifier())
        text = expand(front.body.strip("\n"), args, names=names, variables=variables)
        if not text.strip():
            raise SkillError(f"The skill {self.name} ({self.path}) has no text.")
        return text

    def _runs_elsewhere(self) -> str:
        """Why this skill cannot become text in the conversation; empty if it can."""
        context = self.front.text("context") or self.front.text("execution-context")
        if context == "fork":
            return "runs in a sub-agent (`context: fork`), which is not supported here yet."
        if isinstance(self.front.get("shell"), dict):
            return "is a script (`shell:`), which is not supported here yet."
        return ""

    def _load(self) -> FrontMatter:
        return read(load_text(self.path))


def load_text(path: Path) -> str:
    """Raises ``SkillError`` that names the file."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise SkillError(f"{path} is over 2 MB, which is no skill.")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SkillError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise SkillError(f"{path} is not UTF-8.") from None


def load_head(path: Path) -> str:
    """The front matter with a little of the text behind it. Raises ``SkillError``."""
    try:
        with path.open("rb") as file:
            data = file.read(_CHUNK)
            closed = re.compile(rb"(?m)^(---|\.\.\.)[ \t]*\r?$")
            while len(data) < MAX_HEAD and not closed.search(data, 4):
                more = file.read(_CHUNK)
                if not more:
                    break
                data += more
    except OSError as error:
        raise SkillError(f"{path} cannot be read: {error.strerror or error}.") from None
    try:
        # A chunk may end inside a character; the rest of it is not looked at.
        return codecs.getincrementaldecoder("utf-8-sig")().decode(data)
    except UnicodeDecodeError:
        raise SkillError(f"{path} is not UTF-8.") from None


def _first_paragraph(body: str) -> str:
    for paragraph in body.strip().split("\n\n"):
        lines = [line for line in paragraph.strip().split("\n") if not line.startswith("#")]
        if text := " ".join(lines).strip():
            return text
    return ""
