"""Reads a provider's token counts and the model that answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_LONGEST_NAME = 100
_MOST_TOKENS = 1_000_000_000


class UnreadableAnswer(Exception):
    """An answer without a valid form, or an error that came with status 200."""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one call, by how they are billed.

    `prompt` includes `cached` and `cache_writes`; `cache_writes_1h` are those of the writes that
    are kept for an hour. `completion` includes `reasoning`; None if the provider does not count it.
    `tier` is the service tier that answered, `surcharges` what makes every token dearer: a region,
    a speed. `other` says that some tokens are of a kind that has a price of its own: audio, images;
    `says_cached` that the provider counts what it read from its cache; `batched` that they are
    billed as those of a batch.
    """

    prompt: int
    completion: int
    cached: int = 0
    cache_writes: int = 0
    cache_writes_1h: int = 0
    reasoning: int | None = None
    tier: str | None = None
    surcharges: tuple[str, ...] = ()
    other: bool = False
    says_cached: bool = False
    batched: bool = False

    @property
    def is_sound(self) -> bool:
        """Return whether the counts can all be true: the cached part of the prompt is not longer
        than the prompt."""
        return self.cached + self.cache_writes <= self.prompt


def token_count(said: object) -> int | None:
    """Return the provider's token count; None if the value cannot be a number of tokens."""
    if isinstance(said, bool) or not isinstance(said, int) or not 0 <= said <= _MOST_TOKENS:
        return None
    return said


def count_in(document: Any, *path: str) -> int:
    """Return the count at a path in a document; 0 if there is none."""
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return token_count(document) or 0


def fingerprint_of(*names: object) -> str | None:
    """Return the model that answered and its build, as far as the provider names them, because an
    alias such as `gpt-4o-mini` may mean another model tomorrow.
    https://platform.openai.com/docs/api-reference/chat/object"""
    named = [text[:_LONGEST_NAME] for text in names if isinstance(text, str) and text.isprintable()]
    return " ".join(filter(None, named)) or None
