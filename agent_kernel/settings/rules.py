"""Permission rules: what may be written, and what a written rule matches (SPEC A2).

A rule is ``Tool`` or ``Tool(text)``. What the text means depends on what the tool says a call is
about (``RuleTarget``): a path is matched as a gitignore pattern, a command as words, a skill by
its name. A rule for ``Read`` governs everything that reads a file, one for ``Edit`` everything
that changes one. Stricter than other readers of these rules: what may not be read, or only after
a question, may not be changed either, by any tool, and ``Write(path)`` or ``NotebookEdit(path)``
deny and ask as written though they never allow.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from pathspec import GitIgnoreSpec

from agent_kernel.errors import SettingsError
from agent_kernel.settings.rule_text import RuleText, parse_rule_text
from agent_kernel.tool_types import RuleTarget

Behavior = Literal["allow", "deny", "ask"]
SourceName = Literal["managed", "command_line", "local", "project", "user", "session", "skill"]

_SOURCE_WORDS = {
    "session": "this session",
    "skill": "the running skill",
    "command_line": "the command line",
}

_EDITORS = {"Write": "Edit", "NotebookEdit": "Edit", "Glob": "Read", "Grep": "Read"}

_ORIGIN = re.compile(r"(?:user|project|bundled)(?:-\d+)?:")

CASEFOLD = sys.platform in {"darwin", "win32"}
"""Whether the disks of this platform usually take ``.ENV`` for ``.env``."""


@dataclass(frozen=True)
class RuleSource:
    """Where a rule was written.

    A pattern that begins with ``/`` starts from ``root``, others from ``cwd``. ``needs_trust`` is
    the folder the rule came with, if its allow rules wait for the person's trust (SPEC A6).
    """

    name: SourceName
    root: Path
    cwd: Path
    needs_trust: Path | None = None

    def __str__(self) -> str:
        return _SOURCE_WORDS.get(self.name, f"{self.name} settings")


@dataclass(frozen=True)
class Rule:
    """One parsed rule. ``str(rule)`` is how it was written."""

    text: RuleText
    behavior: Behavior
    source: RuleSource
    casefold: bool = CASEFOLD

    def __str__(self) -> str:
        return str(self.text)

    @property
    def described(self) -> str:
        return f"`{self}` ({self.source})"

    @property
    def is_mute(self) -> bool:
        """An allow rule for paths that names neither Read nor Edit; nothing consults it."""
        return (
            self.behavior == "allow"
            and self.text.spec is not None
            and self.text.tool in _EDITORS
            and self.text.spec != "own"
            and not self.text.spec.startswith("cell:")
        )

    def matches_bare(self, names: Sequence[str], targets: Sequence[RuleTarget]) -> bool:
        """Whether the rule speaks of the tool as a whole."""
        return self.text.spec is None and self._governs(names, targets)

    def matches_target(self, names: Sequence[str], target: RuleTarget) -> bool:
        """Whether the rule's text covers this one target of a call."""
        if self.text.spec is None or not self._governs(names, (target,)):
            return False
        if target.kind == "path":
            return not self.is_mute and self._matches_path(target.value)
        if target.kind == "command":
            return _matches_command(self.text.spec, target.value)
        if target.kind == "name":
            if self.behavior == "allow":
                return _matches_name(self.text.spec, target.value)
            spec, name = _name_key(self.text.spec), _name_key(target.value)
            return _matches_name(spec, name) or _matches_name(spec, _ORIGIN.sub("", name))
        if target.kind == "domain":
            return _matches_domain(self.text.spec, target.value)
        return self.text.spec == target.value

    def _governs(self, names: Sequence[str], targets: Sequence[RuleTarget]) -> bool:
        if self.text.tool in names:
            return True
        if "*" in self.text.tool or self.text.tool.startswith("mcp__"):
            return any(_matches_tool(self.text.tool, name) for name in names)
        accesses = {target.access for target in targets if target.kind == "path"}
        if self.text.tool == "Edit":
            # To be allowed to change a file includes being allowed to look at it.
            return "edit" in accesses or (self.behavior == "allow" and "read" in accesses)
        # What must not be read must not be changed either: a change quotes what stands there.
        return self.text.tool == "Read" and (
            "read" in accesses or (self.behavior != "allow" and bool(accesses))
        )

    def _matches_path(self, value: str) -> bool:
        """A link is allowed only with its target; either is enough to deny or ask."""
        lexical = os.path.normpath(value)
        real = os.path.realpath(value)
        paths = {lexical, real}
        if self.behavior == "allow":
            # The folder itself may be reached by a link (/tmp on macOS): measure like with like.
            return all(self._matches_one(path) for path in paths)
        return any(self._matches_one(path) for path in paths)

    def _matches_one(self, path: str) -> bool:
        for base in self._bases:
            try:
                relative = Path(path).relative_to(base).as_posix()
            except ValueError:
                continue
            if self.casefold:
                relative = _folded(relative)
            if relative == ".":
                return self._pattern in {"**", "*", "/**", "/*"}
            if self._spec.match_file(relative):
                return True
        return False

    @cached_property
    def _anchor(self) -> tuple[Path, str]:
        spec = self.text.spec or ""
        if spec.startswith("//"):
            return Path("/"), spec[1:]
        if spec == "~" or spec.startswith("~/"):
            return Path.home(), "/" + spec[2:]
        if spec.startswith("/"):
            return self.source.root, spec
        if not spec.startswith(("./", "../")):
            return self.source.cwd, spec
        base, rest = self.source.cwd, spec
        while rest.startswith(("./", "../")):
            step, _, rest = rest.partition("/")
            base = base.parent if step == ".." else base
        return base, "/" + rest

    @cached_property
    def _bases(self) -> tuple[str, ...]:
        base = self._anchor[0]
        return tuple({os.path.normpath(base), os.path.realpath(base)})

    @cached_property
    def _pattern(self) -> str:
        return self._anchor[1]

    @cached_property
    def _spec(self) -> GitIgnoreSpec:
        lines = [self._pattern]
        # `dir/**` of one segment: any depth for deny and ask, the folder here for allow.
        if self.behavior != "allow" and re.fullmatch(r"[^/*?\[]+/\*\*", self._pattern):
            lines.append("**/" + self._pattern)
        if self.casefold:
            lines = [_folded(line) for line in lines]
        # A first `#` is a comment to gitignore; in a rule it can only be part of a name.
        return GitIgnoreSpec.from_lines("\\" + line if line[:1] == "#" else line for line in lines)


