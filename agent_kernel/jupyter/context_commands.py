"""``%agent compact``, ``clear`` and ``context``: what of the conversation the model still has."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_kernel.compacting import ContextReport
    from agent_kernel.jupyter.commands import CommandHost

BAR = 40


async def compact(host: CommandHost, focus: str) -> str:
    """Summarise now; ``focus`` says what must be kept."""
    if host.session.running is not None:
        return "A run is on in this session; stop it first."
    last = await host.compact(focus)
    return last.text or last.detail


async def clear(host: CommandHost, _args: str) -> str:
    """Begin again with an empty conversation; the old one can be resumed."""
    old = host.session.session_id
    try:
        new = host.session.new()
    except RuntimeError as error:
        return str(error)
    host.sessions.note()
    return (
        f"Cleared. This is a new conversation: {new}\n%agent resume {old} brings the old one back."
    )


async def context(host: CommandHost, _args: str) -> str:
    """What fills the window."""
    return report_text(await host.session.context_report())


def report_text(report: ContextReport) -> str:
    """The meter and its parts, as text."""
    window = report.window
    filled = min(BAR, round(BAR * report.total / window.effective))
    head = (
        f"{report.total:,} of {window.effective:,} tokens that {report.model} can take"
        f" ({round(100 * report.total / window.effective)} %)"
    )
    width = max(len(name) for name, _ in (("", 0), *report.parts))
    digits = max(len(f"{tokens:,}") for _, tokens in (("", 0), *report.parts))
    parts = [f"  {name:<{width}}  {tokens:>{digits},}" for name, tokens in report.parts]
    limits = (
        f"Above {window.autocompact:,} it is summarised before the next request,"
        f" above {window.blocking:,} none is sent."
    )
    return "\n".join(
        [
            head,
            f"[{'#' * filled}{'.' * (BAR - filled)}]",
            "",
            "About, by what it is for:",
            *parts,
            "",
            limits,
        ]
    )
