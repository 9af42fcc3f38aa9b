"""Joins what is generated with what is there: what a person edited or removed wins.

`made` maps each id that was ever generated to a digest of what was generated. That is all that is
remembered:

| in the file | in `made` | |
| --- | --- | --- |
| as generated | yes | replaced by what is new, or retired if it is not generated again |
| with another digest | yes | a person edited it: it stays as it is |
| yes | no | a person added it: it stays as it is |
| no | yes | a person removed it: it is not made again |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, Generic, Protocol, TypeVar

from gatekeeper.contract.meaning.digests import digest

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
