"""Prints a document on a terminal or into a log. Every text is redacted and escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from gatekeeper.reports.document import (
    Block,
    Cell,
    Document,
    Paragraph,
    Picture,
    Quote,
    Strong,
    Table,
    Tone,
    Words,
    leaves,
)
from gatekeeper.reports.escape import clip, log_text, one_line, plain_line, visible
from gatekeeper.reports.redact import Redactor, environment_redactor

STYLES: Mapping[Tone, str] = {
    "plain": "",
    "quiet": "dim",
    "strong": "bold",
    "pass": "green",
    "fail": "bold red",
    "inconclusive": "yellow",
    "error": "magenta",
}
_LONGEST = 600


class Screen:
    """Prints parts of documents without the secrets that `redact` knows; by default those of the
    environment."""

    def __init__(self, console: Console, redact: Redactor | None = None) -> None:
        self.console = console
        self._redact = redact or environment_redactor()

    def show(self, document: Document, files: Iterable[Path] = ()) -> None:
        """Print the sections, the notes, the files, and the lead with the most important last."""
        for section in document.sections:
            if section.drawn:
                continue
            if len(document.sections) > 1:
                self.line(section.title, "strong")
            self.blocks(section.blocks)
        for words in (*document.notes, *map(str, files)):
            self.line(words, "quiet")
        for words in document.lead[:0:-1]:
            self.line(words)
        for words in document.lead[:1]:
            self.line(words, document.verdict)

    def blocks(self, blocks: Iterable[Block]) -> None:
        """Print blocks below each other."""
        for block in blocks:
            if isinstance(block, Paragraph):
                self.line(block.words, block.tone)
            else:
                self._table(block)

    def line(self, words: Words, tone: Tone = "plain") -> None:
        """Print one line."""
        self.console.print(self.text(words, STYLES[tone]))

    def text(self, words: Words, style: str = "") -> Text:
        """Return the words on one line, never read as markup or as a command to a workflow's
        runner, with invisible characters spelled out."""
        line = Text(style=style)
        for leaf in leaves(words):
            if isinstance(leaf, Strong):
                line.append(self.text(leaf.words, STYLES[leaf.tone]))
            else:
                line.append(self._leaf(leaf))
        # The parts together must be no command either.
        return line if log_text(line.plain) == line.plain else Text(log_text(line.plain), style)

    def _leaf(self, leaf: str | Quote | Picture) -> str:
        if isinstance(leaf, str):
            return one_line(self._redact.text(leaf))
        if isinstance(leaf, Picture):
            return one_line(self._redact.text(leaf.says))
        text = self._redact.text(leaf.text)
        if leaf.form == "line":
            return clip(plain_line(text), leaf.limit)
        return clip(" ".join(visible(text).split()), leaf.limit or _LONGEST)

    def _table(self, table: Table) -> None:
        if table.rows:
            self.console.print(self._laid_out(table))
        if table.rest:
            self.line(table.rest, "quiet")

    def _laid_out(self, table: Table) -> RichTable:
        made = RichTable(box=SIMPLE_HEAD if self.console.is_terminal else None, pad_edge=False)
        for column in table.titles:
            justify = "right" if column.right else "left"
            made.add_column(self.text(column.title), justify=justify, overflow="fold")  # type: ignore[arg-type]
        for row in table.shown:
            made.add_row(*map(self._cell, row.cells), style=STYLES[row.tone])
        return made

    def _cell(self, cell: Words | Cell) -> Text:
        if not isinstance(cell, Cell):
            return self.text(cell)
        shown = self.text(cell.words, STYLES[cell.tone])
        for words in cell.more:
            shown.append("\n" if self.console.is_terminal else " ").append(self.text(words, "dim"))
        return shown
