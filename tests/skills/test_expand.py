"""Arguments in a skill's text: documented forms only, one pass, code left alone (SPEC K5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_kernel.errors import SkillError
from agent_kernel.skills.expand import expand, refuse_shell, shell_part, split_args

NAMES = ("branch", "file", "file_name")


@pytest.mark.parametrize(
    ("body", "args", "wanted"),
    [
        ("do $ARGUMENTS", "a  'b'", "do a  'b'"),
        ("do it", "", "do it"),
        ("do it\n", "now", "do it\n\nARGUMENTS: now"),
        ("$0 and $1", '"hello world" second', "hello world and second"),
        ("$ARGUMENTS[0]/$ARGUMENTS[1]", "a b", "a/b"),
        ("$0 $5", "a", "a $5"),
        ("$5", "a", "$5\n\nARGUMENTS: a"),
        ("$ARGUMENTS[7] $0", "a", "$ARGUMENTS[7] a"),
        ("on $branch in ${file}", "main x.py", "on main in x.py"),
        ("on [$branch]", "", "on []"),
        ("$file_name $file", "b f n", "n f"),
        ("$branches $0x", "a", "$branches $0x\n\nARGUMENTS: a"),
        ("cost $1.20, $5,000; $0", "alpha bravo", "cost $1.20, $5,000; alpha"),
        ("`awk '{print $1}'` $0", "a b", "`awk '{print $1}'` a"),
        ("```\n$0 $ARGUMENTS $branch\n```", "a", "```\n$0 a a\n```"),
        ("~~~sh\n$0\n~~~\n$0", "a", "~~~sh\n$0\n~~~\na"),
        (r"\$0 \$ARGUMENTS \$branch $0", "a", "$0 $ARGUMENTS $branch a"),
        (r"\\$0", "a", r"\\a"),
        (r"\$HOME $HOME $0", "a", r"\$HOME $HOME a"),
        (r"\$ARGUMENTS", "a", "$ARGUMENTS\n\nARGUMENTS: a"),
        ("$ARGUMENTS", "$0 ${CLAUDE_SKILL_DIR} $ARGUMENTS", "$0 ${CLAUDE_SKILL_DIR} $ARGUMENTS"),
        ("$0 $1", "$1 x", "$1 x"),
        ("run ${CLAUDE_SKILL_DIR}/x", "", "run /skills/s/x"),
        (r"\${CLAUDE_SKILL_DIR}", "", r"\/skills/s"),
        ("${CLAUDE_OTHER} ${HOME}", "", "${CLAUDE_OTHER} ${HOME}"),
        ("$ARGUMENTS", r"it's C:\new\1 \g<0> $&", r"it's C:\new\1 \g<0> $&"),
    ],
)
def test_expansion(body: str, args: str, wanted: str) -> None:
    assert expand(body, args, names=NAMES, variables={"CLAUDE_SKILL_DIR": "/skills/s"}) == wanted


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ("", []),
        ("  a   b ", ["a", "b"]),
        ("it's fine", ["it's", "fine"]),
        (r"C:\Users\me 'a b' \"x", [r"C:\Users\me", "a b", r"\"x"]),
        ('"unclosed x', ['"unclosed', "x"]),
        ("'' \"\"", ["", ""]),
        ('a"b c"d', ['a"b', 'c"d']),
        ("'a'b", ["'a'b"]),
    ],
)
def test_words_of_the_arguments(args: str, words: list[str]) -> None:
    assert split_args(args) == words


@given(st.text(max_size=60))
def test_any_arguments_arrive_as_typed(args: str) -> None:
    assert expand("<$ARGUMENTS>", args) == f"<{args}>"
    split_args(args)


@given(st.text(st.sampled_from("$01ARGUMENTS[]{}\\` \n~x!"), max_size=60))
def test_without_arguments_a_text_without_placeholders_stays(body: str) -> None:
    if "ARGUMENTS" not in body and "\\$" not in body:
        assert expand(body, "") == body


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("!`id`", "!`id`"),
        ("now: !`git status` end", "!`git status`"),
        ("a\n  !`x`", "!`x`"),
        ("```!\nls\n```\n", "```!\nls\n```\n"),
        ("KEY=!`x`", None),
        ("escape ``!`, ` ``", None),
        ("`!`x`", None),
        ("```\n!`x`\n```", None),
        ("~~~\n!`x`\n~~~", None),
        ("wow! `x`", None),
        ("!``x``", None),
        ("nothing", None),
    ],
)
def test_where_a_command_stands(body: str, part: str | None) -> None:
    assert shell_part(body) == part


def test_a_text_that_wants_to_run_a_command_is_refused_whole() -> None:
    with pytest.raises(SkillError, match="nothing was run and the skill was not loaded"):
        refuse_shell("hello\n!`rm -rf /`", "bad")
    refuse_shell("KEY=!`x`", "good")