@dataclass
class RuleSet:
    """All rules of a session. Deny beats ask beats allow, whatever the source."""

    rules: list[Rule] = field(default_factory=list)

    def add(self, rule: Rule) -> None:
        if rule not in self.rules:
            self.rules.append(rule)

    def find(
        self, behavior: Behavior, names: Sequence[str], targets: Sequence[RuleTarget]
    ) -> Rule | None:
        """The first rule that denies or asks: one matched target is enough."""
        for rule in self.rules:
            if rule.behavior == behavior and (
                rule.matches_bare(names, targets)
                or any(rule.matches_target(names, target) for target in targets)
            ):
                return rule
        return None

    def find_allow(self, names: Sequence[str], targets: Sequence[RuleTarget]) -> Rule | None:
        """The rule that allows the call: every path, command, name and host must be covered.

        A tag such as ``own`` describes the call as a whole, so one matched tag is enough.
        """
        allows = [rule for rule in self.rules if rule.behavior == "allow"]
        tags = [target for target in targets if target.kind == "tag"]
        things = [target for target in targets if target.kind != "tag"]
        for rule in allows:
            if rule.matches_bare(names, targets):
                return rule
            if any(rule.matches_target(names, tag) for tag in tags):
                return rule
        found = [
            next((rule for rule in allows if rule.matches_target(names, thing)), None)
            for thing in things
        ]
        return found[0] if found and all(found) else None


def parse_rule(
    text: str, behavior: Behavior, source: RuleSource, *, casefold: bool = CASEFOLD
) -> Rule:
    """Raises ``SettingsError`` that says how to write the rule."""
    parsed = parse_rule_text(text)
    if "*" in parsed.tool and behavior == "allow" and not _literal_server(parsed.tool):
        raise SettingsError(
            f"`{text}`: an allow rule names its tool in full; only the part after "
            "`mcp__<server>__` may hold a `*`."
        )
    rule = Rule(parsed, behavior, source, casefold)
    if parsed.spec is not None and parsed.tool in {"Read", "Edit", "Write"}:
        try:
            _ = rule._spec  # noqa: SLF001 (compiles the pattern now rather than at a call)
        except ValueError as error:
            raise SettingsError(f"`{text}`: the pattern is not valid ({error}).") from None
    return rule


