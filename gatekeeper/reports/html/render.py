"""Renders a document as HTML. Every text is redacted and escaped here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from markupsafe import Markup

from gatekeeper import __version__
from gatekeeper.reports.document import (
    Block,
    Cell,
    Document,
    Paragraph,
    Picture,
    Quote,
    Row,
    Section,
    Strong,
    Table,
    Words,
    leaves,
    plain_words,
)
from gatekeeper.reports.escape import SPAN, clip, one_line, plain, visible
from gatekeeper.reports.html import markup
from gatekeeper.reports.html.page import page
from gatekeeper.reports.redact import Redactor, environment_redactor

STEPS = 9
"""How many shades a heat map has."""


def render_page(document: Document, redact: Redactor | None = None) -> str:
    """Render one self-contained file, which loads nothing from the network and runs no script."""
    html = Html(redact)
    title = html.plain(document.title)
    first, *others = map(html.words, document.lead)
    header = (
        f'<header class="verdict {document.verdict}"><h1>{escape(title)}</h1>'
        f'<p class="lead">{first}</p>{"".join(f"<p>{words}</p>" for words in others)}</header>'
    )
    notes = [*map(html.words, document.notes), f"gatekeeper {escape(__version__)}"]
    body = [header, *map(html.section, document.sections)]
    body += [f'<p class="quiet">{note}</p>' for note in notes]
    return page(f"{title} · gatekeeper", f"<main>{''.join(body)}</main>")


class Html:
    """Renders parts of documents without the secrets that `redact` knows; by default those of the
    environment."""

    def __init__(self, redact: Redactor | None = None) -> None:
        self._redact = redact or environment_redactor()

    def section(self, section: Section) -> Markup:
        """Render a section with its title."""
        name = section.id or re.sub(r"[^a-z]+", "-", self.plain(section.title).lower()).strip("-")
        return Markup(  # noqa: S704
            f'<section><h2 id="{escape(name)}">{self.words(section.title)}</h2>'
            f"{self.blocks(section.blocks)}</section>"
        )

    def blocks(self, blocks: Sequence[Block]) -> Markup:
        """Render blocks below each other."""
        return Markup("").join(map(self._block, blocks))

    def plain(self, words: Words) -> str:
        """Return the words without markup, redacted and not escaped, for a title."""
        return plain(self._redact.text(plain_words(words)))

    def words(self, words: Words) -> Markup:
        """Render words within a line."""
        return Markup("").join(map(self._leaf, leaves(words)))

    def table(self, table: Table) -> Markup:
        """Render a table that can be scrolled on its own."""
        sorts = " data-sort" if table.sortable else ""
        head = "".join(
            f'<th scope="col"{sorts}{_right(column.right)}>{self.words(column.title)}</th>'
            for column in table.titles
        )
        body = "".join(self._row(row, table) for row in table.shown)
        label = escape(plain(self._redact.text(table.label)))
        caption = f"<caption>{label}</caption>" if table.kind == "heat" else ""
        rest = f'<p class="quiet">{self.words(table.rest)}</p>' if table.rest else ""
        return Markup(  # noqa: S704
            f'<div class="{"words " if table.kind == "words" else ""}scroll" tabindex="0" '
            f'role="region" aria-label="{label}"><table class="{table.kind}"'
            f"{' data-sortable' if table.sortable else ''}>{caption}"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{rest}"
        )

    def _leaf(self, leaf: str | Quote | Strong | Picture) -> Markup:
        if isinstance(leaf, Strong):
            inner = self.words(leaf.words)
            if leaf.tone == "strong":
                return Markup("<b>{}</b>").format(inner)
            return Markup('<span class="{}">{}</span>').format(leaf.tone, inner)
        if isinstance(leaf, Picture):
            return Markup(leaf.html)  # noqa: S704
        if isinstance(leaf, str):
            return markup.with_icons(_spans(one_line(self._redact.text(leaf))))
        text = self._redact.text(leaf.text)
        if leaf.form == "sentence":
            return Markup(_spans(clip(plain(text), leaf.limit)))  # noqa: S704
        if leaf.form == "prose":
            return Markup(escape(clip(plain(text), leaf.limit)))  # noqa: S704
        return Markup("<code>{}</code>").format(clip(visible(text), leaf.limit) or "(empty)")

    def _block(self, block: Block) -> Markup:
        if isinstance(block, Paragraph):
            kind = "" if block.tone == "plain" else f' class="{block.tone}"'
            return Markup(f"<p{kind}>{self.words(block.words)}</p>")  # noqa: S704
        return self.table(block)

    def _row(self, row: Row, table: Table) -> str:
        first, *others = (c if isinstance(c, Cell) else Cell(c) for c in row.cells)
        cells = [f'<th scope="row"{self._key(first, table)}>{self._inside(first)}</th>']
        for cell, column in zip(others, table.titles[1:], strict=True):
            place = _heat(cell) if table.kind == "heat" else _right(column.right)
            cells.append(f"<td{place}{self._key(cell, table)}>{self._inside(cell)}</td>")
        tone = "" if row.tone == "plain" else f' class="{row.tone}"'
        return f"<tr{tone}>{''.join(cells)}</tr>"

    def _key(self, cell: Cell, table: Table) -> str:
        """Return what the cell is sorted by; empty if its value is not known, which sorts last."""
        key = "" if cell.key is None else plain(self._redact.text(str(cell.key)))
        return f' data-key="{escape(key)}"' if table.sortable else ""

    def _inside(self, cell: Cell) -> Markup:
        shown = self.words(cell.words)
        if cell.link:
            shown = Markup('<a href="{}">{}</a>').format(cell.link, shown)
        if cell.badge:
            icon = markup.icon(cell.badge)
            shown = Markup('<span class="badge {}">{} {}</span>').format(cell.badge, icon, shown)
        return shown + Markup("").join(
            Markup("<small>{}</small>").format(self.words(words)) for words in cell.more
        )


def _spans(text: str) -> Markup:
    """Escape the text, with what it quotes in backticks as code."""
    parts = [
        f"<code>{escape(part)}</code>" if at % 2 else escape(part)
        for at, part in enumerate(SPAN.split(text))
    ]
    return Markup("".join(parts))  # noqa: S704


def _right(right: bool) -> str:
    return ' class="right"' if right else ""


def _heat(cell: Cell) -> str:
    """Return the class of a cell of a heat map."""
    level = "none" if cell.level is None else f"h{round(min(1, max(0, cell.level)) * STEPS)}"
    return f' class="{level}{" marked" if cell.marked else ""}"'
