"""Choose a step for a request and turn it into the events of a reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agent_kernel.model.offline import script as s
from agent_kernel.model.offline.conversation import Candidate, Conversation, read_conversation
from agent_kernel.model.offline.record import Exchange
from agent_kernel.model.offline.signature import sign
from agent_kernel.model.offline.template import Values

Json = dict[str, Any]

NO_MODEL = """\
No model is set up, so this answer comes from a fixed script that ships with agent_kernel, and \
none of its rules fits your message.

To use a model, run `%agent setup` and give an API key, or set `ANTHROPIC_API_KEY` before the \
kernel starts. Any server that speaks the Messages API works too: set `ANTHROPIC_BASE_URL` (and \
`ANTHROPIC_MODEL`)."""
SCRIPT_OVER = "The script for this prompt has ended. It is a fixed script, not a model."


@dataclass(frozen=True)
class Send:
    """An event of the stream."""

    event: Json


@dataclass(frozen=True)
class SendRaw:
    """A data line as it is."""

    data: str


@dataclass(frozen=True)
class Wait:
    """Hold until the gate is released."""

    gate: str


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Again:
    """The last event once more."""


@dataclass(frozen=True)
class Stall:
    """Silence until the client goes."""


@dataclass(frozen=True)
class Cut:
    """The connection ends. ``clean``: with a proper end of the HTTP body."""

    clean: bool


Action = Send | SendRaw | Wait | Pause | Again | Stall | Cut


@dataclass(frozen=True)
class Choice:
    """The step to play. ``key`` is the same for a retried request."""

    key: str
    script: s.Script
    step: s.Step
    values: Values


def choose(scripts: Sequence[s.Script], body: Json) -> Choice:
    """The step that answers this request; an honest text if none does."""
    conversation = read_conversation(body)
    for candidate in conversation.candidates:
        for script in scripts:
            for number, rule in enumerate(script.rules):
                match = rule.fits(candidate.text, conversation.agent)
                if match is not None:
                    step = _step(rule, candidate)
                    return Choice(
                        key=f"{script.name}/{number}/{candidate.step}/{len(body['messages'])}",
                        script=script,
                        step=step,
                        values=_values(candidate, match, conversation),
                    )
        if not candidate.steering:
            break
    return _no_model(scripts, conversation)


def _step(rule: s.Rule, candidate: Candidate) -> s.Step:
    if candidate.step < len(rule.steps):
        step = rule.steps[candidate.step]
    elif rule.repeat and rule.steps:
        step = rule.steps[-1]
    else:
        return s.Step(blocks=(s.TextPart(text=SCRIPT_OVER),))
    if not step.cases:
        return step
    texts = "\n".join(outcome.text for outcome in candidate.latest)
    failed = any(outcome.is_error for outcome in candidate.latest)
    for case in step.cases:
        if case.when is not None and not re.search(case.when, texts):
            continue
        if case.error is not None and case.error != failed:
            continue
        return case
    return s.Step(blocks=(s.TextPart(text=SCRIPT_OVER),))


def _values(candidate: Candidate, match: re.Match[str], conversation: Conversation) -> Values:
    return Values(candidate.text, match, candidate.outcomes, conversation.everything)


def _no_model(scripts: Sequence[s.Script], conversation: Conversation) -> Choice:
    examples = [rule.example for script in scripts for rule in script.rules if rule.example]
    text = NO_MODEL
    if examples:
        text += "\n\nThe scripts do answer these:\n\n" + "\n".join(f"- {item}" for item in examples)
    empty = re.match("", "")
    assert empty is not None  # noqa: S101 - an empty pattern always matches
    return Choice(
        key="",
        script=s.Script(name="no model"),
        step=s.Step(blocks=(s.TextPart(text=text),)),
        values=Values("", empty, (), conversation.everything),
    )


def reply_actions(choice: Choice, exchange: Exchange) -> Iterator[Action]:
    """The stream of one reply.

    Its ids are unique: among the replies of one server by the serial number, and among servers,
    which a session may outlive, by the digest of the request.
    """
    serial = exchange.serial
    step, values = choice.step, choice.values
    pace = choice.script.pace if step.pace is None else step.pace
    size = step.chunk or choice.script.chunk
    mark = exchange.digest[:8]
    usage = _usage(step, exchange)
    if step.blocks and isinstance(step.blocks[0], s.ErrorPart):
        # A server that is overloaded says so before any message has begun.
        yield _action(step.blocks[0])
        return
    yield Send(
        {
            "type": "message_start",
            "message": {
                "id": f"msg_{mark}{serial:04d}",
                "type": "message",
                "role": "assistant",
                "model": exchange.body.get("model", ""),
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {**usage, "output_tokens": 1},
            },
        }
    )
    index = said = 0
    has_tool = False
    for part in step.blocks:
        block = _block(part, values, f"{mark}{serial:04d}{index}")
        if block is None:
            yield _action(part)
            if isinstance(part, s.ErrorPart):
                return
            continue
        has_tool = has_tool or block.start.get("type") == "tool_use"
        yield Send({"type": "content_block_start", "index": index, "content_block": block.start})
        text = block.text if block.upto is None else block.text[: block.upto]
        for start in range(0, len(text), size):
            if pace and said:
                yield Pause(pace)
            piece = {"type": block.delta, block.field: text[start : start + size]}
            yield Send({"type": "content_block_delta", "index": index, "delta": piece})
            said += 1
        if block.upto is None:
            if block.signature:
                piece = {"type": "signature_delta", "signature": block.signature}
                yield Send({"type": "content_block_delta", "index": index, "delta": piece})
            yield Send({"type": "content_block_stop", "index": index})
        index += 1
    yield Send(
        {
            "type": "message_delta",
            "delta": {
                "stop_reason": step.stop_reason or ("tool_use" if has_tool else "end_turn"),
                "stop_sequence": None,
            },
            "usage": usage,
        }
    )
    yield Send({"type": "message_stop"})


@dataclass(frozen=True)
class _Block:
    start: Json
    delta: str = ""
    field: str = ""
    text: str = ""
    signature: str = ""
    upto: int | None = None


def _block(part: s.Strict, values: Values, mark: str) -> _Block | None:
    """The content block a part makes; None for the parts that are none."""
    match part:
        case s.TextPart():
            start: Json = {"type": "text", "text": ""}
            return _Block(start, "text_delta", "text", values.text(part.text), upto=part.upto)
        case s.ThinkingPart():
            start = {"type": "thinking", "thinking": "", "signature": ""}
            text = values.text(part.thinking)
            signature = sign(text) if part.signature is None else part.signature
            return _Block(start, "thinking_delta", "thinking", text, signature, part.upto)
        case s.RedactedPart():
            return _Block({"type": "redacted_thinking", "data": part.redacted_thinking})
        case s.ToolPart():
            start = {
                "type": "tool_use",
                "id": part.id or f"toolu_{mark}",
                "name": part.tool,
                "input": {},
            }
            raw = part.raw_input
            if raw is None:
                raw = json.dumps(values.fill(dict(part.input)), ensure_ascii=False)
            return _Block(start, "input_json_delta", "partial_json", raw, upto=part.upto)
        case s.ContentPart():
            return _Block(dict(part.content_block))
        case _:
            return None


def _action(part: s.Strict) -> Action:
    match part:
        case s.WaitPart():
            return Wait(part.wait_for)
        case s.PingPart():
            return Send({"type": "ping"})
        case s.AgainPart():
            return Again()
        case s.EventPart():
            return Send(dict(part.event))
        case s.RawPart():
            return SendRaw(part.raw)
        case s.ErrorPart():
            error = {"type": part.error, "message": part.message}
            return Send({"type": "error", "error": error})
        case s.CutPart():
            return Cut(clean=part.cut == "clean")
        case _:
            return Stall()


def _usage(step: s.Step, exchange: Exchange) -> Json:
    """Numbers a script does not give are estimates at four characters a token."""
    said = sum(len(part.text) for part in step.blocks if isinstance(part, s.TextPart))
    return {
        "input_tokens": exchange.size // 4,
        "output_tokens": max(1, said // 4),
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        **step.usage,
    }


def whole_message(choice: Choice, exchange: Exchange) -> Json:
    """The reply as one object, for a client that does not stream."""
    message: Json = {}
    blocks: list[Json] = []
    parts: dict[int, str] = {}
    for action in reply_actions(choice, exchange):
        event = action.event if isinstance(action, Send) else {}
        match event.get("type"):
            case "message_start":
                message = event["message"]
            case "content_block_start":
                blocks.append(dict(event["content_block"]))
            case "content_block_delta":
                delta = dict(event["delta"])
                kind = delta.pop("type")
                ((key, piece),) = delta.items()
                if kind == "input_json_delta":
                    parts[event["index"]] = parts.get(event["index"], "") + piece
                else:
                    blocks[-1][key] = blocks[-1].get(key, "") + piece
            case "message_delta":
                message |= {"stop_reason": event["delta"]["stop_reason"], "usage": event["usage"]}
    for index, text in parts.items():
        blocks[index]["input"] = json.loads(text or "{}")
    return {**message, "content": blocks}
