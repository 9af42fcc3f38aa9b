"""Hostile text stays text: rendered as GitHub would, and looked at token by token."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from support.hostile_texts import hostile

from gatekeeper.reports.escape import (
    block,
    clip,
    code,
    code_cell,
    html_code,
    log_text,
    plain,
    plain_line,
    prose,
    prose_with_code,
    visible,
    xml_text,
)

TEXT_ONLY = {"text", "code_inline", "softbreak", "text_special"}


def _inline(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens for child in token.children or []]


def _render(markdown: str) -> list[Token]:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown)


def _words(tokens: list[Token]) -> str:
    return "".join(token.content for token in _inline(tokens))


@given(hostile)
def test_prose_is_only_text(text: str) -> None:
    tokens = _render(f"x {prose(text)}")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert {token.type for token in _inline(tokens)} <= {"text", "text_special"}


@given(hostile)
def test_prose_reads_as_written(text: str) -> None:
    words = _words(_render(f"x {prose(text)}")).replace("\u200b", "")
    assert words.split() == ["x", *plain(text).split()]


@given(hostile)
def test_prose_with_code_is_only_text_and_code(text: str) -> None:
    tokens = _render(f"x {prose_with_code(text)}")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert {token.type for token in _inline(tokens)} <= {"text", "text_special", "code_inline"}


@given(hostile)
def test_prose_with_code_reads_as_written_but_for_backticks(text: str) -> None:
    words = _words(_render(f"x {prose_with_code(text)}")).replace("\u200b", "")
    written = f"x {plain(text)}"
    assert words.replace("`", "").split() == written.replace("`", "").split()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The check `right` was lowered", "The check `right` was lowered"),
        ("`a*b`: *c* `d", "`a*b`: \\*c\\* \\`d"),
        ("`a|b` stays", "\\`a&#124;b\\` stays"),
        ("``a`` and ` ` end", "\\`\\`a\\`\\` and ` ` end"),
        ("- `a`", "\\- `a`"),
    ],
)
def test_what_a_sentence_quotes_is_code(text: str, shown: str) -> None:
    assert prose_with_code(text) == shown


@given(hostile)
@pytest.mark.parametrize("write", [prose, prose_with_code])
def test_prose_starts_no_block(write: Callable[[str], str], text: str) -> None:
    tokens = _render(f"- {write(text)}")
    blocks = {token.type for token in tokens if token.type != "inline"}
    assert blocks <= {
        "bullet_list_open",
        "list_item_open",
        "paragraph_open",
        "paragraph_close",
        "list_item_close",
        "bullet_list_close",
    }


@given(hostile, hostile, hostile)
def test_a_table_keeps_its_columns(first: str, second: str, third: str) -> None:
    row = f"| {prose(first)} | {code_cell(second)} | {code_cell(third, 10)} |"
    tokens = _render(f"| a | b | c |\n| --- | --- | --- |\n{row}")
    types = [token.type for token in tokens]
    assert types.count("tr_open") == 2
    assert types.count("td_open") == 3
    # `*(empty)*` is the gate's own emphasis.
    assert {token.type for token in _inline(tokens)} <= TEXT_ONLY | {"em_open", "em_close"}


@given(hostile)
def test_a_code_span_holds_its_text(text: str) -> None:
    inline = _inline(_render(f"x {code(text)} y"))
    spans = [token for token in inline if token.type == "code_inline"]
    if not text:
        assert code(text) == "*(empty)*"
        return
    assert {token.type for token in inline} == {"text", "code_inline"}
    assert [span.content for span in spans] == [visible(text).replace("\n", "⏎").replace("\t", "⇥")]


@given(hostile)
def test_a_block_cannot_be_left(text: str) -> None:
    tokens = _render(f"before\n\n{block(text)}\n\nafter")
    fences = [token for token in tokens if token.type == "fence"]
    assert len(fences) == 1
    assert fences[0].content == visible(text) + "\n"
    assert tokens[-2].content == "after"


@given(hostile)
def test_a_summary_line_keeps_its_one_element(text: str) -> None:
    inside = html_code(text).removeprefix("<code>").removesuffix("</code>")
    assert not set(inside) & set("<>\n")


@given(hostile)
def test_nothing_carries_a_marker(text: str) -> None:
    for shown in (prose(text), code(text), code_cell(text), block(text), html_code(text)):
        assert "<!--" not in shown


@given(st.text())
def test_nothing_hides_or_reorders(text: str) -> None:
    for shown in (plain(text), plain_line(text), visible(text), xml_text(text), log_text(text)):
        hidden = [c for c in shown if unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs")]
        assert set(hidden) <= set("\n\t")


def test_every_format_character_is_covered() -> None:
    # These have a glyph of their own.
    seen = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    for point in range(0x110000):
        if unicodedata.category(chr(point)) == "Cf" and point not in seen:
            assert plain(f"a{chr(point)}b") == "ab", hex(point)
            assert visible(chr(point)) == f"⟨U+{point:04X}⟩"


@pytest.mark.parametrize("text", ["@admin", "#123", "gh-12", "https://a.b", "www.a.b", "a@b.c"])
def test_github_finds_no_reference(text: str) -> None:
    assert "\u200b" in _words(_render(prose(text)))


@given(hostile)
def test_the_log_runs_no_command(text: str) -> None:
    shown = log_text(text)
    assert "\r" not in shown
    for line in shown.split("\n"):
        assert not line.lstrip().startswith("::")
        assert "##[" not in line


def test_a_command_in_the_log_is_still_readable() -> None:
    assert log_text("  ::error::x") == "  : :error::x"
    assert log_text("see ##[group]x\rnext") == "see ## [group]x␍next"
    assert log_text("std::vector") == "std::vector"


def test_a_line_of_a_file_keeps_its_spaces_and_stays_one_line() -> None:
    assert plain_line("\t- a  b\u200b \r") == "    - a  b  "
    assert plain_line("a\nb\u2028c ##[x]") == "a b c ## [x]"


def test_evidence_shows_what_cannot_be_seen() -> None:
    assert visible("NN\u200b\r\n") == "NN⟨U+200B⟩␍\n"
    assert code("a\tb\nc") == "`a⇥b⏎c`"
    assert xml_text("\x00ok\ud800") == "⟨U+0000⟩ok⟨U+D800⟩"


def test_a_pipe_is_shown_without_a_code_span() -> None:
    assert code_cell("a|b") == "a&#124;b"
    assert code_cell("ab") == "`ab`"


def test_clip_says_that_it_cut() -> None:
    assert clip("abcdef", 4) == "abc…"
    assert clip("abc", 3) == "abc"
    assert clip("abc", None) == "abc"
    assert prose("a*bcdef", 3) == "a\\*…"
