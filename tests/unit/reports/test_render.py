"""Every text of a document is redacted and escaped by each renderer, wherever it stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from html import unescape
from html.parser import HTMLParser
from io import StringIO
from itertools import count, pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markupsafe import Markup
from rich.console import Console
from support.hostile_texts import NASTY, hostile

from gatekeeper.reports.document import (
    Cell,
    Column,
    Document,
    Paragraph,
    Picture,
    Quote,
    Row,
    Section,
    Strong,
    Table,
    Words,
    code,
    heat_map,
    joined,
    plain_words,
    sentence,
)
from gatekeeper.reports.html.render import render_page
from gatekeeper.reports.markdown.render import Markdown, render_markdown
from gatekeeper.reports.redact import Redactor
from gatekeeper.reports.terminal.render import Screen

SECRET = "sk-0123456789abcdef0123"
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "section", "div", "p"),
    *("h1", "h2", "h3", "table", "caption", "thead", "tbody", "tr", "th", "td"),
    *("code", "b", "strong", "small", "br", "svg", "use"),
}


def every_leaf(write: Callable[[], str]) -> Document:
    """A document with a text at every place that can hold one, each made by `write`."""

    def words() -> Words:
        forms = ("prose", "code", "line", "sentence")
        quotes = tuple(Quote(write(), form=form) for form in forms)
        return (write(), " ", joined(quotes, " "), Strong((write(), code(write()))))

    def cell() -> Cell:
        return Cell(words(), (words(),), level=0.5, key=write())

    def table(**kind: object) -> Table:
        rows = [Row([words(), cell()], "fail"), [words(), words()], [write(), write()]]
        columns = [Column(words()), write()]
        return Table(columns, rows, write(), 2, lambda _: write(), **kind)  # type: ignore[arg-type]

    blocks = [
        Paragraph(words(), "quiet"),
        Paragraph((Picture(Markup("<svg></svg>"), write()),)),
        table(),
        table(kind="figures", sortable=True),
        heat_map(write(), {(write(), write()): cell()}),
    ]
    sections = [Section(words(), blocks), Section(words(), blocks, drawn=True)]
    return Document(words(), "fail", [words(), words(), write()], sections, [words()])


def on_screen(document: Document, redact: Redactor | None = None) -> str:
    stream = StringIO()
    console = Console(file=stream, width=10_000, highlight=False)
    Screen(console, redact).show(document, [])
    return stream.getvalue()


class Found(HTMLParser):
    """The tags and attributes of a page, and whether it has a link or an active attribute."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.active: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.active += [n for n, v in attributes if n.startswith("on") or (n == "href" and v)]


@given(hostile)
def test_markdown_of_hostile_texts_has_no_markup_of_theirs(text: str) -> None:
    rendered = render_markdown(every_leaf(lambda: text))
    assert "<!--" not in rendered
    html = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    found = Found(html.render(rendered))
    assert found.tags <= {*TAGS, "em", "strong"}
    assert found.active == []


FORMS = ("prose", "code", "line", "sentence")
WRITERS = (*(partial(Quote, form=form) for form in FORMS), str, partial(Strong, tone="quiet"))
LINKED = re.compile(r"@\w|#\d|\bgh-\d|://|\bwww\.", re.IGNORECASE)
"""What GitHub links in the finished text."""


def linked_and_tags(words: Words) -> tuple[list[str], set[str]]:
    html = MarkdownIt("commonmark", {"html": True}).enable("strikethrough")
    shown = html.render(f"x {Markdown().words(words)}")
    outside = re.sub(r"<code>.*?</code>", " ", shown, flags=re.DOTALL)
    return LINKED.findall(unescape(re.sub("<[^>]*>", "", outside))), Found(shown).tags


@given(
    hostile,
    st.lists(st.integers(0, 60), max_size=3).map(sorted),
    st.lists(st.sampled_from(WRITERS), min_size=4, max_size=4),
)
def test_neighbours_that_are_harmless_alone_are_no_markup_together(
    text: str, cuts: list[int], writers: list[Callable[[str], Words]]
) -> None:
    parts = [text[a:b] for a, b in pairwise([0, *cuts, None])]
    words = tuple(write(part) for write, part in zip(writers, parts, strict=False))
    linked, tags = linked_and_tags(words)
    assert linked == []
    assert tags <= {"p", "code", "em"}


@pytest.mark.parametrize(
    "text",
    [
        *("<img src=x>", "</details>", "<!-- x -->", "<https://evil.example>", "&#64;admin"),
        *("@admin", "a@b.example", "org/repo#12", "GH-7", "https://evil.example"),
        *("www.evil.example", "[1, 2](http://evil.example)", "[1, 2]: /evil", "`a`b`", "a``b"),
    ],
)
def test_a_text_that_is_cut_in_two_is_no_markup_wherever_the_cut_is(text: str) -> None:
    for at, first, second in product(range(1, len(text)), WRITERS, WRITERS):
        linked, tags = linked_and_tags((first(text[:at]), second(text[at:])))
        assert (linked, tags - {"p", "code"}) == ([], set()), at


