"""The exact sign-flip test."""

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from gatekeeper.stats.paired.mcnemar import mcnemar_exact
from gatekeeper.stats.paired.sign_flip import sign_flip_test

CASES = json.loads((Path(__file__).parents[2] / "reference" / "sequential.json").read_text())
FEW = st.lists(st.integers(-8, 8), max_size=9)
MANY = st.lists(st.integers(-50, 50), max_size=60)


def flipped(differences):
    """The sums of all 2^n ways to choose the signs."""
    return [sum(way) for way in product(*((d, -d) for d in differences))]


@pytest.mark.parametrize("case", CASES["sign_flip"]["cases"])
def test_it_agrees_with_scipys_permutation_test(case):
    assert sign_flip_test(case["differences"]) == pytest.approx(case["p"], rel=1e-9)


@given(FEW)
def test_it_is_the_share_of_all_signs_that_are_as_extreme(differences):
    sums = flipped(differences)
    share = sum(s >= sum(differences) for s in sums) / len(sums)
    assert sign_flip_test(differences) == pytest.approx(share, rel=1e-12)


@given(FEW)
def test_seen_from_the_other_arm_only_ties_count_twice(differences):
    sums = flipped(differences)
    tied = sum(s == sum(differences) for s in sums) / len(sums)
    other = sign_flip_test([-d for d in differences])
    assert sign_flip_test(differences) + other == pytest.approx(1 + tied, rel=1e-12)


@given(st.lists(st.sampled_from([-1, 0, 1]), max_size=200))
def test_with_one_sample_a_fixture_it_is_mcnemars(differences):
    expected = mcnemar_exact(differences.count(1), differences.count(-1))
    assert sign_flip_test(differences) == expected


@given(MANY, st.randoms())
def test_the_order_of_fixtures_does_not_matter(differences, random):
    shuffled = random.sample(differences, len(differences))
    assert sign_flip_test(shuffled) == sign_flip_test(differences)


@given(MANY, st.integers(1, 7))
def test_a_common_factor_does_not_matter(differences, factor):
    assert sign_flip_test([factor * d for d in differences]) == sign_flip_test(differences)


@given(MANY, st.integers(0, 9))
def test_unchanged_fixtures_say_nothing(differences, more):
    assert sign_flip_test([*differences, *[0] * more]) == sign_flip_test(differences)


@given(MANY.filter(bool), st.data())
def test_a_fixture_that_got_worse_only_lowers_it(differences, data):
    i = data.draw(st.integers(0, len(differences) - 1))
    worse = list(differences)
    worse[i] += data.draw(st.integers(1, 20))
    assert sign_flip_test(worse) <= sign_flip_test(differences) * (1 + 1e-9)


@given(MANY)
def test_it_is_a_probability_and_never_zero(differences):
    assert 0 < sign_flip_test(differences) <= 1


def test_it_is_not_zero_where_one_in_two_to_the_hundredth_is():
    assert sign_flip_test([2, 1] * 50) == pytest.approx(2.0**-100)
    assert sign_flip_test([2, 1] * 1000) > 0
    assert sign_flip_test([-2, -1] * 1000) == pytest.approx(1)


@pytest.mark.parametrize("differences", [[], [0], [0, 0, 0]])
def test_without_a_change_there_is_no_evidence(differences):
    assert sign_flip_test(differences) == 1


def test_more_fixtures_than_a_number_has_powers_of_two():
    # The sum is that of 1,200 coins, and of one more that counts twice.
    differences = [1] * 600 + [-1] * 600 + [2]
    wanted = (binom.sf(601, 1200, 0.5) + binom.sf(599, 1200, 0.5)) / 2
    assert sign_flip_test(differences) == pytest.approx(wanted, rel=1e-9)


def test_samples_of_one_fixture_are_one_toss():
    assert sign_flip_test([50]) == 0.5


def test_two_thousand_fixtures_of_fifty_samples_need_no_drawing():
    """Differences spread over -50 … 50 whose mean is a little above 0: near the normal curve."""
    differences = [(37 * i) % 101 - 49 for i in range(2000)]
    p = sign_flip_test(differences)
    total = sum(differences)
    deviation = sum(d * d for d in differences) ** 0.5
    assert p == pytest.approx(norm.sf((total - 0.5) / deviation), rel=0.01)
    assert p == sign_flip_test(differences)


@pytest.mark.parametrize(
    "differences", [[math.nan], [1, math.inf], [0.5], ["1"], [None], [True], [1.0]]
)
def test_only_whole_numbers_have_a_sign_to_flip(differences):
    with pytest.raises(ValueError, match=r"^differences: every value must be a whole number"):
        sign_flip_test(differences)


def test_numpys_whole_numbers_are_whole_numbers():
    assert sign_flip_test(np.array([2, 1, -1], dtype=np.int8)) == sign_flip_test([2, 1, -1])
