"""From the parts of a session to what one run of the loop is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent_kernel.active_run import ActiveRun
from agent_kernel.agents.in_process import with_spawner
from agent_kernel.book import Book
from agent_kernel.context_types import ContextKeeper
from agent_kernel.errors import SkillError
from agent_kernel.events import Event
from agent_kernel.ledger import Ledger
from agent_kernel.loop.budget import Budget
from agent_kernel.loop.control import RunControl
from agent_kernel.loop.conversation import Conversation
from agent_kernel.loop.ports import Ports, QueryConfig
from agent_kernel.model_types import ToolSpec
from agent_kernel.prompt.build import PromptFacts, Surroundings, build_prompt
from agent_kernel.protocols import Command, CommandSource, EventSink
from agent_kernel.store.run_log import RunLog
from agent_kernel.tool_types import ToolContext
from agent_kernel.vocabulary import PermissionMode
from agent_kernel.wiring import NoApprover, Parts


@dataclass(frozen=True)
class Begun:
    """A run that has begun, before its first event."""

    active: ActiveRun
    context: ToolContext
    conversation: Conversation
    ledger: Ledger

    @property
    def control(self) -> RunControl:
        return self.active.control


def begin_run(
    parts: Parts,
    book: Book,
    mode: PermissionMode,
    cell_id: str | None,
    *,
    sinks: Callable[[], tuple[EventSink, ...]],
    set_mode: Callable[[PermissionMode], None],
) -> Begun:
    """Opens the conversation; nothing is told yet."""
    ledger = book.ledger
    conversation = ledger.conversation()
    run_id = parts.ids.new("run")
    active = ActiveRun(
        RunLog(run_id, session_id=ledger.session_id, cell_id=cell_id),
        RunControl(mode),
        clock=parts.clock,
        sinks=sinks,
        on_end=lambda log: ledger.keep_run(log.snapshot()),
    )
    context = context_of(
        parts, ledger.session_id, run_id, mode, emit=active.tell, set_mode=set_mode
    )
    return Begun(active, context, conversation, ledger)


async def equip(
    parts: Parts,
    book: Book,
    begun: Begun,
    *,
    model: str,
    offline: bool,
    max_turns: int | None = None,
    budget: Budget | None = None,
) -> tuple[QueryConfig, Ports]:
    """All that the loop is given for a run."""
    ports = ports_of(parts, begun.ledger.session_id, book.keeper)
    config = await config_of(
        parts,
        begun.context,
        await book.look_around(),
        model=model,
        offline=offline,
        max_turns=max_turns,
        budget=budget,
    )
    config = with_spawner(config, ports, begun.conversation, begun.control, window=parts.window)
    return config, ports


def context_of(
    parts: Parts,
    session_id: str,
    run_id: str,
    mode: PermissionMode,
    *,
    emit: Callable[[Event], None],
    set_mode: Callable[[PermissionMode], None],
) -> ToolContext:
    """What the tools of a run get."""
    return ToolContext(
        run_id=run_id,
        session_id=session_id,
        agent_id="main",
        cwd=parts.cwd,
        mode=mode,
        emit=emit,
        ids=parts.ids,
        read_state=parts.reads,
        notebook=parts.notebook,
        namespace=parts.namespace,
        commands=parts.commands,
        trust=parts.trust,
        set_mode=set_mode,
    )


def choose_model(given: str | None, skill: Command | None, default: str) -> str:
    """The model of a run: the one asked for, else the skill's, else the session's."""
    if given is None and skill is not None and skill.model:
        given = skill.model
    if given is None or given == "inherit":
        return default
    from agent_kernel.settings.settings import resolve_model

    return resolve_model(given)


async def find_command(
    commands: CommandSource, command: tuple[str, str], context: ToolContext
) -> tuple[Command, str]:
    """A skill that a person runs, and its expansion. Raises ``SkillError``."""
    name, args = command
    found = await commands.find(name)
    if found is None:
        raise SkillError(f"There is no skill named {name!r}.")
    if not found.info.user_invocable:
        raise SkillError(f"{name!r} is for the agent to use; ask for it in words instead.")
    return found, await found.get_prompt(args, context)


def ports_of(parts: Parts, session_id: str, keeper: ContextKeeper) -> Ports:
    """The seams of a run."""
    return Ports(
        client=parts.model_client(),
        gate=parts.gate,
        approver=parts.approver,
        hooks=parts.hooks,
        clock=parts.clock,
        ids=parts.ids,
        blobs=parts.blobs(session_id),
        scrub=parts.scrub,
        price=parts.price,
        attachments=parts.attachments,
        keeper=keeper,
    )


async def config_of(
    parts: Parts,
    context: ToolContext,
    around: Surroundings,
    *,
    model: str,
    offline: bool,
    max_turns: int | None,
    budget: Budget | None = None,
) -> QueryConfig:
    """The snapshot a run works with. Tools that lack their notebook or kernel are left out."""
    tools = tuple(
        tool for tool in parts.tools if tool.is_enabled(context) and not parts.gate.hides(tool)
    )
    settings = parts.settings
    capabilities = await parts.model_client().capabilities(model)
    facts = PromptFacts(
        cwd=parts.cwd,
        model=model,
        offline=offline,
        notebook=context.notebook is not None,
        kernel=context.namespace is not None,
        skills=any(tool.name == "Skill" for tool in tools),
        # Not whether somebody can answer just now: that comes and goes, and the prompt stays.
        can_ask=not isinstance(parts.approver, NoApprover),
        language=settings.language,
    )
    prompt = build_prompt(facts, around, parts.prompt)
    return QueryConfig(
        model=model,
        context=context,
        tools=tools,
        specs=tuple(
            ToolSpec(name=tool.name, description=tool.prompt(), input_schema=tool.input_schema())
            for tool in tools
        ),
        system=prompt.system,
        preamble=prompt.preamble,
        max_turns=max_turns if max_turns is not None else settings.max_turns,
        most_tokens=settings.max_output_tokens,
        fallbacks=tuple(name for name in settings.fallback_models if name != model),
        budget=budget
        or Budget(max_tokens=settings.budget_tokens, max_cost_usd=settings.budget_usd),
        thinking_budget=settings.thinking_budget,
        capabilities=capabilities,
    )
