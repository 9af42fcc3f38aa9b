"""Fixtures whose inputs are nearly the same, in groups: they may pass or fail together. Pure.

Each text is described by a few of its pieces, and two texts are compared only if they share such a
piece, so that tens of thousands of fixtures take seconds: Broder, A. Z. (1997), On the resemblance
and containment of documents. A copy with changes everywhere may be missed; only a hint is lost.
"""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from zlib import crc32

from gatekeeper.contract.clusters import count_as_one, members_of
from gatekeeper.contract.definition import Fixture
from gatekeeper.contract.digests import canonical

FEWEST_CHARACTERS = 30
"""The fewest characters of an input that is compared. Shorter inputs are similar by chance,
and one word can change their meaning."""
ALIKE = 90
"""The percentage of characters that two inputs must share, in the same order, to count as
nearly the same."""

_MOST_CHARACTERS = 1_000
_KEYS = 4
_MOST_LEADERS = 4
_MOST_SHOWN = 3
_WORD = re.compile(r"\w+")


def near_duplicates(
    fixtures: Sequence[Fixture], counts_with: Mapping[str, str]
) -> list[tuple[str, ...]]:
    """Return the groups of nearly equal inputs that do not count as one yet, the largest first.

    `counts_with` maps a fixture to the one that stands for its unit.
    """
    texts = {fixture.id: _text(fixture) for fixture in fixtures}
    long_enough = {name: text for name, text in texts.items() if len(text) >= FEWEST_CHARACTERS}
    links = dict(_links(long_enough))
    if not links:
        return []
    # A link is to an earlier fixture: following them ends at the first of each group.
    clusters: dict[str, str] = {}
    for name in texts:
        if name in links:
            first = clusters.setdefault(links[name], links[name])
            clusters[name] = first
    units = count_as_one(counts_with, clusters)
    groups = members_of(units, list(texts)).values()
    found = [group for group in groups if len({counts_with.get(f, f) for f in group}) > 1]
    return sorted(map(tuple, found), key=len, reverse=True)


def near_duplicate_warning(
    fixtures: Sequence[Fixture], counts_with: Mapping[str, str]
) -> str | None:
    """Name the groups and propose a cluster for each; None if there is no group."""
    groups = near_duplicates(fixtures, counts_with)
    if not groups:
        return None
    named = {fixture.id: fixture.cluster for fixture in fixtures}
    shown = "; ".join(_proposal(group, named) for group in groups[:_MOST_SHOWN])
    more = f"; and {len(groups) - _MOST_SHOWN:,} more groups" if len(groups) > _MOST_SHOWN else ""
    count = sum(map(len, groups))
    return (
        f"{count:,} fixtures have nearly the same inputs as other fixtures, so "
        f"these fixtures may pass or fail together: {shown}{more}; write the "
        "same `cluster` in all fixtures of a group"
    )


def _proposal(group: Sequence[str], named: Mapping[str, str | None]) -> str:
    names = ", ".join(f"`{name}`" for name in group[:_MOST_SHOWN])
    more = f" and {len(group) - _MOST_SHOWN:,} more" if len(group) > _MOST_SHOWN else ""
    cluster = next((named[name] for name in group if named[name]), group[0])
    return f"{names}{more} (proposed cluster: `{cluster}`)"


def _text(fixture: Fixture) -> str:
    """Return the fixture's values in the order of their names, without differences of case and
    spaces."""
    values = (value for _, value in sorted(fixture.vars.items()))
    text = " ".join(v if isinstance(v, str) else canonical(v) for v in values)
    return " ".join(text[: 2 * _MOST_CHARACTERS].casefold().split())[:_MOST_CHARACTERS]


def _links(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each text that is nearly the same as an earlier one, with that one."""
    leaders: dict[int, list[str]] = defaultdict(list)
    for name, text in texts.items():
        keys = _keys(text)
        tried = dict.fromkeys(other for key in keys for other in leaders[key])
        found = next((other for other in tried if _are_alike(text, texts[other])), None)
        if found is not None:
            yield name, found
            continue
        for key in keys:
            # Of many unlike texts that share a piece, such as a form letter, the first are enough.
            if len(leaders[key]) < _MOST_LEADERS:
                leaders[key].append(name)


def _are_alike(text: str, other: str) -> bool:
    # Loading it takes a tenth of the time of a small `validate`, and few inputs are compared.
    from rapidfuzz.fuzz import ratio

    return ratio(text, other, score_cutoff=ALIKE) > 0


def _keys(text: str) -> list[int]:
    """Return the pairs of words that identify the text: those that come first in an order that is
    the same for all texts."""
    words = _WORD.findall(text)
    if len(words) < _KEYS:  # writing without spaces
        words = [text[i : i + 4] for i in range(len(text) - 3)]
    pairs = {f"{one} {other}" for one, other in pairwise(words)}
    return heapq.nsmallest(_KEYS, {crc32(pair.encode()) for pair in pairs})
