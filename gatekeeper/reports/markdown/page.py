"""A page of limited size: parts that are added first are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

_GAP = "\n\n"
_LEAST = 200


def table_row(cells: Iterable[str]) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def alert(kind: str, paragraphs: Sequence[str]) -> str:
    """Return paragraphs of one line each in a box of GitHub; elsewhere it is a quotation."""
    return "\n".join([f"> [!{kind}]", "\n>\n".join(f"> {text}" for text in paragraphs)])


def byte_length(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


class Page:
    """Collects blocks of Markdown up to a limit and remembers whether any was left out.

    A block goes in whole or not at all, so that no fence, table or fold is ever left open.
    """

    def __init__(self, limit: int, size: Callable[[str], int] = len) -> None:
        self._size = size
        self._left = limit
        self._parts: list[str] = []
        self.cut = False

    @property
    def full(self) -> bool:
        """Whether nothing worth preparing would fit any more."""
        return self._left < _LEAST

    def add(self, text: str) -> bool:
        """Add the block if it fits, and return whether it did."""
        cost = self._size(text) + len(_GAP)
        if cost > self._left:
            self.cut = True
            return False
        self._left -= cost
        self._parts.append(text)
        return True

    def add_within(self, text: str, share: float) -> bool:
        """Add the block if it takes no more than a share of what is left."""
        if self._size(text) > self._left * share:
            self.cut = True
            return False
        return self.add(text)

    def add_rows(
        self,
        opening: str,
        rows: Sequence[str],
        *,
        total: int | None = None,
        closing: str = "",
        more: Callable[[int], str] = lambda left: f"…and {left:,} more",
        joint: str = "\n",
        share: float = 1.0,
    ) -> bool:
        """Add as many rows as fit into a share of the rest, and the number of the others.

        `total` is the number of all rows if `rows` are only the first ones.
        """
        wanted = len(rows) if total is None else total
        room = int(self._left * share) - self._size(opening + closing + more(wanted)) - 8
        kept = self._fitting(rows, joint, room)
        if not kept:
            self.cut = True
            return False
        left_out = wanted - len(kept)
        if left_out:
            self.cut = True
            kept.append(more(left_out))
        return self.add(opening + joint.join(kept) + closing)

    def add_fold(
        self, summary_html: str, rows: Sequence[str], *, note: str = "", **more: Any
    ) -> bool:
        """Add rows in a folded part, under a note; the summary must be escaped HTML."""
        opening = f"<details><summary>{summary_html}</summary>{_GAP}{note}"
        return self.add_rows(opening, rows, closing=f"{_GAP}</details>", **more)

    def text(self, ending: str = "") -> str:
        """Return the page; the caller must have kept room for the ending."""
        return _GAP.join([*self._parts, *([ending] if ending else [])])

    def _fitting(self, rows: Iterable[str], joint: str, room: int) -> list[str]:
        kept: list[str] = []
        for row in rows:
            room -= self._size(row) + len(joint)
            if room < 0:
                break
            kept.append(row)
        return kept
