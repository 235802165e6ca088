"""Markdown of a model, made harmless for renderers that trust it (CASES 125, 142, 143).

A saved notebook is rendered by programs we do not choose; nbconvert passes raw HTML and any link
scheme through. Guessing what each of them takes for code would be a race, so the rule is simple:

    what is emitted never holds ``<`` before a letter, ``/``, ``!`` or ``?`` (our own tags aside),
    no image, and no link target that does not begin with http:, https: or mailto:.

It holds wherever the text ends up: outside of code ``<`` becomes an entity; code that would break
the rule is written as ``<code>`` with every mark as an entity, which all of them show alike.
"""

from __future__ import annotations

import re

from agent_kernel.view.characters import calm, visible

_MARKS = re.compile(r"[^\w\s,.;/()'\"%+=@?-]|_", re.ASCII)
_FENCE = re.compile(r"^( {0,3}|[ \t]+)(`{3,}|~{3,})[ \t]*([^`\n]*)$")
_HTML_LIKE = re.compile(r"<[A-Za-z/!?]")
_ACTIVE = re.compile(r"<[A-Za-z/!?]|\]\s*[(:]|!\[|\$\$|\\\\[\[\]()]|\\(?:begin|end)\{|://|xmpp:")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,24}$")
# Fences whose text some renderer runs or fetches instead of showing it.
_DRAWN = ("mermaid", "geojson", "topojson", "stl", "math")
_TAG = re.compile(r"(\\*)<(?=[A-Za-z/!?])")
_DRAWN_FENCE = re.compile(r"[`~]{3,}[ \t]*(?:&|(?=" + "|".join(_DRAWN) + "))", re.IGNORECASE)
_TICKS = re.compile(r"\\.|`+", re.DOTALL)
_LINK = re.compile(r"\](\s*)([(:])")
_SAFE_TARGET = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_POINTY = re.compile(r"\s*<((?:https?://|mailto:)[^\s<>()]*)>", re.IGNORECASE)
_AUTOLINK = re.compile(r"<((?:https?://|mailto:)?[^\s<>@]+@?[^\s<>]*)>")
_SCHEME = re.compile(r"\b(?!https?://)([A-Za-z][A-Za-z0-9+.-]*)://|\bxmpp:", re.IGNORECASE)
_MATH = re.compile(
    r"(?<!\\)\$\$[^$]*?(?<!\\)\$\$|\\begin\{(?P<env>[a-z]+\*?)\}.*?\\end\{(?P=env)\}", re.DOTALL
)
# In a formula ``&lt;`` would be read as letters; a space after the mark changes nothing there.
_INLINE_MATH = re.compile(r"(?<![\\$])\$\$[^$]*\$\$|(?<![\\$])\$(?=\S)[^$\n]+?(?<=\S)\$(?!\d)")
_LOOSE_MATH = re.compile(r"\$\$|\\\\[\[\]()]|\\(?=(?:begin|end)\{)")


def _entities(text: str) -> str:
    return "".join(f"&#{ord(c)};" for c in text)


def plain(text: str) -> str:
    """Plain text as Markdown *or* HTML that shows exactly it: every mark becomes an entity."""
    return _MARKS.sub(lambda m: m[0] if ord(m[0]) > 127 else _entities(m[0]), visible(text))


def code_block(code: str, language: str = "") -> str:
    """A block of code whose text cannot leave it."""
    code = calm(code)
    if _HTML_LIKE.search(code):
        # Entities for line ends too: inside ``pre`` a blank line would end some HTML blocks.
        body = _MARKS.sub(lambda m: m[0] if ord(m[0]) > 127 else _entities(m[0]), code)
        body = re.sub(r"\n(?=\s*\n)", "&#10;", body) if "\n\n" in body else body
        return f"<pre><code>{body}\n</code></pre>"
    longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    if not _LANGUAGE.match(language) or language.lower().startswith(_DRAWN):
        language = ""
    return f"{fence}{language}\n{code}\n{fence}"


