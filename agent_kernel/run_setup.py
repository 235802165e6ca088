"""From the parts of a session to what one run of the loop is given."""

from __future__ import annotations

from collections.abc import Callable

from agent_kernel.errors import SkillError
from agent_kernel.events import Event
from agent_kernel.loop.budget import Budget
from agent_kernel.loop.ports import Ports, QueryConfig
from agent_kernel.model_types import ToolSpec
from agent_kernel.prompt.build import PromptFacts, Surroundings, build_prompt
from agent_kernel.protocols import Command, CommandSource
from agent_kernel.tool_types import ToolContext
from agent_kernel.vocabulary import PermissionMode
from agent_kernel.wiring import NoApprover, Parts


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


def ports_of(parts: Parts, session_id: str) -> Ports:
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
    )
    prompt = build_prompt(facts, around)
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
