"""From the parts of a session to what one run of the loop is given."""

from __future__ import annotations

from agent_kernel.loop.ports import Ports, QueryConfig
from agent_kernel.model_types import ToolSpec
from agent_kernel.prompt.build import PromptFacts, Surroundings, build_prompt
from agent_kernel.tool_types import ToolContext
from agent_kernel.wiring import NoApprover, Parts


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
) -> QueryConfig:
    """The snapshot a run works with. Tools that lack their notebook or kernel are left out."""
    tools = tuple(
        tool for tool in parts.tools if tool.is_enabled(context) and not parts.gate.hides(tool)
    )
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
        max_turns=max_turns if max_turns is not None else parts.settings.max_turns,
        thinking_budget=parts.settings.thinking_budget if capabilities.thinking else None,
        capabilities=capabilities,
    )
