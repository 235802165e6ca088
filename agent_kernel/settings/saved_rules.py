"""Rules kept by *Always allow*: the person's own under our home, a project's in its settings."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from agent_kernel.errors import SettingsError
from agent_kernel.settings.atomic import write_atomic
from agent_kernel.settings.files import project_root
from agent_kernel.settings.home import write_private
from agent_kernel.settings.rule_text import parse_rule_text
from agent_kernel.settings.rules import Rule, RuleSource, parse_rules, rooted
from agent_kernel.vocabulary import RuleDestination


class SavedRules:
    """``local`` rules hold for one project, ``user`` rules everywhere; both lie under ``home``.

    ``project`` rules go where everybody who works on the project has them. Nothing is ever
    written below ``~/.claude``.
    """

    def __init__(self, home: Path, cwd: Path) -> None:
        self.cwd = cwd
        self.project = project_root(cwd)
        real = os.path.realpath(self.project)
        digest = hashlib.sha256(os.fsencode(real)).hexdigest()[:12]
        self.local_file = home / "rules" / f"{self.project.name[:40] or 'root'}-{digest}.json"
        self.user_file = home / "rules" / "user.json"

    def load(self) -> tuple[list[Rule], list[str]]:
        """What was saved under our home; what cannot be read is named, the rest holds."""
        rules: list[Rule] = []
        problems: list[str] = []
        for name, path in (("local", self.local_file), ("user", self.user_file)):
            source = (
                RuleSource("local", self.project, self.cwd)
                if name == "local"
                else RuleSource("user", self.cwd, self.cwd)
            )
            try:
                texts = _allow_list(_read(path))
            except SettingsError as error:
                problems.append(str(error))
                continue
            good, bad = parse_rules(texts, "allow", source)
            rules += good
            problems += bad
        return rules, problems

    def save(self, rule: str, destination: RuleDestination) -> None:
        """Add an allow rule to its file. Raises ``SettingsError`` if that cannot be done.

        For a project, patterns are kept from its root: another notebook of it, in another folder,
        must not take them for its own files.
        """
        if destination == "session":
            return
        if destination != "user":
            rule = str(rooted(parse_rule_text(rule), self.cwd, self.project))
        path = {
            "local": self.local_file,
            "user": self.user_file,
            "project": self.project / ".claude" / "settings.json",
        }[destination]
        content = _read(path)
        texts = _allow_list(content)
        if rule in texts:
            return
        content.setdefault("permissions", {})["allow"] = [*texts, rule]
        data = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
        try:
            if destination == "project":
                if os.path.realpath(path.parent) == os.path.realpath(Path.home() / ".claude"):
                    raise SettingsError("~/.claude is only read; keep the rule for yourself.")
                path.parent.mkdir(exist_ok=True)
                write_atomic(path, data.encode())
            else:
                write_private(path, data)
        except OSError as error:
            raise SettingsError(f"{path} cannot be written: {error.strerror or error}.") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{path} cannot be read, so it is left alone: {error}.") from None
    if not isinstance(content, dict) or not isinstance(content.get("permissions", {}), dict):
        raise SettingsError(f"{path} is not settings: its `permissions` should be an object.")
    return content


def _allow_list(content: dict[str, Any]) -> list[Any]:
    texts = content.get("permissions", {}).get("allow", [])
    return texts if isinstance(texts, list) else []