def sanitise(text: str) -> str:
    """The model's Markdown with the same look and nothing that acts.

    Raw HTML is shown as text, images become links, other schemes are no links, code fences are
    always closed.
    """
    out: list[str] = []
    prose: list[str] = []
    lines = calm(text).split("\n")
    at = 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        if opening is None or (opening[2][0] == "`" and "`" in opening[3]):
            prose.append(lines[at])
            at += 1
            continue
        closing = re.compile(rf"^[ \t]*{re.escape(opening[2][0])}{{{len(opening[2])},}}[ \t]*$")
        end = next((n for n in range(at + 1, len(lines)) if closing.match(lines[n])), len(lines))
        code = "\n".join(_dedented(line, len(opening[1])) for line in lines[at + 1 : end])
        if prose:
            out.append(_prose("\n".join(prose)))
            prose = []
        words = opening[3].split()
        # A block inside a list is moved out to the margin: there all renderers agree on it.
        out.append("\n" + code_block(code, words[0] if words else "") + "\n")
        at = end + 1
    if prose:
        out.append(_prose("\n".join(prose)))
    return "\n".join(out).strip("\n")


def _dedented(line: str, width: int) -> str:
    blank = len(line) - len(line.lstrip(" \t"))
    return line[min(blank, width) :]


def _prose(text: str) -> str:
    """Text between fenced blocks: code spans apart, so that they show what was written."""
    parts: list[str] = []
    start = at = 0
    while (mark := _TICKS.search(text, at)) is not None:
        at = mark.end()
        if mark[0][0] == "\\":
            continue
        close = re.compile(rf"(?<!`){mark[0]}(?!`)").search(text, at)
        if close is None or "\n\n" in text[at : close.start()]:
            continue
        parts.append(_inline(text[start : mark.start()]))
        parts.append(_code_span(text[at : close.start()], text[mark.start() : close.end()]))
        at = start = close.end()
    parts.append(_inline(text[start:]))
    # An image mark split from its bracket by the cuts above would come together again here.
    return re.sub(r"!+(?=\[)", "", "".join(parts))


def _code_span(content: str, source: str) -> str:
    if not _ACTIVE.search(content):
        return source
    if len(content) > 2 and content[0] == content[-1] == " ":
        content = content[1:-1]
    body = content.replace("\n", " ")
    body = re.sub(r"[^\w\s]|_", lambda m: _entities(m[0]), body, flags=re.ASCII)
    return f"<code>{body}</code>"


def _inline(text: str) -> str:
    text = _LINK.sub(lambda m: _link(m, text), text)
    text = _AUTOLINK.sub(_autolink, text)
    text = _INLINE_MATH.sub(lambda m: _HTML_LIKE.sub(lambda t: f"< {t[0][1:]}", m[0]), text)
    # A backslash that escaped the mark would now escape the entity, and show.
    text = _TAG.sub(lambda m: m[1][: len(m[1]) - len(m[1]) % 2] + "&lt;", text)
    text = _SCHEME.sub(lambda m: m[0].replace(":", "&#58;"), text)
    text = _DRAWN_FENCE.sub(lambda m: m[0] + ("amp;" if m[0][-1] == "&" else "text "), text)
    return _balanced_math(text)


def _link(found: re.Match[str], text: str) -> str:
    rest = text[found.end() :]
    pointy = _POINTY.match(rest)
    if pointy is not None or _SAFE_TARGET.match(rest.lstrip()):
        return found[0]
    return f"]{found[1]}{_entities(found[2])}"


def _autolink(found: re.Match[str]) -> str:
    inner = found[1]
    if _SAFE_TARGET.match(inner) or re.fullmatch(r"[\w.+-]+@[\w-]+(\.[\w-]+)+", inner):
        return inner
    return found[0]


def _balanced_math(text: str) -> str:
    """Math marks without a partner are shown as text: one must not swallow what comes after."""
    out: list[str] = []
    at = 0
    for math in _MATH.finditer(text):
        out.append(_LOOSE_MATH.sub(lambda m: _entities(m[0]), text[at : math.start()]))
        out.append(math[0])
        at = math.end()
    out.append(_LOOSE_MATH.sub(lambda m: _entities(m[0]), text[at:]))
    return "".join(out)
