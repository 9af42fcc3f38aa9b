"""Gives the items of a specification short, readable ids that stay the same over runs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, Generic, Protocol, TypeVar

from gatekeeper.contract.meaning.digests import digest
from gatekeeper.contract.values.unique_name import take_name

_MOST_WORDS = 6
_MOST_CHARACTERS = 48
_ALIKE = 85.0
"""The percentage of characters from which two texts, or two ids, are the same item in other words.
"""
_WORD = re.compile(r"[a-z0-9]+")
_LIST_MARK = re.compile(
    r"^\s*(?:(?:rule|step|item|point|no)\b\.?\s*)?[(#]*(?:\d{1,3}|[a-z])[.):]+\s+"
)
"""What stands before an item of a numbered list: `3.`, `(3)`, `b)`, `Rule 3:`."""
# fmt: off
_COMMON = frozenset({
    "a", "an", "and", "any", "are", "as", "at", "be", "by", "for", "from", "in", "input", "into",
    "is", "it", "its", "of", "on", "or", "output", "outputs", "response", "answer", "shall",
    "should", "must", "that", "the", "their", "them", "this", "to", "was", "which", "will",
    "with",
})
# fmt: on
RESERVED = frozenset({"baseline", "contract", "intent", "prompt"})
"""Ids that mean something else in `made` and in fixture ids."""


def slug(text: str) -> str:
    """Return the words of a text that say what it is about, with hyphens between them. The number
    of an item of a list is not among them."""
    plain = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    words = _WORD.findall(_LIST_MARK.sub("", plain))
    telling = [word for word in words if word not in _COMMON] or words
    found = "-".join(telling[:_MOST_WORDS])[:_MOST_CHARACTERS].strip("-")
    return found or "item"


def assign_ids(
    texts: Sequence[str],
    prefix: str = "",
    known: Iterable[tuple[str, str]] = (),
    removed: Iterable[str] = (),
    others: Iterable[str] = (),
) -> list[str]:
    """Return an id for each text: unique, and the one that an equal or similar text had before.

    Args:
        texts: What is new.
        prefix: What every id begins with.
        known: The items that are there, each with its id and its text.
        removed: The ids of items that a person removed. A similar text gets that id again.
        others: The ids of other kinds of items, which no text may get.
    """
    from rapidfuzz.fuzz import ratio

    free = dict(known)
    gone = set(removed)
    taken = {*free, *gone, *RESERVED, *others}
    wanted = [prefix + slug(text) for text in texts]
    ids: list[str | None] = []
    # Those with the very same id first, so that a similar text does not take it.
    for name in wanted:
        same = name in free or name in gone
        ids.append(name if same else None)
        free.pop(name, None)
        gone.discard(name)
    for number, (name, text) in enumerate(zip(wanted, texts, strict=True)):
        found = ids[number]
        if found is None:
            by_text = {old: ratio(text.casefold(), free[old].casefold()) for old in free}
            by_name = {old: ratio(name, old) for old in (*free, *sorted(gone))}
            found = _best(by_text) or _best(by_name) or take_name(name, taken)
            free.pop(found, None)
            gone.discard(found)
            ids[number] = found
    return [name for name in ids if name is not None]


def _best(scores: dict[str, float]) -> str | None:
    best = max(scores, key=lambda name: scores[name], default=None)
    return best if best is not None and scores[best] >= _ALIKE else None


_DIGITS = 12
"""Of a digest in `made`: enough to notice an edit."""


class Identified(Protocol):
    """Anything with an id."""

    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=Identified)


@dataclass(frozen=True, slots=True)
class Merged(Generic[T]):
    """The items from now on, and what `made` says of them. The others are ids: `kept` are a
    person's, edited or added; `removed` were generated again and left out, because a person removed
    them; `retired` are not generated any more; `added` are new."""

    items: tuple[T, ...]
    made: Mapping[str, str]
    kept: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    added: tuple[str, ...] = field(default=())


def content_digest(value: Any) -> str:
    """Return the short digest by which an edit is noticed."""
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    return digest(plain)[:_DIGITS]


def merge_items(
    made: Mapping[str, str],
    present: Sequence[T],
    generated: Sequence[T],
    digest_of: Callable[[T], str] = content_digest,
) -> Merged[T]:
    """Return what is in force.

    Args:
        made: The digests of what was generated before, by id, of this kind of item alone.
        present: What the file holds now; none for a first run.
        generated: What is new. Of two with one id, the first counts.
        digest_of: The digest of an item.
    """
    here = {item.id: item for item in present}
    own = {name: item for name, item in here.items() if made.get(name) != digest_of(item)}
    tombstones = {name: known for name, known in made.items() if name not in here}
    items: dict[str, T] = {}
    then = {**tombstones, **{name: made[name] for name in own if name in made}}
    removed: dict[str, None] = {}
    for item in generated:
        if item.id in items:
            continue
        if item.id in tombstones:
            removed[item.id] = None
        elif item.id in own:
            items[item.id] = own[item.id]
        else:
            items[item.id] = item
            then[item.id] = digest_of(item)
    items.update({name: item for name, item in own.items() if name not in items})
    return Merged(
        tuple(items.values()),
        then,
        kept=tuple(own),
        removed=tuple(removed),
        retired=tuple(name for name in here if name not in items),
        added=tuple(name for name in items if name not in here),
    )


def merge_text(made: str | None, present: str, generated: str) -> tuple[str, str]:
    """Return the text in force and its digest in `made`: a person's text stays."""
    if present and made is not None and content_digest(present) != made:
        return present, made
    if present and made is None:
        return present, content_digest(generated)
    return generated, content_digest(generated)


def said_of(what: str, ids: Sequence[str]) -> list[str]:
    """Return a sentence about the items with these ids; none without ids."""
    return [f"{', '.join(ids)}: {what}"] if ids else []
