"""Numbers and states as every rendering writes them (UI.md, Words)."""

from __future__ import annotations

from agent_kernel.messages import Usage
from agent_kernel.vocabulary import Decision, RunEnd

BUTTONS: dict[Decision, str] = {
    "allow_once": "Allow once",
    "allow_session": "Allow for this session",
    "allow_always": "Always allow",
    "deny": "Deny",
    "deny_stop": "Deny and stop",
}
"""The names of the buttons, the same everywhere."""

RESOLVED: dict[Decision, str] = {
    "allow_once": "Allowed once",
    "allow_session": "Allowed for this session",
    "allow_always": "Always allowed",
    "deny": "Denied",
    "deny_stop": "Denied, and stopped",
}

ENDS: dict[RunEnd, str] = {
    RunEnd.COMPLETED: "",
    RunEnd.MAX_TURNS: "Stopped at the limit of turns",
    RunEnd.BLOCKING_LIMIT: "The conversation is too long for another request",
    RunEnd.BUDGET_SPENT: "The budget is spent",
    RunEnd.MODEL_ERROR: "The model could not answer",
    RunEnd.ABORTED_STREAMING: "Stopped by you",
    RunEnd.ABORTED_TOOLS: "Stopped by you",
    RunEnd.PROMPT_TOO_LONG: "The prompt is too long for the model",
    RunEnd.HOOK_STOPPED: "Stopped by a hook",
    RunEnd.REFUSED: "The model declined to answer",
}


def is_interrupt(end: RunEnd | None) -> bool:
    return end in {RunEnd.ABORTED_STREAMING, RunEnd.ABORTED_TOOLS}


def tokens(count: int) -> str:
    """``410``, ``8.1k``, ``1.2M``."""
    if count < 1_000:
        return str(count)
    if count < 999_950:
        return f"{count / 1_000:.1f}k".replace(".0k", "k")
    return f"{count / 1_000_000:.1f}M".replace(".0M", "M")


def seconds(value: float) -> str:
    """``0.1 s``, ``14 s``, ``2 min 5 s``."""
    if value < 9.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def dollars(value: float) -> str:
    """``$0.02``; four places below a cent, since one turn often costs less."""
    return f"${value:.2f}" if value >= 0.01 or value == 0 else f"${value:.4f}"


def count(number: int, noun: str) -> str:
    """``1 turn``, ``3 turns``, ``1,204 rows``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def end_line(
    *, model: str, turns: int, usage: Usage, cost_usd: float | None, duration_ms: int
) -> str:
    """``model · 3 turns · 8.1k in (6.9k cached) · 410 out · $0.02 · 14 s``."""
    parts = [model] if model else []
    parts.append(count(turns, "turn"))
    if usage.total_input or usage.output_tokens:
        cached = usage.cache_read_input_tokens
        parts.append(
            f"{tokens(usage.total_input)} in" + (f" ({tokens(cached)} cached)" if cached else "")
        )
        parts.append(f"{tokens(usage.output_tokens)} out")
    if cost_usd is not None:
        parts.append(dollars(cost_usd))
    parts.append(seconds(duration_ms / 1000))
    return " · ".join(parts)
