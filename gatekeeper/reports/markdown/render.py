"""Renders a document as Markdown. Every text is redacted and escaped here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gatekeeper.reports import escape
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
)
from gatekeeper.reports.markdown.page import table_row
from gatekeeper.reports.redact import Redactor, environment_redactor

_PROSE = {"prose": escape.prose, "sentence": escape.prose_with_code}
_CODE = {"code": (escape.code, escape.code_cell), "line": (escape.code, escape.code_cell)}


def render_markdown(document: Document, redact: Redactor | None = None) -> str:
    """Render the document; a drawn section is left out."""
    return Markdown(redact).document(document)


class Markdown:
    """Renders parts of documents without the secrets that `redact` knows; by default those of the
    environment."""

    def __init__(self, redact: Redactor | None = None) -> None:
        self._redact = redact or environment_redactor()

    def document(self, document: Document) -> str:
        """Render a heading, the lead, the sections and the notes."""
        parts = [f"## {self.line(document.title)}", *map(self.line, document.lead)]
        for section in document.sections:
            parts += self._section(section)
        parts += map(self.line, document.notes)
        return "\n\n".join(parts) + "\n"

    def blocks(self, blocks: Sequence[Block]) -> str:
        """Render blocks below each other."""
        return "\n\n".join(map(self._block, blocks))

    def line(self, words: Words) -> str:
        """Render words at the beginning of a line."""
        return escape.line_start(self.words(words))

    def words(self, words: Words, *, cell: bool = False) -> str:
        """Render words within a line; `cell` says that it is a table's."""
        text = ""
        for leaf in leaves(words):
            text = escape.join(text, self._leaf(leaf, cell=cell))
        return text

    def _leaf(self, leaf: str | Quote | Strong | Picture, *, cell: bool) -> str:
        if isinstance(leaf, Strong):
            inner = self.words(leaf.words, cell=cell)
            return f"**{inner}**" if inner.strip() and leaf.tone == "strong" else inner
        if isinstance(leaf, Picture):
            return escape.prose(self._redact.text(leaf.says))
        if isinstance(leaf, str):
            return escape.own_words(self._redact.text(leaf))
        text = self._redact.text(leaf.text)
        if leaf.form in _PROSE:
            return _PROSE[leaf.form](text, leaf.limit)
        return _CODE[leaf.form][cell](text, leaf.limit)

    def _section(self, section: Section) -> Iterator[str]:
        if not section.drawn:
            yield f"### {self.line(section.title)}"
            yield from map(self._block, section.blocks)

    def _block(self, block: Block) -> str:
        if isinstance(block, Paragraph):
            text = self.line(block.words)
            return f"**{text}**" if block.tone == "strong" else text
        return self._table(block)

    def _table(self, table: Table) -> str:
        columns = table.titles
        lines = [
            table_row([self.words(column.title, cell=True) for column in columns]),
            table_row(["---:" if column.right else "---" for column in columns]),
            *map(self._row, table.shown),
        ]
        rest = table.rest
        return "\n".join([*lines, *(["", self.line(rest)] if rest else [])])

    def _row(self, row: Row) -> str:
        return table_row(map(self._cell, row.cells))

    def _cell(self, cell: Words | Cell) -> str:
        if not isinstance(cell, Cell):
            return self.words(cell, cell=True)
        return "<br>".join(self.words(words, cell=True) for words in (cell.words, *cell.more))
