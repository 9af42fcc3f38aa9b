"""The boundary of the freeze: its level and power by exact enumeration and by drawing nights."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.stats.objectives.rate_boundary import fewest_failures, spent_share

NIGHTS, SAMPLES = 28, 20


def boundary(nights=NIGHTS, samples=SAMPLES, allowed=0.05, alpha=0.05):
    """The boundary after each night; more than there are samples where it is none."""
    looks = [(samples, night / nights) for night in range(nights)]
    found = [fewest_failures(looks[: k + 1], allowed, alpha) for k in range(nights)]
    return [samples * (k + 1) + 1 if fewest is None else fewest for k, fewest in enumerate(found)]


def ever_frozen(rate, fewest, samples=SAMPLES):
    """The chance to have crossed the boundary by each night, by a recursion of its own."""
    inside, crossed, by_night = {0: 1.0}, 0.0, []
    chances = [
        math.comb(samples, k) * rate**k * (1 - rate) ** (samples - k) for k in range(samples + 1)
    ]
    for limit in fewest:
        after: dict[int, float] = {}
        for failed, probability in inside.items():
            for more, chance in enumerate(chances):
                after[failed + more] = after.get(failed + more, 0.0) + probability * chance
        crossed += sum(p for failed, p in after.items() if failed >= limit)
        inside = {failed: p for failed, p in after.items() if failed < limit}
        by_night.append(crossed)
    return by_night


class TestAMonthOfNights:
    """28 nights of 20 samples against an objective of 95 %: what issue 11 asks for."""

    FEWEST = boundary()

    def test_at_the_exact_target_at_most_one_in_twenty_is_ever_frozen(self):
        assert 0.045 < ever_frozen(0.05, self.FEWEST)[-1] <= 0.05

    def test_at_90_percent_half_are_frozen_in_a_week_and_nine_of_ten_in_two(self):
        frozen = ever_frozen(0.10, self.FEWEST)
        assert frozen[6] >= 0.45
        assert frozen[13] >= 0.88

    def test_at_97_percent_practically_none_is(self):
        assert ever_frozen(0.03, self.FEWEST)[-1] < 0.001

    def test_a_collapse_is_seen_in_the_first_night(self):
        assert ever_frozen(0.7, self.FEWEST)[0] > 0.999

    def test_fixtures_of_different_rates_are_frozen_more_rarely(self):
        """Half of them never fail and half fail one time in ten: the sum varies less."""
        rng = np.random.default_rng(1)
        rates = np.repeat([0.0, 0.1], SAMPLES // 2)
        failed = (rng.random((4000, NIGHTS, SAMPLES)) < rates).sum(axis=2).cumsum(axis=1)
        assert (failed >= self.FEWEST).any(axis=1).mean() < 0.055

    def test_a_fixture_that_fails_every_night_is_exactly_at_the_target(self):
        assert all(night + 1 < fewest for night, fewest in enumerate(self.FEWEST))


@pytest.mark.parametrize("allowed", [0.001, 0.01, 0.1, 0.5])
@pytest.mark.parametrize(("nights", "samples"), [(1, 30), (7, 10), (28, 50), (56, 20)])
def test_the_level_holds_for_other_histories(allowed, nights, samples):
    fewest = boundary(nights, samples, allowed)
    assert ever_frozen(allowed, fewest, samples)[-1] <= 0.05 + 1e-12


@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.01])
def test_the_level_by_going_through_every_history(alpha):
    """Three looks of different sizes, each of the 2^12 ways in which they can fail."""
    looks, allowed = [(5, 0.0), (3, 0.3), (4, 0.9)], 0.2
    ends = [5, 8, 12]
    limits = [fewest_failures(looks[: k + 1], allowed, alpha) or math.inf for k in range(3)]
    crossed = 0.0
    for fates in product((0, 1), repeat=12):
        if any(sum(fates[:end]) >= limit for end, limit in zip(ends, limits, strict=True)):
            crossed += allowed ** sum(fates) * (1 - allowed) ** (12 - sum(fates))
    assert 0 < crossed <= alpha


histories = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 56)), min_size=1, max_size=12
).map(lambda rows: [(n, at / 56) for n, at in sorted(rows, key=lambda row: row[1])])
rates = st.sampled_from([0.001, 0.01, 0.05, 0.1, 0.3, 0.9])


@given(histories, rates, st.integers(0, 300))
def test_good_samples_at_the_end_never_ask_for_fewer(looks, allowed, more):
    later = [*looks, (more, 1.0)]
    before, after = fewest_failures(looks, allowed, 0.05), fewest_failures(later, allowed, 0.05)
    total = sum(n for n, _ in looks)
    assert (after or math.inf) >= (before or total + 1)


@given(histories, rates)
def test_more_is_allowed_by_a_lower_objective_and_by_a_stricter_level(looks, allowed):
    found = fewest_failures(looks, allowed, 0.05) or math.inf
    assert found > allowed * sum(n for n, _ in looks)
    assert found >= 2
    single = [(sum(n for n, _ in looks), 1.0)]
    strict = fewest_failures(single, allowed, 0.01) or math.inf
    assert strict >= (fewest_failures(single, allowed, 0.05) or math.inf)


def test_it_is_the_binomial_test_where_there_is_one_look():
    from scipy.stats import binom

    for elapsed in (0.0, 0.2, 1.0):
        level = 0.05 * spent_share(elapsed)
        wanted = int(binom.isf(level, 200, 0.05)) + 1
        assert fewest_failures([(200, elapsed)], 0.05, 0.05) == wanted


def test_where_nothing_could_be_too_much_there_is_none():
    assert fewest_failures([(20, 0.0)], 1.0, 0.05) is None
    assert fewest_failures([(2, 0.0)], 0.5, 0.05) is None
    assert fewest_failures([], 0.05, 0.05) is None
    assert fewest_failures([(0, 0.0)], 0.05, 0.05) is None


def test_all_samples_failing_may_be_what_it_takes():
    # Both of two fail with a chance of 0.05 squared, if one in twenty may; with 0.09, if 3 in 10.
    assert fewest_failures([(2, 1.0)], 0.05, 0.05) == 2
    assert fewest_failures([(2, 1.0)], 0.3, 0.05) is None


def test_where_nothing_may_fail_two_failures_are_too_many():
    assert fewest_failures([(20, 0.0), (20, 0.5)], 0.0, 0.05) == 2


def test_a_year_of_large_runs_takes_no_time():
    looks = [(20_000, part / 56) for part in range(57)]
    fewest = fewest_failures(looks, 0.01, 0.05)
    assert 11_400 < fewest < 11_800
