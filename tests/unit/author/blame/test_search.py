"""The search for the edits that break a prompt, and its sequential test."""

from __future__ import annotations

import asyncio
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.blame.search import (
    ERROR,
    Found,
    Group,
    Rates,
    expected_rates,
    find_causes,
    smallest_revert,
)


def search(edits: int, causes: list[set[int]]) -> tuple[Found, int]:
    """Search with a test that is never wrong: something breaks if a whole cause is applied."""
    asked = 0

    async def breaks(group: Group) -> bool:
        nonlocal asked
        asked += 1
        return any(cause <= group for cause in causes)

    return asyncio.run(find_causes(edits, breaks)), asked


@given(st.data(), st.integers(1, 24))
def test_disjoint_causes_are_found_exactly(data, edits):
    numbers = data.draw(st.permutations(range(edits)))
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    causes, start = [], 0
    for size in sizes:
        if numbers[start : start + size]:
            causes.append(set(numbers[start : start + size]))
        start += size
    found, _ = search(edits, causes)
    assert found.explained
    assert sorted(map(sorted, found.causes)) == sorted(map(sorted, causes))


@pytest.mark.parametrize("edits", [10, 32, 100])
def test_one_cause_takes_a_number_of_tests_that_grows_with_the_logarithm(edits):
    for cause in range(edits):
        _, asked = search(edits, [{cause}])
        assert asked <= 2 * math.ceil(math.log2(edits)) + 2


def test_a_test_that_cannot_decide_ends_the_search_and_blames_nobody():
    async def breaks(group: Group) -> bool | None:
        return None if len(group) < 3 else 1 in group

    assert asyncio.run(find_causes(8, breaks)) == Found()


def test_a_cause_that_does_not_break_again_is_not_named():
    answers = iter([True, True, False])

    async def breaks(_: Group) -> bool:
        return next(answers)

    assert asyncio.run(find_causes(4, breaks)) == Found()


def test_an_edit_is_taken_out_of_a_cause_that_breaks_without_it():
    """The first test takes the half of the harmful edit, 1, for harmless."""
    wrong = iter([False])

    async def breaks(group: Group) -> bool:
        return next(wrong, 1 in group)

    assert asyncio.run(find_causes(4, breaks)) == Found((frozenset({1}),), explained=True)


def test_a_sequential_test_keeps_its_error():
    """At most ERROR of the tests of harmless edits call them harmful (Wald 1945)."""
    rates, drawn = Rates(0.95, 0.5), random.Random(3)  # noqa: S311
    wrong = lengths = 0
    for _ in range(4000):
        outcomes: list[bool] = []
        while (decided := rates.decide(outcomes)) is None:
            outcomes.append(drawn.random() < rates.harmless)
        wrong += decided
        lengths += len(outcomes)
    assert wrong / 4000 <= ERROR
    assert 9 <= lengths / 4000 <= 11


def test_what_chance_breaks_is_taken_out_of_the_expected_rates():
    assert expected_rates(0.9, 0.1, broke=3, fixed=3) is None
    clear = expected_rates(0.9, 0.1, broke=10, fixed=0)
    mixed = expected_rates(0.9, 0.1, broke=10, fixed=5)
    assert clear is not None
    assert mixed is not None
    assert (clear.harmless, clear.broken) == pytest.approx((0.9, 0.5))
    assert mixed.broken == pytest.approx((0.9 + 0.5) / 2)
    certain = expected_rates(1.0, 0.0, broke=10, fixed=0)
    assert certain is not None
    assert certain.harmless < 1


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        ([{3}], {3}),
        ([{3}, {5}], {3, 5}),
        ([{3, 5}], {5}),
        ([{1, 3, 5}, {2, 7}], {5, 7}),
    ],
)
def test_of_edits_that_break_only_together_one_is_reverted(causes, expected):
    async def breaks(group: Group) -> bool | None:
        return any(cause <= group for cause in causes)

    groups = [frozenset(cause) for cause in causes]
    assert asyncio.run(smallest_revert(groups, 10, breaks)) == expected


def test_every_edit_of_a_cause_is_reverted_if_fewer_cannot_be_shown_to_be_enough():
    async def breaks(_: Group) -> bool | None:
        return None

    assert asyncio.run(smallest_revert([frozenset({3, 5})], 10, breaks)) == {3, 5}
