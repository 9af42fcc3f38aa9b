"""When two texts mean the same: by the cosine of their embeddings. Pure values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SimilarTexts:
    """The embedding `model`, and the lowest cosine, from 0 to 1, of two texts that mean the
    same."""

    model: str
    min: float


def read_similar(written: Any) -> SimilarTexts | None:
    """Return the `similar` of a mapping that conforms to the schema; None if it has none."""
    found = written.get("similar") if isinstance(written, Mapping) else None
    return SimilarTexts(found["model"], found["min"]) if found else None


def similar_weakening(before: SimilarTexts | None, now: SimilarTexts | None) -> str | None:
    """Return how more texts may count as the same than before; None if no more do."""
    if now is None or now == before:
        return None
    if before is None:
        return "`similar` added"
    if now.model != before.model:
        return f"similar.model changed from {before.model} to {now.model}"
    return f"similar.min lowered from {before.min} to {now.min}" if now.min < before.min else None