def parse_rules(
    texts: Iterable[object], behavior: Behavior, source: RuleSource
) -> tuple[list[Rule], list[str]]:
    """The good rules and, for each bad one, why; a bad rule never takes others with it."""
    rules: list[Rule] = []
    problems: list[str] = []
    for text in texts:
        if not isinstance(text, str):
            problems.append(f"{source}: a rule is a text such as `Read(./data/**)`, not {text!r}.")
            continue
        try:
            rule = parse_rule(text, behavior, source)
        except SettingsError as error:
            problems.append(f"{source}: {error}")
            continue
        rules.append(rule)
        if rule.is_mute:
            meant = RuleText(_EDITORS[rule.text.tool], rule.text.spec)
            problems.append(f"{source}: `{rule}` allows nothing. Write `{meant}`.")
    return rules, problems


def rooted(rule: RuleText, cwd: Path, root: Path) -> RuleText:
    """The rule with a pattern that is told from ``cwd`` told from ``root``, a folder above it.

    Kept for a whole project it then means the files it meant when the person allowed it.
    """
    spec = rule.spec
    if spec is None or rule.tool not in {"Read", "Edit", "Write"}:
        return rule
    if spec.startswith(("//", "~", "../")):
        return rule
    below = cwd.relative_to(root).as_posix()
    prefix = "/" if below == "." else f"/{escape_pattern(below)}/"
    if spec.startswith(("/", "./")):
        spec = spec.partition("/")[2]
    elif "/" not in spec.rstrip("/"):
        spec = "**/" + spec
    return RuleText(rule.tool, prefix + spec)


def escape_pattern(path: str) -> str:
    """A path as a gitignore pattern that matches exactly it."""
    escaped = re.sub(r"([\\*?\[\]!#])", r"\\\1", path)
    return re.sub(r" $", r"\\ ", escaped)


def _literal_server(tool: str) -> bool:
    return re.match(r"mcp__[^*_]+(?:_[^*_]+)*__", tool) is not None


def _matches_tool(pattern: str, name: str) -> bool:
    if pattern.startswith("mcp__") and pattern.count("__") == 1 and "*" not in pattern:
        return name.startswith(pattern + "__")
    return re.fullmatch(_glob(pattern), name) is not None


def _matches_command(spec: str, command: str) -> bool:
    """Exact, or with ``*`` for any run of characters; a last `` *`` or ``:*`` is a word's end."""
    pattern = spec[:-2] + " *" if spec.endswith(":*") else spec
    command = command.strip()
    if pattern.endswith(" *") and re.fullmatch(_glob(pattern[:-2]), command, re.DOTALL):
        return True
    return re.fullmatch(_glob(pattern), command, re.DOTALL) is not None


def _matches_name(spec: str, name: str) -> bool:
    """``name``; ``name *`` (with any arguments); ``name:*`` (the family of that name)."""
    if spec.endswith(":*"):
        family = spec[:-2]
        return name == family or name.startswith((family + "-", family + ":"))
    return name == spec.removesuffix(" *").strip()


def _name_key(name: str) -> str:
    """A name as it is looked up: case and width of letters do not matter."""
    return unicodedata.normalize("NFKC", name).casefold()


def _matches_domain(spec: str, host: str) -> bool:
    wanted = spec.removeprefix("domain:").strip().casefold()
    host = host.casefold().rstrip(".")
    if wanted == "*":
        return True
    if wanted.startswith("*."):
        return host.endswith(wanted[1:]) and len(host) > len(wanted) - 1
    pattern = "[^.]*".join(re.escape(part) for part in wanted.split("*"))
    return re.fullmatch(pattern, host) is not None


def _folded(text: str) -> str:
    """Disks that do not tell case apart do not tell composed letters apart either."""
    return unicodedata.normalize("NFC", text).casefold()


def _glob(pattern: str) -> str:
    return ".*".join(re.escape(part) for part in pattern.split("*"))
