"""Fresh pairs decide whether a suspicious fixture broke."""

import math
from fractions import Fraction
from functools import lru_cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper.stats.paired.confirmation import MOST_PAIRS, confirm, p_value, suspicion

LEVELS = st.sampled_from((0.005, 0.01, 0.05))


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([], "cleared"),
        ([1], "open"),
        ([0], "cleared"),
        ([-1], "cleared"),
        ([1, 1], "suspect"),
        ([1, 0], "open"),
        ([1, -1], "cleared"),
        ([1, 0, 0], "cleared"),
        ([1, 0, 1], "suspect"),
        ([1, 1, 0, 0, 0, 0], "suspect"),
        ([1, 1, 0, 0, 0, 0, 0], "cleared"),
        ([1, 1, 1, 0, 0, 0, 0], "suspect"),
        ([1, 1, 1, -1, 0, 0, 0], "cleared"),
    ],
)
def test_a_lead_of_a_third_of_the_pairs_and_of_two_is_suspicious(differences, expected):
    assert suspicion(differences) == expected


@given(st.lists(st.sampled_from((-1, 0, 1)), max_size=2))
def test_screening_ends_after_three_pairs(differences):
    while suspicion(differences) == "open":
        assert len(differences) < 3
        differences = [*differences, 1]
    assert suspicion(differences) in ("suspect", "cleared")


@lru_cache
def crossing(evidence: Fraction, lead: int, pairs: int, chances: tuple[Fraction, ...]) -> Fraction:
    """Return the largest chance that a lead ever counts as much as `evidence`, over every choice
    of the chance of the next pair to move it."""
    if lead > 0 and lead**2 >= evidence * pairs:
        return Fraction(1)
    if pairs == MOST_PAIRS:
        return Fraction(0)
    up, stay, down = (crossing(evidence, lead + step, pairs + 1, chances) for step in (1, 0, -1))
    return max(q * (up + down) + (1 - 2 * q) * stay for q in chances)


@settings(max_examples=8)
@given(st.integers(1, MOST_PAIRS), st.integers(1, MOST_PAIRS))
def test_the_p_value_is_the_chance_under_the_worst_drift_of_the_pass_rate(lead, pairs):
    lead, pairs = sorted((lead, pairs))
    chances = tuple(p * (1 - p) for p in (Fraction(0), Fraction(1, 10), Fraction(1, 2)))
    expected = crossing(Fraction(lead**2, pairs), 0, 0, chances)
    assert p_value(lead, pairs) == pytest.approx(float(expected), rel=1e-12)


def test_a_lead_in_every_pair_is_the_chance_of_those_pairs_or_of_one_that_counts_as_much():
    assert p_value(MOST_PAIRS, MOST_PAIRS) == 4.0**-MOST_PAIRS
    assert p_value(0, 0) == p_value(0, 5) == 1
    assert 4.0**-5 < p_value(5, 5) < 0.005


@given(st.integers(1, MOST_PAIRS - 1), st.integers(1, MOST_PAIRS))
def test_a_larger_lead_is_more_evidence_and_the_same_later_is_less(lead, pairs):
    if lead < pairs:
        assert p_value(lead + 1, pairs) <= p_value(lead, pairs) <= 1
        assert p_value(lead, pairs - 1) <= p_value(lead, pairs)


@given(st.integers(1, 30), LEVELS, st.integers(0, 3))
def test_one_stray_pair_does_not_hide_a_break(suspects, level, stray):
    broken = [1] * stray + [0] + [1] * (MOST_PAIRS - stray - 1)
    others = [[-1]] * (suspects - 1)
    found = confirm([broken, *others], level)
    assert found == ("broke", *["kept"] * (suspects - 1))


@pytest.mark.parametrize(
    ("suspects", "level", "pairs"), [(1, 0.005, 5), (1, 0.001, 7), (5, 0.005, 7), (20, 0.001, 9)]
)
def test_a_break_in_every_pair_is_certain_after_a_few(suspects, level, pairs):
    others = [[-1]] * (suspects - 1)
    assert confirm([[1] * (pairs - 1), *others], level)[0] == "open"
    assert confirm([[1] * pairs, *others], level)[0] == "broke"


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([], "open"),
        ([-1], "kept"),
        ([0, 0, 0, 0], "open"),
        ([0, 0, 0, 0, 0], "kept"),
        ([1, 0, 0, 0, 0, 0, 0, 0], "open"),
        ([1, 0, 0, 0, 0, 0, 0, 0, 0], "kept"),
        ([1, -1, -1], "kept"),
        ([1, 0, -1, -1, *[1] * 26], "kept"),
    ],
)
def test_a_suspect_is_given_up_where_its_lead_lags_behind_a_quarter_of_its_pairs(
    differences, expected
):
    assert confirm([differences], 0.005) == (expected,)


def walks(differences=(-1, 0, 1)):
    return st.lists(st.sampled_from(differences), min_size=MOST_PAIRS, max_size=MOST_PAIRS)


@settings(max_examples=50)
@given(st.lists(st.one_of(walks(), walks((0, 1)), walks((0, 1, 1, 1))), max_size=5), LEVELS)
def test_stopping_early_never_changes_a_decision(whole, level):
    everything = confirm(whole, level)
    assert "open" not in everything

    taken = [0] * len(whole)
    found = confirm([[] for _ in whole], level)
    while "open" in found:
        taken = [n + (f == "open") for n, f in zip(taken, found, strict=True)]
        assert max(taken) <= MOST_PAIRS
        found = confirm([walk[:n] for walk, n in zip(whole, taken, strict=True)], level)
    assert found == everything


@settings(max_examples=25)
@given(st.lists(walks((0, 1, 1)), min_size=1, max_size=4), st.lists(st.integers(0, 30)), LEVELS)
def test_pairs_beyond_the_last_that_was_needed_change_nothing(whole, lengths, level):
    lengths = [*lengths, *[MOST_PAIRS] * len(whole)]
    some = [walk[:n] for walk, n in zip(whole, lengths, strict=False)]
    before = confirm(some, level)
    for found, finally_found in zip(before, confirm(whole, level), strict=True):
        assert found in ("open", finally_found)


@pytest.mark.parametrize("suspects", [1, 2, 5])
def test_a_harmless_change_is_called_broken_at_most_at_the_level(suspects):
    """Every walk of the first pairs, in the worst case; Holm's first step is the only one that can
    begin while nothing is broken."""
    level, pairs = 0.06, 6
    shares = {1: 0.25, 0: 0.5, -1: 0.25}
    called = 0.0
    for walk in product(shares, repeat=pairs):
        [found, *_] = confirm([walk, *[[-1]] * (suspects - 1)], level)
        called += math.prod(map(shares.__getitem__, walk)) * (found == "broke")
    assert 0 < called <= level / suspects


def test_a_weaker_break_is_found_beside_certain_ones_at_a_later_step_of_holm():
    certain, weaker = [1] * 12, [1, 0, 1, 1, 0, 1, 1]
    assert confirm([weaker], 0.04) == ("broke",)
    assert confirm([weaker] * 5, 0.04) == ("open",) * 5
    assert confirm([certain] * 4 + [weaker], 0.04) == ("broke",) * 5


def test_nothing_is_confirmed_without_suspects():
    assert confirm([], 0.005) == ()
