"""Did the model change? The bets against the game as it is told, and against every order."""

import math
from itertools import permutations
from statistics import mean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from gatekeeper.stats.nights.drift import Night, find_drift

STAKE = 0.6


def nights(counts, fixtures=20):
    """Nights in which the first so many of the fixtures pass, sampled once each."""
    return [Night((1,) * k + (0,) * (fixtures - k), (1,) * fixtures) for k in counts]


def money_left(night):
    """The share of the money whose owners believe in a later night."""
    return 30 / (30 + night - 1)


def slow_e_values(scores):
    """The game as the module tells it, one believer and one night after the other."""
    found = []
    for s in range(1, len(scores) + 1):
        owned = money_left(s)
        for sign in (1, -1):
            for j in range(2, s + 1):
                purse = (money_left(j - 1) - money_left(j)) / 2
                for tonight in range(j, s + 1):
                    k = tonight - j + 1
                    so_far = [sign * score for score in scores[:tonight]]
                    rank = sum(score <= so_far[-1] for score in so_far)
                    purse *= 1 - STAKE + (STAKE * tonight / k if rank <= k else 0)
                owned += purse
        found.append(owned)
    return found


@st.composite
def stretches(draw):
    """Nights of few fixtures, with ties, missing fixtures and missing nights."""
    fixtures = draw(st.integers(1, 4))
    samples = st.integers(0, 3)
    night = st.lists(samples, min_size=fixtures, max_size=fixtures).flatmap(
        lambda n: st.tuples(*(st.integers(0, k) for k in n)).map(
            lambda passed: Night(tuple(passed), tuple(n))
        )
    )
    return draw(st.lists(night, max_size=12))


@settings(max_examples=40)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=12))
def test_the_believers_own_what_the_game_pays(counts):
    found = find_drift(nights(counts, fixtures=6))
    assert found.e_values == pytest.approx(slow_e_values(counts))


@pytest.mark.parametrize("counts", [(0, 1, 2, 3, 4), (3, 1, 4, 0, 5)])
def test_over_all_orders_of_nights_the_game_is_fair_after_every_history(counts):
    """A martingale: what is owned is, on average over all that may come next, what was owned."""
    histories = {}
    for order in permutations(counts):
        e = find_drift(nights(order)).e_values
        for s in range(1, len(order)):
            ranks = tuple(sum(x <= order[i] for x in order[: i + 1]) for i in range(s))
            histories.setdefault(ranks, []).append((e[s - 1], e[s]))
    for both in histories.values():
        assert mean(after for _, after in both) == pytest.approx(both[0][0])


@settings(max_examples=8)
@given(st.lists(st.integers(0, 2), min_size=5, max_size=5))
def test_ties_never_make_the_game_better_than_fair(counts):
    found = [find_drift(nights(order)).e_values for order in permutations(counts)]
    assert (np.mean(found, axis=0) <= 1 + 1e-12).all()


@settings(max_examples=8)
@given(stretches().filter(lambda s: 2 <= len(s) <= 5))
def test_the_game_is_fair_at_best_whatever_was_not_measured(stretch):
    found = [find_drift(order).e_values for order in permutations(stretch)]
    assert (np.mean(found, axis=0) <= 1 + 1e-9).all()


@settings(max_examples=30)
@given(stretches())
def test_later_nights_do_not_change_what_was_owned(stretch):
    found = find_drift(stretch)
    assert len(found.e_values) == len(found.rates) == len(found.chart) == len(stretch)
    for end in range(len(stretch)):
        assert found.e_values[:end] == pytest.approx(find_drift(stretch[:end]).e_values)


@settings(max_examples=30)
@given(stretches(), st.randoms())
def test_the_order_of_the_fixtures_does_not_matter(stretch, random):
    order = list(range(len(stretch[0].samples))) if stretch else []
    random.shuffle(order)
    shuffled = [
        Night(tuple(n.passed[i] for i in order), tuple(n.samples[i] for i in order))
        for n in stretch
    ]
    assert find_drift(shuffled).e_values == pytest.approx(find_drift(stretch).e_values)


@settings(max_examples=30)
@given(stretches())
def test_failures_for_passes_turn_worse_into_better(stretch):
    def failed(night):
        return tuple(n - k for k, n in zip(night.passed, night.samples, strict=True))

    other = find_drift([Night(failed(night), night.samples) for night in stretch])
    found = find_drift(stretch)
    assert other.e_values == pytest.approx(found.e_values)
    upside_down = [None if rate is None else 1 - rate for rate in other.rates]
    assert upside_down == pytest.approx(list(found.rates))


def test_at_temperature_0_nothing_is_ever_found():
    found = find_drift(nights([18] * 400))
    assert max(found.e_values) == pytest.approx(1)
    assert found.change is None
    assert {p.value for p in found.chart if p} == {0.0}


@pytest.mark.parametrize(("after", "direction"), [(12, "worse"), (20, "better")])
@pytest.mark.parametrize(("before", "delay"), [(14, 8), (30, 5), (100, 4)])
def test_a_jump_is_sure_within_days(before, delay, after, direction):
    found = find_drift(nights([18] * before + [after] * 20))
    change = found.change
    assert (change.since, change.direction) == (before, direction)
    assert change.detected == before + delay - 1
    assert change.size.value == pytest.approx((after - 18) / 20)
    assert change.size.interval is None
    assert found.e_values[change.detected] >= 100 > found.e_values[change.detected - 1]


