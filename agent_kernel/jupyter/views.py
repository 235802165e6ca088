"""Which view a cell gets, and what the view may ask of the host."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agent_kernel.events import RunStarted
from agent_kernel.view.skills import skills_bundle
from agent_kernel.view.turn_view import TurnView, Way, publish_display, say
from agent_kernel.vocabulary import SkillInfo
from agent_kernel.wire import SKILLS_MIME, RunSnapshot, SkillsResult

if TYPE_CHECKING:
    from agent_kernel.jupyter.host import KernelHost
    from agent_kernel.view.widget import TurnWidget


def way_here(host: KernelHost) -> Way:
    """How a cell shows things; a widget only where something is there that draws widgets.

    No message tells the kernel so while a cell blocks it. But the consoles and nbclient start their
    kernels themselves, without the marks that servers, VS Code and Colab leave.
    """
    way = host.way()
    marks = ("JPY_SESSION_NAME", "VSCODE_PID", "VSCODE_CWD", "VSCODE_IPC_HOOK_CLI", "COLAB_GPU")
    if way == "widget" and not any(name in os.environ for name in marks):
        return "text"
    return way


def turn_view(host: KernelHost, shell: Any) -> TurnView:
    """The view of the cell that runs now."""
    del shell
    session = host.session
    return TurnView(
        way_here(host),
        snapshot=host.run_snapshot,
        session_id=session.session_id,
        scrub=session.parts.scrub,
        make_widget=lambda started: _turn_widget(host, started),
    )


def _turn_widget(host: KernelHost, started: RunStarted) -> TurnWidget:
    from agent_kernel.jupyter.comm import protect
    from agent_kernel.view.widget import TurnWidget

    run_id = started.run_id
    widget = TurnWidget(
        run_id,
        snapshot=lambda: host.run_snapshot(run_id),
        pending=host.desk.pending,
        request=host.page_request,
        initial=RunSnapshot(run_id=run_id, cell_id=started.cell_id, events=(started,)),
    )
    protect(widget.comm, host.heard_widget)
    return widget


def show_skills(host: KernelHost, shell: Any, skills: Sequence[SkillInfo]) -> None:
    """The list of skills, in the best form the front end has."""
    del shell
    data = skills_bundle(skills)
    way = way_here(host)
    if way == "text":
        say(data["text/plain"])
        return
    if way == "widget":
        from agent_kernel.jupyter.comm import protect
        from agent_kernel.view.widget import SkillsWidget

        widget = SkillsWidget(SkillsResult(skills=tuple(skills)), request=host.page_request)
        protect(widget.comm, host.heard_widget)
        del data[SKILLS_MIME]
        data = {**widget.bundle(), **data}
    publish_display(data, display_id="agent-skills", update=False)
