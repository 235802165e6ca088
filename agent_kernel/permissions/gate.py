"""The gate: one judgement for every call, in the order of SPEC A3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from agent_kernel.errors import SettingsError
from agent_kernel.permissions.modes import MODES, is_edit_here
from agent_kernel.permissions.protected import holds_key, protected_part
from agent_kernel.permissions.suggest import SESSION_ONLY, suggestions_for
from agent_kernel.protocols import Trust
from agent_kernel.settings.rules import Rule, RuleSet, RuleSource, parse_rule, parse_rules
from agent_kernel.settings.saved_rules import SavedRules
from agent_kernel.settings.settings import Settings
from agent_kernel.tool_types import (
    ContextModifier,
    GateDecision,
    Opinion,
    RuleTarget,
    Tool,
    ToolContext,
)
from agent_kernel.vocabulary import PermissionMode, RuleDestination


@dataclass(frozen=True)
class _Call:
    """One call as rules see it."""

    tool: Tool
    input: BaseModel
    names: tuple[str, ...]
    targets: tuple[RuleTarget, ...]
    mode: PermissionMode
    cwd: Path
    read_only: bool

    @property
    def what(self) -> str:
        target = next((t for t in self.targets if t.kind != "tag"), None)
        if target is None:
            return f"`{self.tool.name}`"
        value = target.value
        if target.kind == "path" and Path(value).is_relative_to(self.cwd):
            value = str(Path(value).relative_to(self.cwd))
        return f"`{self.tool.name}` of {value}" if len(value) <= 120 else f"`{self.tool.name}`"


class Gate:
    """Judges calls by rules, the mode of the context and the tool's own opinion.

    ``homes``: folders of our own state, which are never changed without a person. ``saved`` keeps
    *Always allow* rules; without it only rules of the session are remembered.
    """

    def __init__(
        self,
        rules: Iterable[Rule] = (),
        *,
        cwd: Path,
        homes: Sequence[Path] = (),
        saved: SavedRules | None = None,
        trust: Trust | None = None,
        bypass_allowed: bool = True,
    ) -> None:
        self.cwd = cwd
        self.problems: tuple[str, ...] = ()
        self._rules = RuleSet(list(rules))
        self._granted: list[Rule] = []
        self._homes = tuple(homes)
        self._saved = saved
        self._trust = trust
        self._bypass_allowed = bypass_allowed

    @classmethod
    def from_settings(cls, settings: Settings, *, trust: Trust | None = None) -> Gate:
        """All rules there are: settings files and what was saved. ``problems`` names bad ones."""
        cwd = settings.cwd
        rules: list[Rule] = []
        problems: list[str] = []
        for group in settings.permissions:
            comes_with_folder = group.source in {"project", "local"}
            # Trust in the folder the file lies in: above a folder may lie somebody else's.
            needs_trust = group.path.parent.parent if comes_with_folder else None
            source = RuleSource(group.source, group.root, cwd, needs_trust)
            for behavior, texts in (
                ("deny", group.deny),
                ("ask", group.ask),
                ("allow", group.allow),
            ):
                good, bad = parse_rules(texts, _behavior(behavior), source)
                rules += good
                problems += bad
        saved = SavedRules(settings.home, cwd)
        good, bad = saved.load()
        gate = cls(
            rules + good,
            cwd=cwd,
            homes=(settings.home,),
            saved=saved,
            trust=trust,
            bypass_allowed=settings.bypass_allowed,
        )
        gate.problems = (*problems, *bad)
        return gate

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules in force, strongest behaviour aside; for a listing."""
        return (*self._rules.rules, *self._granted)

    def hides(self, tool: Tool) -> bool:
        """Whether a deny rule speaks of the tool as a whole, so that the model need not know it."""
        return self._rules.find("deny", (tool.name, *tool.aliases), ()) is not None

    def may_read(self, path: Path) -> bool:
        """Whether no rule denies or asks for reading the file."""
        target = RuleTarget(kind="path", value=str(path), access="read")
        names = ("Read",)
        return not (
            holds_key(target.value, self._homes)
            or self._rules.find("deny", names, (target,))
            or self._rules.find("ask", names, (target,))
        )

    async def decide(
        self,
        tool: Tool,
        input: BaseModel,
        context: ToolContext,
        *,
        hook: Literal["none", "allow", "ask", "deny"] = "none",
    ) -> GateDecision:
        """``hook`` is what a PreToolUse hook said; its allow never beats a deny or ask rule."""
        call = await self._call(tool, input, context)
        opinion = await tool.check_permissions(input, context)
        decided = self._refused(call, opinion, hook) or self._must_ask(call, opinion, hook)
        if decided is None:
            decided = self._beyond_plan(call) or self._allowed(call, opinion, hook)
        decided = decided or GateDecision(
            behavior="ask", reason=f"No rule allows {call.what}.", hint=self._hint(call)
        )
        if decided.behavior == "ask":
            return self._asked(call, decided)
        return decided

    def _refused(self, call: _Call, opinion: Opinion, hook: str) -> GateDecision | None:
        if rule := self._rules.find("deny", call.names, call.targets):
            return GateDecision(
                behavior="deny",
                rule=str(rule),
                reason=f"The deny rule {rule.described} forbids {call.what}. "
                "No other rule lifts a deny rule; only the person can remove it.",
            )
        if any(holds_key(t.value, self._homes) for t in call.targets if t.kind == "path"):
            return GateDecision(
                behavior="deny",
                reason="That file holds the person's key; no rule or mode opens it.",
            )
        if opinion.behavior == "deny":
            return GateDecision(behavior="deny", reason=opinion.reason or "The tool refuses this.")
        if hook == "deny":
            return GateDecision(behavior="deny", reason="A hook denied this call.")
        return None

    def _must_ask(self, call: _Call, opinion: Opinion, hook: str) -> GateDecision | None:
        if rule := self._rules.find("ask", call.names, call.targets):
            return GateDecision(
                behavior="ask",
                rule=str(rule),
                reason=f"The ask rule {rule.described} wants you to be asked.",
                hint="Only removing that rule would allow it without a question.",
            )
        if hook == "ask":
            return GateDecision(
                behavior="ask", reason="A hook wants you to be asked.", hint="No rule changes that."
            )
        bypass = call.mode == "bypassPermissions" and self._bypass_allowed
        if bypass or (call.mode == "plan" and not call.read_only):
            return None
        for target in call.targets:
            part = (
                protected_part(target.value, self._homes)
                if target.kind == "path" and target.access == "edit"
                else None
            )
            if part is not None:
                return GateDecision(
                    behavior="ask",
                    reason=f"{call.what} changes a protected place ({part}): what stands there "
                    "can run code or loosen rules later.",
                    hint="No rule allows it; only a person, or the mode bypassPermissions.",
                )
        if opinion.behavior == "ask":
            return GateDecision(
                behavior="ask", reason=opinion.reason or "The tool wants you to be asked."
            )
        return None

    def _beyond_plan(self, call: _Call) -> GateDecision | None:
        if call.mode != "plan" or call.read_only:
            return None
        return GateDecision(
            behavior="deny",
            reason=f"The mode is plan, which only looks, so {call.what} did not happen. "
            "Finish the plan and present it; the person can then choose another mode.",
        )

    def _allowed(self, call: _Call, opinion: Opinion, hook: str) -> GateDecision | None:
        if call.mode == "bypassPermissions" and self._bypass_allowed:
            return GateDecision(behavior="allow", reason="The mode bypassPermissions allows it.")
        if call.mode == "acceptEdits" and is_edit_here(call.targets, self.cwd):
            return GateDecision(behavior="allow", reason="The mode acceptEdits allows it.")
        if opinion.behavior == "allow":
            return GateDecision(behavior="allow", reason=opinion.reason or "It changes nothing.")
        if rule := self._allowing(call, self._trusted_rules()):
            return GateDecision(
                behavior="allow", rule=str(rule), reason=f"The rule {rule.described} allows it."
            )
        if hook == "allow":
            return GateDecision(behavior="allow", reason="A hook allowed it.")
        return None

    def _asked(self, call: _Call, decision: GateDecision) -> GateDecision:
        if call.mode == "dontAsk":
            return GateDecision(
                behavior="deny",
                rule=decision.rule,
                reason=f"{decision.reason} The mode dontAsk denies what would be asked. "
                f"{decision.hint}".strip(),
            )
        if decision.rule is not None or "protected place" in decision.reason:
            # A rule saved now would not keep the question from coming again.
            return decision
        return decision.model_copy(
            update={
                "suggestions": suggestions_for(call.tool.name, call.targets, self.cwd),
                "hint": decision.hint or self._hint(call),
            }
        )

    def _hint(self, call: _Call) -> str:
        rules = [rule.rule for rule in suggestions_for(call.tool.name, call.targets, self.cwd)]
        ways = [f"an allow rule `{rules[0] if rules else call.tool.name}`"]
        if is_edit_here(call.targets, self.cwd):
            ways.append("the mode acceptEdits")
        ways.append("the mode bypassPermissions")
        hint = f"It would be allowed by {' or '.join(ways)}."
        waiting = [rule for rule in self._rules.rules if rule not in self._trusted_rules().rules]
        if waiting and (rule := self._allowing(call, RuleSet(waiting))):
            hint += f" The rule {rule.described} counts once this folder is trusted."
        return hint

    def _allowing(self, call: _Call, rules: RuleSet) -> Rule | None:
        return RuleSet([*rules.rules, *self._granted]).find_allow(call.names, call.targets)

    def _trusted_rules(self) -> RuleSet:
        return RuleSet([rule for rule in self._rules.rules if self._counts(rule)])

    def _counts(self, rule: Rule) -> bool:
        folder = rule.source.needs_trust
        if rule.behavior != "allow" or folder is None:
            return True
        return self._trust is not None and self._trust.is_trusted(folder)

    async def _call(self, tool: Tool, input: BaseModel, context: ToolContext) -> _Call:
        return _Call(
            tool=tool,
            input=input,
            names=(tool.name, *tool.aliases),
            targets=await tool.rule_targets(input, context),
            mode=context.mode if context.mode in MODES else "default",
            cwd=self.cwd,
            read_only=tool.is_read_only(input),
        )

    async def proves(self, rule: str, tool: Tool, input: BaseModel, context: ToolContext) -> bool:
        """Whether an allow rule would have let this very call pass.

        Raises ``SettingsError`` if the rule cannot be parsed.
        """
        parsed = parse_rule(rule, "allow", self._source("session"))
        call = await self._call(tool, input, context)
        return RuleSet([parsed]).find_allow(call.names, call.targets) is not None

    def remember(self, rule: str, destination: RuleDestination) -> None:
        """Keep an allow rule from now on, and beyond this session unless it is for the session.

        Raises ``SettingsError`` if it cannot be parsed or saved.
        """
        if destination == "session":
            self._rules.add(parse_rule(rule, "allow", self._source("session")))
            return
        parsed = parse_rule(rule, "allow", self._source(destination))
        if parsed.text.spec is None and parsed.text.tool in SESSION_ONLY:
            raise SettingsError(
                f"`{parsed}` can be allowed for a session only: it stands for any code at all."
            )
        if self._saved is None:
            raise SettingsError("There is no place here to keep rules beyond the session.")
        self._saved.save(str(parsed), destination)
        self._rules.add(parsed)

    def forget_session(self) -> None:
        """Another conversation begins: what was allowed for the session is asked again."""
        self._granted = []
        # A deny or ask rule stays: only what widens ends by itself.
        kept = [r for r in self._rules.rules if (r.behavior, r.source.name) != ("allow", "session")]
        self._rules = RuleSet(kept)

    def apply(self, modifier: ContextModifier | None) -> None:
        """Pre-approvals of a skill, until the next user message; None clears them.

        They never beat a deny or ask rule. A rule that cannot be read grants nothing.
        """
        if modifier is None:
            self._granted = []
            return
        good, _ = parse_rules(modifier.allow, "allow", self._source("skill"))
        self._granted += good

    def child(self) -> Gate:
        """The same rules, those remembered later too; pre-approvals go their own ways."""
        gate = copy(self)
        gate._granted = list(self._granted)  # noqa: SLF001 - its own kind
        return gate

    def _source(self, name: RuleDestination | Literal["skill"]) -> RuleSource:
        return RuleSource(name, self.cwd, self.cwd)


def _behavior(name: str) -> Literal["allow", "deny", "ask"]:
    return "allow" if name == "allow" else "deny" if name == "deny" else "ask"
