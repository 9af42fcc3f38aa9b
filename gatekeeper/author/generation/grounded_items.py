"""Keeps the items of an answer that are grounded in lines that exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gatekeeper.author.generation.numbered_prompt import NumberedPrompt
from gatekeeper.contract.reading.data_blocks import clean
from gatekeeper.errors import MeasurementError

T = TypeVar("T")
MOST_ITEMS = 100
"""Rules, constraints or questions in one answer."""


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """What a stage found. `dropped` counts what it left out, because the lines that the model
    named do not exist."""

    items: tuple[T, ...]
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Draft:
    """An item of an answer: its text on one line, and the lines that it is grounded in."""

    text: str
    lines: tuple[int, ...]
    row: Mapping[str, Any]


def grounded_drafts(rows: Sequence[Mapping[str, Any]], prompt: NumberedPrompt) -> Found[Draft]:
    """Return the rows that have a text and lines that exist, each text once. Raises
    MeasurementError if a model wrote so many that it cannot mean them: each rule is more calls."""
    if len(rows) > MOST_ITEMS:
        raise MeasurementError(
            f"the model wrote {len(rows):,} items about {prompt.reference} in one answer, but "
            f"gatekeeper takes at most {MOST_ITEMS}; use a stronger model with --model, "
            "or repeat the command"
        )
    drafts: dict[str, Draft] = {}
    dropped = 0
    for row in rows:
        text, lines = one_line(row["text"]), prompt.grounded(row["lines"])
        if text and lines:
            drafts.setdefault(text.casefold(), Draft(text, lines, row))
        else:
            dropped += 1
    return Found(tuple(drafts.values()), dropped)


def one_line(text: str) -> str:
    """Return the text on one line, without characters that nobody sees."""
    return " ".join(clean(text).split())
