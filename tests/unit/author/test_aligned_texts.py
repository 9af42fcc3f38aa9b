"""What is equal and what differs between two texts, also for texts that are made to be slow."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.aligned_texts import changed_ranges, equal_ranges, is_quick_to_align

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12)


@given(LINES, LINES)
def test_the_changed_ranges_lead_from_one_text_to_the_other(old, new):
    then = list(old)
    for start, end, first, last in reversed(list(changed_ranges(old, new))):
        assert (start, first) != (end, last)
        then[start:end] = new[first:last]
    assert then == new


@given(LINES, LINES)
def test_equal_ranges_are_equal_and_in_order(old, new):
    at, place = 0, 0
    for start, other, length in equal_ranges(old, new):
        assert length > 0
        assert start >= at
        assert other >= place
        assert old[start : start + length] == new[other : other + length]
        at, place = start + length, other + length


def test_a_text_that_would_take_minutes_is_one_changed_range():
    old = ["start", *(line for n in range(20_000) for line in (f"{n}", f"old {n}")), "end"]
    new = ["start", *(line for n in range(20_000) for line in (f"{n}", f"new {n}")), "end"]
    assert not is_quick_to_align(old, new)
    assert list(changed_ranges(old, new)) == [(2, 40_001, 2, 40_001)]


def test_a_small_change_of_a_long_text_is_aligned():
    old = [f"line {number}" for number in range(40_000)]
    new = [*old[:20_000], "new", *old[20_000:]]
    assert is_quick_to_align(old, new)
    assert list(changed_ranges(old, new)) == [(20_000, 20_000, 20_000, 20_001)]
