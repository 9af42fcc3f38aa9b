"""Reads what a prompt plainly demands of an answer: JSON, one of several labels, a length.

Only what is written in so many words becomes a check. What is missed here costs a check that a
person adds; what is read wrongly would fail good answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gatekeeper.author.onboarding.length_demands import find_length

_MOST_LABELS = 30
_JSON = re.compile(
    r"\b(?:answer|respond|reply|return|output|produce|provide|format|write)\w*\b[^.\n]{0,80}?"
    r"\b(?:JSON)\b|\bJSON (?:object|array|only)\b|\bvalid JSON\b",
    re.IGNORECASE,
)
_NO_JSON = re.compile(r"\b(?:not|no|without|never|instead of)\b[^.\n]{0,30}\bJSON\b", re.IGNORECASE)
_FIELDS = re.compile(
    r"\b(?:fields|keys|properties)\b\s*(?:are|named|called)?\s*:?\s+(?P<list>[^\n.;]{3,200})",
    re.IGNORECASE,
)
_WORD = r"[\"'`]?[A-Za-z][\w-]*[\"'`]?"
_JOIN = r"\s*(?:,\s*(?:or|and)\s+|,\s*|\s*/\s*|\s*\|\s*|\s+or\s+)"
_LIST = rf"{_WORD}(?:{_JOIN}{_WORD})+"
_LABELS = re.compile(
    r"\b(?:one of|either|(?:answer|respond|reply)(?: only)? with(?: only)?|labels?|categories"
    r"|classes|classify (?:it |this |the \w+ )?(?:as|into))\b[^:\n\"'`]{0,60}?:?\s+"
    rf"(?P<list>{_LIST})(?=\s*(?:[.;:)\n]|and nothing|only|$))",
    re.IGNORECASE,
)
_BULLETS = re.compile(
    r"\bone of (?:the following|these)[^:\n]{0,60}:\s*\n"
    r"(?P<list>(?:[ \t]*[-*][ \t]+[^\n]+\n?){2,})",
    re.IGNORECASE,
)
_BULLET = re.compile(rf"^[ \t]*[-*][ \t]+(?P<label>{_WORD})[ \t]*(?:$|[:(–-])", re.MULTILINE)
_TWO = re.compile(
    r"\b(?:answer|respond|reply)\b[^.\n]{0,30}?(?P<list>[\"'`]?(?:yes|true)[\"'`]?(?:\s+or\s+|\s*/\s*)"
    r"[\"'`]?(?:no|false)\b[\"'`]?)(?=\s*(?:[.;:)\n]|only|$))",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|never|avoid|without|instead of|don['\u2019]?t)\b[^.;:\n]{0,20}$", re.IGNORECASE
)
_FILLER = frozenset(
    {"a", "an", "the", "it", "this", "that", "your", "only", "word", "words", "json"}
)


@dataclass(frozen=True, slots=True)
class Demand:
    """A check, as its keys in a contract, and the words of the prompt that it comes from."""

    check: Mapping[str, Any]
    words: str


def find_demands(text: str) -> tuple[Demand, ...]:
    """Return the checks that the text of a prompt demands, each once."""
    found = [*_json(text)]
    if found:
        return tuple(found)  # labels and lengths are then those of a field
    return (*_labels(text), *_length(text))


def _json(text: str) -> Iterator[Demand]:
    demand = _JSON.search(text)
    if demand is None or _NO_JSON.search(text):
        return
    words = _shorten(demand.group())
    yield Demand({"type": "json_valid", "name": "is JSON"}, words)
    listed = _FIELDS.search(text)
    fields = _items(listed["list"]) if listed else []
    if len(fields) > 1:
        check = {"type": "json_required", "fields": fields, "name": "has every field"}
        yield Demand(check, _shorten(listed.group() if listed else words))


def _labels(text: str) -> Iterator[Demand]:
    bullets = _BULLETS.search(text)
    if bullets:
        labels = [match["label"].strip("\"'`") for match in _BULLET.finditer(bullets["list"])]
        if len(labels) == len(bullets["list"].strip().splitlines()):
            yield _label_check(labels, bullets.group())
            return
    listed = _LABELS.search(text) or _TWO.search(text)
    if listed is None or _NEGATED.search(text[: listed.start()]):
        return
    labels = _items(listed["list"])
    if 1 < len(labels) <= _MOST_LABELS and not _FILLER & {label.lower() for label in labels}:
        yield _label_check(labels, listed.group())


def _label_check(labels: list[str], words: str) -> Demand:
    values = list(dict.fromkeys(labels))
    check = {"type": "enum", "values": values, "ignore_case": True, "name": "is one of the labels"}
    return Demand(check, _shorten(words))


def _length(text: str) -> Iterator[Demand]:
    found = find_length(text)
    if found:
        yield Demand(found.check, _shorten(found.words))


def _items(written: str) -> list[str]:
    """Return the words of a list such as `a, "b" and c`; none if an item is more than a word."""
    parts = re.split(
        r"\s*,\s*(?:(?:or|and)\s+)?|\s+(?:or|and)\s+|\s*/\s*|\s*\|\s*", written.strip()
    )
    words = [part.strip().strip("\"'`() ") for part in parts]
    words = [word for word in words if word]
    return words if all(re.fullmatch(r"[A-Za-z][\w-]*", word) for word in words) else []


def _shorten(words: str) -> str:
    flat = " ".join(words.split())
    return flat if len(flat) <= 60 else f"{flat[:59]}…"