def test_a_code_that_follows_another_stays_code() -> None:
    tag = code("`<img src=x>`")
    assert linked_and_tags((code("a"), tag, tag)) == ([], {"p", "code"})


@given(hostile)
def test_a_row_of_hostile_texts_has_as_many_cells_as_its_table_has_columns(text: str) -> None:
    rows = Table(["a", "b"], [[text, code(text)], [Quote(text), sentence(text)]])
    html = MarkdownIt("commonmark").enable("table").render(Markdown().blocks([rows]))
    assert [row.count("<td>") for row in html.split("<tr>")[2:]] == [2, 2]


@given(hostile)
def test_html_of_hostile_texts_has_no_markup_of_theirs(text: str) -> None:
    page = render_page(every_leaf(lambda: text))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e]", page.partition("<body>")[2])
    found = Found(page)
    assert found.tags <= TAGS
    assert [name for name in found.active if name != "href"] == []


@given(hostile)
def test_a_terminal_gets_no_control_character_and_no_command(text: str) -> None:
    shown = on_screen(every_leaf(lambda: text))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]", shown)
    assert "##[" not in shown
    assert not re.search(r"^\s*::", shown, re.MULTILINE)


@pytest.mark.parametrize("text", [f"![x](https://evil.example/{SECRET})", f"a {SECRET}", SECRET])
def test_no_report_shows_a_secret_at_any_place(text: str) -> None:
    redact = Redactor([SECRET])
    document = every_leaf(lambda: text)
    for shown in (
        render_markdown(document, redact),
        render_page(document, redact),
        on_screen(document, redact),
    ):
        assert SECRET not in unescape(shown).replace("\\", "")
        assert "***" in unescape(shown).replace("\\", "")


def test_a_secret_is_hidden_before_a_quote_is_cut() -> None:
    cut = code(f"key {SECRET}", 12)
    rendered = Markdown(Redactor([SECRET])).words(cut)
    assert rendered == "`key ***`"


def test_every_text_is_shown_in_each_report() -> None:
    """Guards the tests above: a place that a renderer left out would be safe for nothing."""
    numbers = count()
    document = every_leaf(lambda: f"leaf{next(numbers)}x")
    section, drawn = document.sections
    shown_of = {
        "markdown": render_markdown(document),
        "page": render_page(document),
        "screen": on_screen(document),
    }
    texts = set(re.findall(r"leaf\d+x", repr(document)))
    beyond = set(re.findall(r"leaf\d+x", repr([t.rows[2] for t in section.blocks[2:4]])))  # type: ignore[union-attr]
    title_of_drawn = set(re.findall(r"leaf\d+x", repr(drawn.title)))
    says = set(re.findall(r"says='(leaf\d+x)'", repr(document)))
    keys = set(re.findall(r"key='(leaf\d+x)'", repr(document)))
    labels = set(re.findall(r"label='(leaf\d+x)'", repr(document)))
    title = set(re.findall(r"leaf\d+x", plain_words(document.title)))
    left_out = {
        "markdown": beyond | title_of_drawn | keys | labels,
        "page": beyond | says | keys,
        "screen": beyond | title_of_drawn | keys | labels | title,
    }
    heat = set(re.findall(r"leaf\d+x", plain_words(section.title)))
    for report, shown in shown_of.items():
        missing = texts - left_out[report] - set(re.findall(r"leaf\d+x", shown)) - heat
        assert missing == set(), report


@pytest.mark.parametrize(
    ("words", "markdown"),
    [
        ("p < 0.05 [−29.1,\u00a0−8.2] in `a*b`", "p < 0.05 [−29.1,\u00a0−8.2] in `a*b`"),
        (("[1, 2]", "(http://evil.example)"), "[1, 2]\u200b(http:\u200b//evil.example)"),
        (("[x]", Quote("(y)")), "\\[x\\](y)"),
        ("a | b", "a &#124; b"),
        ((" ", code("x|y"), " : "), " `x|y` : "),
        (Strong(("no ", code("a"))), "**no `a`**"),
        (Quote("1. one"), "1\\. one"),
    ],
)
def test_markdown_keeps_what_the_program_says_and_escapes_the_rest(
    words: Words, markdown: str
) -> None:
    assert Markdown().words(words) == markdown


@pytest.mark.parametrize("text", ["- list", "1. one", "# no", "> no", "+ no", "=== no"])
def test_own_words_begin_no_list_or_heading(text: str) -> None:
    shown = Markdown().blocks([Paragraph(text)])
    assert MarkdownIt().render(shown).startswith("<p>")


def test_a_terminal_prints_the_lead_last_and_leaves_out_drawings() -> None:
    document = Document(
        "title",
        "pass",
        ["found", "to do"],
        [
            Section("drawn", [Paragraph("colours")], drawn=True),
            Section("evidence", [Paragraph("one")]),
        ],
        ["note"],
    )
    assert on_screen(document).splitlines() == ["evidence", "one", "note", "to do", "found"]


@pytest.mark.parametrize("text", NASTY)
def test_a_name_of_a_terminal_is_never_markup_of_rich(text: str) -> None:
    assert "[red]x[/red]" in on_screen(every_leaf(lambda: f"[red]x[/red]{text}"))
