"""A skill's text with its arguments in place: one pass, inserted text is never looked at again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agent_kernel.errors import SkillError
from agent_kernel.skills.markdown import CodePart, code_parts


def expand(
    body: str, args: str, *, names: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> str:
    """Put ``args`` into ``body`` (SPEC K5).

    ``$ARGUMENTS`` is the text as typed; ``$0`` and ``$ARGUMENTS[0]`` its words, left as they are
    where there is no such word; ``$name`` the declared names, empty where there is no word.
    ``variables`` are written ``${NAME}`` and cannot be escaped. ``$0`` in code is left alone, as
    are amounts of money. Arguments nothing asked for are added at the end.
    """
    words = split_args(args)
    declared = {name: words[i] if i < len(words) else "" for i, name in enumerate(names)}
    pattern = _pattern(declared)
    parts = code_parts(body)
    used = False

    def substitute(match: re.Match[str]) -> str:
        nonlocal used
        slashes = match.group("slashes")
        if (variable := match.group("variable")) is not None:
            known = (variables or {}).get(variable)
            return match.group(0) if known is None else slashes + known
        if match.group("number") is not None and (
            _in_code(match.start("dollar"), parts) or _is_money(body, match)
        ):
            return match.group(0)
        if len(slashes) % 2 == 1:
            return slashes[:-1] + match.group("dollar")
        value = _value(match, args, words, declared)
        if value is None:
            return match.group(0)
        used = True
        return slashes + value

    text = pattern.sub(substitute, body)
    if args.strip() and not used:
        text = f"{text.rstrip()}\n\nARGUMENTS: {args}"
    return text


def shell_part(body: str) -> str | None:
    """The first inline shell part of the text, or None.

    ``!`` and a command in back-ticks, at the start of a line or after white space, outside other
    code; or a fence opened with ``!`` as its language.
    """
    for part in code_parts(body):
        if part.kind == "fence":
            if part.info.startswith("!"):
                return body[part.start : part.end]
            continue
        before = body[part.start - 1 : part.start]
        single = body[part.start : part.start + 2] != "``"
        if before == "!" and single and (part.start == 1 or body[part.start - 2].isspace()):
            return body[part.start - 1 : part.end]
    return None


def split_args(args: str) -> list[str]:
    """Words, shell-like but tolerant: a quote counts only around a whole word.

    ``it's`` is one word, back-slashes stay, and an unclosed quote is an ordinary character.
    """
    words: list[str] = []
    position = 0
    while position < len(args):
        if args[position].isspace():
            position += 1
            continue
        quoted = _QUOTED.match(args, position)
        if quoted:
            words.append(quoted.group(1) if quoted.group(1) is not None else quoted.group(2))
            position = quoted.end()
            continue
        end = position
        while end < len(args) and not args[end].isspace():
            end += 1
        words.append(args[position:end])
        position = end
    return words


def refuse_shell(body: str, name: str) -> None:
    """Raises ``SkillError`` if the text wants a command to be run before the model sees it."""
    found = shell_part(body)
    if found is not None:
        shown = found.strip().replace("\n", " ")[:80]
        raise SkillError(
            f"The skill {name} wants to run a shell command ({shown}) while it loads. That is not "
            "supported here, so nothing was run and the skill was not loaded."
        )


_QUOTED = re.compile(r'"([^"]*)"(?=\s|$)|\'([^\']*)\'(?=\s|$)')


def _pattern(declared: Mapping[str, str]) -> re.Pattern[str]:
    # Longest first, so that `$file` does not take the beginning of `$file_name`.
    names = sorted(declared, key=len, reverse=True)
    named = "|".join(re.escape(name) for name in names) or r"(?!)"
    return re.compile(
        r"(?P<slashes>\\*)(?P<dollar>\$(?:"
        r"\{(?P<variable>CLAUDE_[A-Z_]+)\}"
        r"|ARGUMENTS\[(?P<index>\d{1,4})\]"
        r"|(?P<all>ARGUMENTS)(?![\w\[])"
        rf"|\{{(?P<braced>{named})\}}"
        rf"|(?P<name>{named})(?!\w)"
        r"|(?P<number>\d{1,4})(?!\w)"
        r"))"
    )


def _value(
    match: re.Match[str], args: str, words: Sequence[str], declared: Mapping[str, str]
) -> str | None:
    if match.group("all") is not None:
        return args
    number = match.group("index") or match.group("number")
    if number is not None:
        return words[int(number)] if int(number) < len(words) else None
    return declared[match.group("braced") or match.group("name")]


def _in_code(position: int, parts: Sequence[CodePart]) -> bool:
    return any(part.start <= position < part.end for part in parts)


def _is_money(body: str, match: re.Match[str]) -> bool:
    """``$1.20`` and ``$5,000`` are amounts."""
    return re.match(r"[.,]\d", body[match.end() : match.end() + 2]) is not None
