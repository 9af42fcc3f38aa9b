"""A report before it is rendered: what it says, block by block, for every kind of reader.

A result is described once, as a `Document`. The renderers (`markdown/render.py`, `html/render.py`,
`terminal/render.py`) take secrets out of each text and escape it, so nothing here is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from gatekeeper.numbers import NONE
from gatekeeper.reports.escape import clip

Tone = Literal["plain", "quiet", "strong", "pass", "fail", "inconclusive", "error"]
"""How a line stands out. The last four are verdicts, which have a colour."""


@dataclass(frozen=True, slots=True)
class Quote:
    """At most `limit` characters of a text that the program did not write.

    `code` is for names and outputs, `prose` for sentences, `line` for a line of a file, which keeps
    its indentation, `sentence` for a sentence of the program with quotes in backticks.
    """

    text: str
    limit: int | None = None
    form: Literal["prose", "code", "line", "sentence"] = "prose"


@dataclass(frozen=True, slots=True)
class Strong:
    """Words that the eye should fall on, or that have another tone than their line."""

    words: Words
    tone: Tone = "strong"


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing in safe HTML, which other reports replace by what it `says`."""

    html: Any
    says: str = ""


Words: TypeAlias = "str | Quote | Strong | Picture | tuple[Words, ...]"
"""A line of text. A `str` holds words and numbers of the program; what it quotes in backticks is
shown as code. It is escaped like a quote."""


def code(text: str, limit: int | None = None) -> Quote:
    """Quote a name, a path or an output."""
    return Quote(text, limit, "code")


def sentence(text: str) -> Quote:
    """Quote a sentence of the program that may hold texts of others."""
    return Quote(text, None, "sentence")


def joined(parts: Sequence[Words], separator: str = ", ", last: str | None = None) -> Words:
    """Join the parts; `last` separates the last two."""
    found: list[Words] = []
    for at, part in enumerate(parts):
        if at:
            found.append(last if last is not None and at == len(parts) - 1 else separator)
        found.append(part)
    return tuple(found)


def listed(names: Sequence[Words], most: int) -> Words:
    """Name the first of them, and count the others: `a, b and 2 more`."""
    if len(names) > most:
        return (joined(names[:most]), f" and {len(names) - most:,} more")
    return joined(names, last=" and ")


def leaves(words: Words) -> Iterator[str | Quote | Strong | Picture]:
    """Yield the parts of a line that are not made of parts."""
    if isinstance(words, tuple):
        for part in words:
            yield from leaves(part)
    elif words != "":
        yield words


def plain_words(words: Words) -> str:
    """Return the words without markup, not escaped."""
    parts = []
    for leaf in leaves(words):
        if isinstance(leaf, Strong):
            parts.append(plain_words(leaf.words))
        elif isinstance(leaf, Quote):
            parts.append(clip(leaf.text, leaf.limit))
        else:
            parts.append(leaf if isinstance(leaf, str) else leaf.says)
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table that is more than words.

    `more` are small lines below, `level` in [0, 1] says how dark it is on a heat map, `key` is what
    the column is sorted by, `link` an address in the same site, `badge` a verdict.
    """

    words: Words
    more: tuple[Words, ...] = ()
    tone: Tone = "plain"
    level: float | None = None
    marked: bool = False
    key: float | str | None = None
    link: str = ""
    badge: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A title, and whether the column is aligned to the right."""

    title: Words
    right: bool = False


def columns(*left: str, right: Sequence[str] = (), last: Sequence[str] = ()) -> list[Column]:
    """Return columns of words, then columns of numbers, which are aligned to the right, then the
    `last` columns of words."""
    found = [Column(title) for title in left]
    found += [Column(title, right=True) for title in right]
    return [*found, *(Column(title) for title in last)]


@dataclass(frozen=True, slots=True)
class Row:
    """Cells of one tone."""

    cells: Sequence[Words | Cell]
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Table:
    """A table. No row is shown beyond `most`, and `left_out` says how many these are.

    `label` names it for who cannot see it. `kind` says how HTML draws it.
    """

    columns: Sequence[Column | str]
    rows: Sequence[Row | Sequence[Words | Cell]]
    label: str = ""
    most: int | None = None
    left_out: Callable[[int], str] = "…and {:,} more".format
    kind: Literal["words", "heat", "lines", "figures"] = "words"
    sortable: bool = False

    @property
    def titles(self) -> list[Column]:
        """Return the columns."""
        return [Column(c) if isinstance(c, str) else c for c in self.columns]

    @property
    def shown(self) -> list[Row]:
        """Return the rows that are not left out."""
        return [row if isinstance(row, Row) else Row(row) for row in self.rows[: self.most]]

    @property
    def rest(self) -> str:
        """Return what is said of the rows that are left out; empty if there are none."""
        left = len(self.rows) - len(self.shown)
        return self.left_out(left) if left else ""


def heat_map(
    caption: str,
    cells: Mapping[tuple[str, str], Cell],
) -> Table:
    """Return a table with a cell for each `(row, column)`, in the order in which they come.

    The colour of a cell only repeats what it says in digits, and goes from pale to dark in one hue,
    so that nobody needs to tell hues apart.
    """
    rows, across = (dict.fromkeys(key[at] for key in cells) for at in (0, 1))
    empty = Cell(NONE)
    shown: list[list[Words | Cell]] = [
        [Quote(row, 60), *(cells.get((row, name), empty) for name in across)] for row in rows
    ]
    return Table(
        ["", *(Column(Quote(name, 60)) for name in across)],
        shown,
        caption,
        kind="heat",
    )


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, or a line of a terminal."""

    words: Words
    tone: Tone = "plain"


Block: TypeAlias = "Paragraph | Table"


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a title. A `drawn` section needs colours, so only HTML shows it."""

    title: Words
    blocks: Sequence[Block]
    id: str = ""
    drawn: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report: what it found (`lead`, the most important first), the evidence, and notes.

    A terminal prints the lead last, because people read its last lines first.
    """

    title: Words
    verdict: Literal["pass", "fail", "inconclusive", "error"]
    lead: Sequence[Words]
    sections: Sequence[Section]
    notes: Sequence[Words] = ()