@pytest.mark.parametrize(("before", "after", "direction"), [(2, 20, "better"), (20, 2, "worse")])
def test_a_change_after_the_second_night_has_its_direction(before, after, direction):
    found = find_drift(nights([before] * 2 + [after] * 80), alpha=0.5)
    assert (found.change.since, found.change.direction) == (2, direction)


def test_the_size_has_welchs_interval():
    before, after = [18, 17, 19, 18, 18, 17, 20, 18] * 4, [12, 13, 11, 12] * 5
    size = find_drift(nights(before + after)).change.size
    welch = ttest_ind(after, before, equal_var=False).confidence_interval(0.95)
    assert size.value == pytest.approx((mean(after) - mean(before)) / 20)
    assert (size.interval.low, size.interval.high) == pytest.approx(
        (welch.low / 20, welch.high / 20)
    )


def test_one_bad_night_is_an_alarm_of_the_chart_and_no_drift():
    counts = [18, 17, 19, 18] * 10
    found = find_drift(nights([*counts, 2, *counts]))
    assert found.change is None
    assert found.chart[40].signal
    assert not any(p.signal for i, p in enumerate(found.chart) if p and i not in (40, 41))


def test_what_was_sure_stays_sure_when_the_model_recovers():
    usual = [18, 17, 19, 18] * 10
    found = find_drift(nights([*usual, *[8] * 10, *usual, *usual]))
    assert found.change.since == 40
    assert found.change.size.value == pytest.approx((8 - 18) / 20)
    assert found.e_values[-1] < 100
    assert not found.chart[-1].signal


def test_a_slow_slide_is_found():
    counts = [90] * 40 + [90 - i // 3 for i in range(40)]
    change = find_drift(nights(counts, fixtures=100)).change
    assert change.direction == "worse"
    assert 40 <= change.since < change.detected <= 52


def test_a_smaller_alpha_asks_for_more():
    stretch = nights([18] * 30 + [12] * 20)
    assert find_drift(stretch, alpha=1e-6).change.detected > find_drift(stretch).change.detected
    assert find_drift(stretch, alpha=1e-30).change is None


def test_years_of_evidence_stay_a_finite_number():
    found = find_drift(nights([18] * 700 + [12] * 700))
    assert math.isfinite(found.e_values[-1])
    assert found.change.since == 700


def test_a_night_without_a_measurement_is_not_known():
    counts = [18] * 30 + [12] * 10
    nothing = Night((0,) * 20, (0,) * 20)
    plain = find_drift(nights(counts))
    found = find_drift([nothing, *nights(counts[:33]), nothing, *nights(counts[33:])])
    assert found.rates[0] is found.rates[34] is None
    assert found.chart[34] is None
    assert found.e_values[0] == 1
    assert found.e_values[34] == found.e_values[33]
    assert found.e_values[-1] == pytest.approx(plain.e_values[-1])
    assert (found.change.since, found.change.detected) == (31, plain.change.detected + 2)


@pytest.mark.parametrize("stretch", [[], [Night((0,), (0,))], [Night((), ())] * 2])
def test_where_nothing_was_measured_nothing_is_known(stretch):
    found = find_drift(stretch)
    assert found.rates == found.chart == (None,) * len(stretch)
    assert found.e_values == (1.0,) * len(stretch)
    assert found.change is None


def test_one_night_says_nothing_yet():
    found = find_drift(nights([18]))
    assert (found.rates, found.chart, found.e_values) == ((0.9,), (None,), (1.0,))


def test_fixtures_that_were_not_measured_are_no_drift():
    """The easy half of the fixtures is not answered any more."""
    whole = Night((1,) * 10 + (0,) * 10, (1,) * 20)
    hard = Night((0,) * 20, (0,) * 10 + (1,) * 10)
    found = find_drift([whole] * 30 + [hard] * 30)
    assert found.change is None
    assert found.rates == pytest.approx((0.5,) * 60)
    assert {round(p.value, 9) for p in found.chart if p} == {0.0}


def test_new_fingerprints_are_marked():
    labels = [None, "a", "a", None, "b", "a", "b", "c"]
    stretch = [Night((1,), (1,), label) for label in labels]
    assert find_drift(stretch).new_models == (4, 7)


@pytest.mark.parametrize(
    ("stretch", "message"),
    [
        ([Night((1,), (1,)), Night((1, 1), (1, 1))], "passed: night 1 must have 1 fixtures"),
        ([Night((1,), (1, 1))], "passed: night 0 must have 2 fixtures"),
        ([Night((2,), (1,))], "got 2 of 1 samples of fixture 0 in night 0"),
        ([Night((0, -1), (1, 1))], "got -1 of 1 samples of fixture 1 in night 0"),
    ],
)
def test_counts_that_cannot_be_are_refused(stretch, message):
    with pytest.raises(ValueError, match=message):
        find_drift(stretch)
