"""The model's Markdown must not act, in whatever program shows the saved notebook."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from agent_kernel.view.safe_markdown import code_block, plain, sanitise

# What Markdown itself makes, and nothing else.
TAGS = {
    *("p", "em", "strong", "code", "pre", "a", "ul", "ol", "li", "blockquote", "br", "hr", "del"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "dl", "dt"),
    *("dd", "input", "s", "div", "span"),
}
ATTRIBUTES = {"href", "title", "class", "id", "style", "type", "disabled", "checked", "start"}
HTTP = re.compile(r"(https?://|mailto:|#)", re.IGNORECASE)


class Inspector(HTMLParser):
    """Collects everything in a page that is not text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.faults.append(f"<{tag}>")
        for name, value in attrs:
            if name not in ATTRIBUTES:
                self.faults.append(f"{name}={value}")
            if name == "href" and not HTTP.match(value or ""):
                self.faults.append(f"href={value}")
            if name == "style" and not re.fullmatch(r"text-align: ?\w+;?", value or ""):
                self.faults.append(f"style={value}")
            if name == "class" and re.search(r"(?:^|\s)(?:language-)?mermaid", value or ""):
                self.faults.append("mermaid")

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self.faults.append(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self.faults.append(f"<?{data}>")

    def handle_data(self, data: str) -> None:
        self.text += data


def faults(markdown: str) -> list[str]:
    pages = [
        markdown2html_mistune(markdown),
        MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(markdown),
        MarkdownIt("commonmark").render(markdown),
    ]
    return [fault for page in pages for fault in Inspector(page).faults]


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    '<button data-commandlinker-command="x">go</button>',
    "<video onmouseover=alert(1)>",
    "<!-- hidden -->",
    "<?php x ?>",
    "<![CDATA[<b>]]>",
    "<details open ontoggle=alert(1)>",
    "\\<img src=x>",
    "\\\\<img src=x>",
    "[a](javascript:alert(1))",
    "[a](  \n javascript:alert(1))",
    "[a](<javascript:alert(1)>)",
    "[a](java&#115;cript:alert(1))",
    "[a](JaVaScRiPt&colon;alert(1))",
    "[a](data:text/html,<b>)",
    "[a](//evil.example/x)",
    "[a][r]\n\n[r]: javascript:alert(1)",
    "[a][r]\n\n> [r]:\n> javascript:alert(1)",
    "<javascript:alert(1)>",
    "![x](https://evil.example/leak.png)",
    "![x][r]\n\n[r]: https://evil.example/leak.png",
    "!![x](https://evil.example/leak.png)",
    "![x](attachment:secret.png)",
    "`![x`](https://evil.example/a)",
    "\\`[a](javascript:alert(1))\\`",
    "``` `` <img src=x onerror=1> ```",
    "`a\n\n<img src=x>`",
    "    <img src=x onerror=1>",
    "- a\n\n      <img src=x onerror=1>",
    "```\n<img src=x onerror=1>",
    "~~~html\n<img src=x onerror=1>\n~~~",
    "````\n```\n<img src=x>\n```\n````\n<img src=x>",
    "```mermaid\ngraph TD; a[<img src=x onerror=1>]\n```",
    "> ```&#109;ermaid\n> a[<img src=x onerror=1>]\n> ```",
    "> ```mermaid\n> a[<img src=x onerror=1>]\n> ```",
    "$$\n\n```\n<img src=x onerror=1>\n```\n\n$$",
    "\\\\[\n\n```\n<img src=x onerror=1> \\\\\\]\n```",
    "\\begin{a}\n```\n<img src=x>\n\\end{a}\n```",
    "`$$` x\n\n```\n<img src=x>\n$$\n```",
    "# <img src=x onerror=1>",
    "| a |\n|---|\n| <img src=x> |",
    "<a href='x\n\n'>",
    "<\nimg src=x>",
    "<div\n\nonclick=x>",
    '[<img src=x>](https://a.example "<img src=x>")',
    '[a](https://a.example" onmouseover="alert(1))',
    "https://a.example/<img/src=x>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_hostile_text_becomes_a_tag_an_image_or_a_foreign_link(text: str) -> None:
    safe = sanitise(text)
    assert faults(safe) == []
    assert faults(f"before $$ `\n\n{safe}\n\nafter $$ `") == []


PIECES = [
    *("<", ">", "!", "[", "]", "(", ")", ":", "`", "``", "```", "~~~", "$", "$$", "\\", "\\\\"),
    *(
        "\n",
        "\n\n",
        "    ",
        "- ",
        "> ",
        "# ",
        "|",
        "&lt;",
        "&#60;",
        "*",
        "_",
        "img src=x onerror=1",
    ),
    *("a", "javascript:alert(1)", "http://a.example", "\\begin{x}", "\\end{x}", "\\\\[", "\\\\]"),
    *(
        "<img src=x>",
        "</code>",
        "</pre>",
        "<script>",
        "mermaid",
        "[r]: ",
        "--",
        "\t",
        "data:x",
        "?",
    ),
    *("/", '"', "'", "html", " ", "\u202e", "\x00", "é"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join))
@example("[a](\n```\nhttp://a.example)")
def test_any_mixture_of_marks_stays_text(text: str) -> None:
    assert faults(sanitise(text)) == []


@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join))
def test_a_code_block_shows_its_text_and_nothing_escapes_from_it(code: str) -> None:
    block = code_block(code, "python")
    assert faults(f"a\n\n{block}\n\nb") == []
    page = MarkdownIt("commonmark").render(f"{block}\n\nEND")
    assert page.endswith("<p>END</p>\n")


@given(st.text(alphabet=st.sampled_from("".join(PIECES)), max_size=40))
def test_plain_text_shows_as_it_is(text: str) -> None:
    line = plain(" ".join(text.split()))
    assert faults(line) == []
    shown = Inspector(MarkdownIt("commonmark").render(f"x {line} y")).text
    assert shown.split() == f"x {plain_words(text)} y".split()


def plain_words(text: str) -> str:
    return text.replace("\u202e", "⟨U+202E⟩").replace("\x00", "⟨U+0000⟩")


@pytest.mark.parametrize(
    "text",
    [
        "Prices are **skewed**; the median is *12.4*.",
        "1. one\n2. two\n   - three",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "Use `df.dropna()` or [the docs](https://pandas.pydata.org).",
        "```python\nprint('hi')\n```",
        "a < b and 3 > 2, $x < 4$",
        "## Title\n\n> quoted",
    ],
)
def test_harmless_markdown_keeps_its_look(text: str) -> None:
    assert markdown2html_mistune(sanitise(text)) == markdown2html_mistune(text)


def test_an_image_becomes_a_link_and_other_targets_become_text() -> None:
    assert sanitise("![plot](https://a.example/p.png)") == "[plot](https://a.example/p.png)"
    assert "<a" not in markdown2html_mistune(sanitise("[x](file:///etc/passwd)"))


def test_code_with_tags_is_shown_as_written() -> None:
    page = Inspector(
        markdown2html_mistune(sanitise("See `List<int>` and\n\n```\n<b>\n\n</b>\n```"))
    )
    assert "List<int>" in page.text
    assert "<b>\n\n</b>" in page.text


def test_bidi_overrides_are_drawn_as_boxes() -> None:
    assert sanitise("a\u202eb") == "a⟨U+202E⟩b"
