"""Aligns two texts line by line, in a time that does not depend on who wrote them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_MOST_EQUAL = 50_000
"""Pairs of equal items at both sides; a text of 200 equal lines has 40,000."""
_MOST_STEPS = 10_000_000
"""Equal items times all items, which is what aligning can take: about a second."""


class EqualRange(NamedTuple):
    """Items that are the same at both sides: from `start` in the old ones and from `other` in the
    new ones, `length` of them."""

    start: int
    other: int
    length: int


class ChangedRange(NamedTuple):
    """Old items from `start` to before `end`, in the place of which there are the new items from
    `first` to before `last`."""

    start: int
    end: int
    first: int
    last: int


def equal_ranges(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[EqualRange]:
    """Return what is the same, in order: the beginning, the end, and what lies between. Of what
    lies between nothing, if aligning it would take minutes."""
    first, last = equal_ends(old, new)
    found = [EqualRange(0, 0, first)] if first else []
    between, now = old[first : len(old) - last], new[first : len(new) - last]
    if _is_quick(between, now):
        matcher = SequenceMatcher(None, between, now, autojunk=False)
        found += [
            EqualRange(first + start, first + other, length)
            for start, other, length in matcher.get_matching_blocks()
            if length
        ]
    return [*found, EqualRange(len(old) - last, len(new) - last, last)] if last else found


def changed_ranges(old: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[ChangedRange]:
    """Yield what differs, in order."""
    start = first = 0
    for equal in (*equal_ranges(old, new), EqualRange(len(old), len(new), 0)):
        if (start, first) != (equal.start, equal.other):
            yield ChangedRange(start, equal.start, first, equal.other)
        start, first = equal.start + equal.length, equal.other + equal.length


def is_quick_to_align(old: Sequence[Hashable], new: Sequence[Hashable]) -> bool:
    """Return whether difflib aligns the two in about a second, whatever they hold."""
    first, last = equal_ends(old, new)
    return _is_quick(old[first : len(old) - last], new[first : len(new) - last])


def _is_quick(old: Sequence[Hashable], new: Sequence[Hashable]) -> bool:
    often = Counter(new)
    equal = sum(often[item] for item in old)
    return equal <= _MOST_EQUAL and min(equal, len(old)) * (len(old) + len(new)) <= _MOST_STEPS


def equal_ends(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[int, int]:
    """Return how many items are the same at the start, and of the rest at the end."""
    most = min(len(old), len(new))
    first = next((n for n in range(most) if old[n] != new[n]), most)
    rest = most - first
    last = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    return first, last
