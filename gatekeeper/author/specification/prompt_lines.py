"""Remembers from which lines of a prompt a specification was made, and finds them in later texts.

`made.prompt` holds a short digest of each line, with the line's number if it does not follow the
one before, and `-` for a line without text. So no other copy of the prompt is needed, and what
people edit in the specification does not matter.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from gatekeeper.author.aligned_texts import equal_ranges

_DIGITS = 12
"""A person who writes a prompt cannot find a line with the same digest in minutes."""
_BLANK = "-"
_ENTRY = re.compile(rf"(?:([1-9][0-9]{{0,8}}):)?([0-9a-f]{{{_DIGITS}}}|{_BLANK})")


@dataclass(frozen=True, slots=True)
class LineChanges:
    """How the lines of a prompt changed. `now_at` maps each earlier line that is still there to its
    line now. `changed` are the lines now that are new or reworded, and `gone` the earlier lines
    that are not there as they were. Lines without text are in neither."""

    now_at: Mapping[int, int] = field(default_factory=dict)
    changed: tuple[int, ...] = ()
    gone: frozenset[int] = frozenset()


def line_digests(lines: Iterable[tuple[int, str]], includes: Mapping[str, str]) -> str:
    """Return what to remember of a prompt.

    Args:
        lines: The lines with their numbers.
        includes: The files that the prompt includes. A line that names one changes with them.
    """
    included = "".join(f"\0{name}\0{text}" for name, text in sorted(includes.items()))
    names = {name.rpartition("/")[2] for name in includes}
    found, expected = [], 1
    for number, line in lines:
        text = line.rstrip()
        if any(name in text for name in names):
            text += included
        known = sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
        entry = known if text else _BLANK
        found.append(entry if number == expected else f"{number}:{entry}")
        expected = number + 1
    return " ".join(found)


def compare_lines(before: str, now: str) -> LineChanges | None:
    """Return how the lines changed between two results of `line_digests`; None if `before` is not
    one."""
    known = _read(before)
    present = _read(now)
    if known is None or present is None:
        return None
    pairs = match_lines([row[1] for row in known], [row[1] for row in present])
    matched = set(pairs.values())
    return LineChanges(
        {known[old][0]: present[new][0] for old, new in pairs.items()},
        tuple(
            number
            for place, (number, entry) in enumerate(present)
            if place not in matched and entry != _BLANK
        ),
        frozenset(
            number
            for place, (number, entry) in enumerate(known)
            if place not in pairs and entry != _BLANK
        ),
    )


def _read(text: str) -> list[tuple[int, str]] | None:
    rows, number = [], 0
    for entry in text.split():
        found = _ENTRY.fullmatch(entry)
        if found is None:
            return None
        number = int(found[1]) if found[1] else number + 1
        rows.append((number, found[2]))
    return rows or None


def match_lines(before: Sequence[str], now: Sequence[str]) -> dict[int, int]:
    """Return the place in `now` of each line of `before` that is there, also if it moved. Places
    count from 0, and no two lines have the same."""
    found = {
        start + n: other + n
        for start, other, length in equal_ranges(before, now)
        for n in range(length)
    }
    taken = set(found.values())
    free: dict[str, deque[int]] = defaultdict(deque)
    for place, line in enumerate(now):
        if place not in taken:
            free[line].append(place)
    for place, line in enumerate(before):
        if place not in found and free[line]:
            found[place] = free[line].popleft()
    return found
