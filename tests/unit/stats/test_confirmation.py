"""Fresh pairs decide whether a suspicious fixture broke."""

from fractions import Fraction
from functools import lru_cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper.stats.confirmation import confirm, p_value, pairs_needed, suspicion

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
def crossing(lead: int, pairs: int, chances: tuple[Fraction, ...]) -> Fraction:
    """Return the largest chance to reach the lead, over every choice of the next pair's chance."""
    if lead <= 0:
        return Fraction(1)
    if pairs == 0:
        return Fraction(0)
    up, stay, down = (crossing(lead - step, pairs - 1, chances) for step in (1, 0, -1))
    return max(q * (up + down) + (1 - 2 * q) * stay for q in chances)


@given(st.integers(1, 12), st.integers(0, 12))
def test_the_p_value_is_the_chance_under_the_worst_drift_of_the_pass_rate(lead, pairs):
    chances = tuple(p * (1 - p) for p in (Fraction(0), Fraction(1, 10), Fraction(1, 2)))
    assert p_value(lead, pairs) == pytest.approx(float(crossing(lead, pairs, chances)), rel=1e-12)


@given(st.integers(-3, 30), st.integers(0, 30))
def test_a_larger_lead_is_more_evidence_and_more_pairs_are_more_chances(lead, pairs):
    assert p_value(lead + 1, pairs) <= p_value(lead, pairs) <= p_value(lead, pairs + 1) <= 1


def test_four_of_four_against_none_of_four_is_one_in_256():
    assert p_value(4, 4) == 1 / 256


@settings(max_examples=25)
@given(st.integers(1, 30), LEVELS)
def test_one_stray_pair_does_not_hide_a_break(suspects, level):
    pairs = pairs_needed(suspects, level)
    assert p_value(pairs - 1, pairs) <= level / suspects
    assert p_value(pairs - 2, pairs - 1) > level / suspects
    others = [[-1] * pairs] * (suspects - 1)
    for stray in range(pairs):
        broken = [1] * stray + [0] + [1] * (pairs - stray - 1)
        assert confirm([broken, *others], level)[0] == "broke"


def walks(differences=(-1, 0, 1)):
    return st.lists(st.sampled_from(differences), min_size=40, max_size=40)


@settings(max_examples=50)
@given(st.lists(st.one_of(walks(), walks((0, 1)), walks((0, 1, 1, 1))), max_size=5), LEVELS)
def test_stopping_early_never_changes_a_decision(whole, level):
    pairs = pairs_needed(len(whole), level)
    everything = confirm([walk[:pairs] for walk in whole], level)
    assert "open" not in everything

    taken = [0] * len(whole)
    found = confirm([[] for _ in whole], level)
    while "open" in found:
        taken = [n + (f == "open") for n, f in zip(taken, found, strict=True)]
        assert max(taken) <= pairs
        found = confirm([walk[:n] for walk, n in zip(whole, taken, strict=True)], level)
    assert found == everything


@pytest.mark.parametrize("suspects", [1, 2])
def test_a_harmless_change_is_called_broken_at_most_at_the_level(suspects):
    """Every outcome of every suspect, with samples that pass half of the time: the worst case."""
    level = 0.06
    pairs = pairs_needed(suspects, level)
    chance = {1: 0.25, 0: 0.5, -1: 0.25}
    decisions: dict[tuple[int, ...], float] = {}
    for walk in product(chance, repeat=pairs):
        weight = 1.0
        for step in walk:
            weight *= chance[step]
        highest = max(sum(walk[:n]) for n in range(pairs + 1))
        shown = (1,) * highest + (0,) * (pairs - highest)
        decisions[shown] = decisions.get(shown, 0.0) + weight
    wrong = 0.0
    for chosen in product(decisions, repeat=suspects):
        weight = 1.0
        for walk in chosen:
            weight *= decisions[walk]
        wrong += weight * ("broke" in confirm(chosen, level))
    assert 0.1 * level < wrong <= level


def test_a_weaker_break_is_found_beside_certain_ones_at_a_later_step_of_holm():
    certain, weaker = [1] * 6, [1, 0, 1, 1, 0, 1]
    assert pairs_needed(5, 0.05) == 6
    assert confirm([certain] * 4 + [weaker], 0.05) == ("broke",) * 5
    assert confirm([weaker] * 5, 0.05) == ("kept",) * 5


def test_nothing_is_confirmed_without_suspects():
    assert confirm([], 0.005) == ()


@pytest.mark.parametrize("wrong", [2, -2])
def test_a_wrong_difference_is_named(wrong):
    with pytest.raises(ValueError, match=r"^differences: "):
        suspicion([wrong])
    with pytest.raises(ValueError, match=r"^differences: "):
        confirm([[wrong]], 0.005)
