"""Finds the items of a specification that changed lines of the prompt leave as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from gatekeeper.author.specification.merge import content_digest
from gatekeeper.author.specification.prompt_lines import LineChanges
from gatekeeper.author.specification.records import InputConstraint, OpenQuestion, Rule

T = TypeVar("T", InputConstraint, Rule, OpenQuestion)


@dataclass(frozen=True, slots=True)
class Carried(Generic[T]):
    """The items with the numbers that their lines have now, in order, and their part of `made`.

    `affected` are the ids of generated items that follow from a line that is gone. `own` are the
    ids of all items that a person edited or added, and `own_affected` of those that follow from
    such a line: they stay.
    """

    items: tuple[T, ...]
    made: Mapping[str, str]
    affected: tuple[str, ...]
    own: frozenset[str]
    own_affected: tuple[str, ...]


def carry_over(items: Sequence[T], made: Mapping[str, str], changes: LineChanges) -> Carried[T]:
    """Return the items as they are after the change of the prompt's lines.

    Args:
        items: The items of one kind in the specification.
        made: The digests of generated items of this kind, by id.
        changes: How the lines changed.
    """
    found: list[T] = []
    then = dict(made)
    affected, own, own_affected = [], set(), []
    for item in items:
        is_own = made.get(item.id) != content_digest(item)
        is_affected = not changes.gone.isdisjoint(item.lines)
        moved: T = replace(item, lines=_moved(item.lines, changes))
        found.append(moved)
        if is_own:
            own.add(item.id)
            own_affected += [item.id] if is_affected else []
            continue
        then[item.id] = content_digest(moved)
        affected += [item.id] if is_affected else []
    return Carried(tuple(found), then, tuple(affected), frozenset(own), tuple(own_affected))


def _moved(lines: Sequence[int], changes: LineChanges) -> tuple[int, ...]:
    """Return the numbers now of the lines that are still there."""
    there = (changes.now_at.get(line, line) for line in lines if line not in changes.gone)
    return tuple(dict.fromkeys(there))
