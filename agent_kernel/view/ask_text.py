"""An approval as a text prompt, for places where no click can arrive.

Shows the whole text of what will happen. Nothing is allowed by Enter alone: the default is to ask
again, and no answer at all (end of input) is *Deny*.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from agent_kernel.events import PermissionRequested
from agent_kernel.protocols import ApprovalAnswer
from agent_kernel.view.characters import one_line, visible
from agent_kernel.view.markdown import diff_text
from agent_kernel.view.words import BUTTONS
from agent_kernel.vocabulary import (
    CellPreview,
    CodePreview,
    CommandPreview,
    Decision,
    DiffPreview,
    Preview,
    RuleSuggestion,
    TextPreview,
)

_CHOICES: dict[str, Decision] = {
    "1": "allow_once",
    "2": "allow_session",
    "3": "allow_always",
    "4": "deny",
    "5": "deny_stop",
}
_HINT = "Type a number from 1 to 5; Enter alone allows nothing. "


def ask(
    request: PermissionRequested,
    *,
    read: Callable[[str], str] = input,
    write: Callable[[str], object] | None = None,
) -> ApprovalAnswer:
    """Put the question to the person and wait. Blocks; call it on the main thread.

    ``KeyboardInterrupt`` passes through, so that an interrupt still stops the run.
    """
    show = write or _print
    show(question_text(request))
    once = _saved(request.suggestions, "session")
    always = _saved(request.suggestions, "local")
    prompt = "Your choice: "
    for _ in range(20):
        try:
            typed = read(prompt).strip()
        except EOFError:
            return ApprovalAnswer(decision="deny", reason="Nobody was there to answer.")
        number, _, rest = typed.partition(" ")
        decision = _CHOICES.get(number.rstrip(".:"))
        reason = rest.strip()
        if decision is None:
            prompt = _HINT
            continue
        match decision:
            case "allow_once":
                return ApprovalAnswer(decision=decision)
            case "allow_session":
                return ApprovalAnswer(
                    decision=decision, rule=once.rule if once else None, destination="session"
                )
            case "allow_always":
                if always is None:
                    prompt = "There is no rule that could be saved for this. " + _HINT
                    continue
                return ApprovalAnswer(
                    decision=decision, rule=always.rule, destination=always.destination
                )
            case "deny" | "deny_stop":
                return ApprovalAnswer(decision=decision, reason=reason)
            case _:
                assert_never(decision)
    return ApprovalAnswer(decision="deny", reason="No choice was made.")


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - this is the prompt itself


def _saved(suggestions: tuple[RuleSuggestion, ...], destination: str) -> RuleSuggestion | None:
    """The rule to save; *Always* never falls back to a rule that ends with the session."""
    for suggestion in suggestions:
        if (suggestion.destination == "session") == (destination == "session"):
            return suggestion
    if destination == "session" and suggestions:
        return suggestions[0]
    return None


def question_text(request: PermissionRequested) -> str:
    """The question as text: what, where, why, the whole of it, and the numbered buttons."""
    lines = ["", f"┌ {one_line(request.title, 400)}"]
    if request.where:
        lines.append(f"│ Where: {one_line(request.where, 400)}")
    if request.reason:
        lines.append(f"│ Why it asks: {one_line(request.reason, 400)}")
    lines.append("├" + "─" * 40)
    lines += [f"│ {line}" for line in preview_text(request.preview).split("\n")]
    lines.append("├" + "─" * 40)
    once = _saved(request.suggestions, "session")
    always = _saved(request.suggestions, "local")
    lines.append(f"│ 1  {BUTTONS['allow_once']}")
    rule = f"   (rule: {one_line(once.rule, 400)})" if once else ""
    lines.append(f"│ 2  {BUTTONS['allow_session']}{rule}")
    if always:
        where = f"   (rule: {one_line(always.rule, 400)}, kept for: {always.destination})"
    else:
        where = "   (not offered here)"
    lines.append(f"│ 3  {BUTTONS['allow_always']}{where}")
    lines.append(f"│ 4  {BUTTONS['deny']}   (a reason may follow: 4 use the other file)")
    lines.append(f"│ 5  {BUTTONS['deny_stop']}")
    lines.append("└" + "─" * 40)
    return "\n".join(lines)


def preview_text(preview: Preview) -> str:
    """The exact, whole text of what will happen, nothing hidden and nothing cut."""
    match preview:
        case CommandPreview():
            place = f"in {visible(preview.cwd)}\n" if preview.cwd else ""
            return f"{place}$ {visible(preview.command)}"
        case CodePreview():
            return visible(preview.code)
        case DiffPreview():
            if preview.old is None:
                return f"New file {visible(preview.path)}\n{visible(preview.new)}"
            return f"Edit {visible(preview.path)}\n" + _diff(preview.old, preview.new)
        case CellPreview():
            head = f"{preview.op.capitalize()} {preview.cell_type} cell {visible(preview.where)}"
            if preview.old is not None and preview.new is not None:
                return f"{head.rstrip()}\n" + _diff(preview.old, preview.new)
            source = preview.new if preview.new is not None else preview.old
            return head.rstrip() + (f"\n{visible(source)}" if source is not None else "")
        case TextPreview():
            return visible(preview.text)
        case _:
            assert_never(preview)


def _diff(old: str, new: str) -> str:
    # Differences in characters that draw as nothing must be seen too, so box them first.
    changes = diff_text(visible(old), visible(new))
    return changes or "(only line ends or white space at the end change)"
