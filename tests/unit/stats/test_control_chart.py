"""The control chart: its limits against the literature, its nights against the normal curve."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, norm

from gatekeeper.stats.nights.control_chart import (
    NIGHTS_PER_FALSE_ALARM,
    WEIGHT,
    average_run_length,
    control_limit,
    ewma_chart,
)

# As the manual of the R package spc 0.6.7 (S. Knoth), page xewma.arl, prints them from the papers:
# weight, width, and the run length at each shift.
PUBLISHED = {
    "Lucas and Saccucci (1990), table 3, weight 0.5": (
        *(0.5, 3.071),
        {0: 500, 0.25: 255, 0.5: 88.8, 0.75: 35.9, 1: 17.5, 1.5: 6.53}
        | {2: 3.63, 2.5: 2.50, 3: 1.93, 3.5: 1.58, 4: 1.34, 5: 1.07},
    ),
    "Lucas and Saccucci (1990), table 3, weight 0.03": (
        *(0.03, 2.437),
        {0: 500, 0.25: 76.7, 0.5: 29.3, 0.75: 17.6, 1: 12.6, 1.5: 8.07}
        | {2: 5.99, 2.5: 4.80, 3: 4.03, 3.5: 3.49, 4: 3.11, 5: 2.55},
    ),
    "Crowder (1987), table 1": (
        *(0.05, 2.0),
        {0: 127.53, 0.25: 43.94, 0.5: 18.97, 1: 8.38, 2: 4.04, 3: 2.76, 4: 2.15},
    ),
    "Waldmann (1986), table 1": (0.75, 2.0 * (1.25 / 0.75) ** 0.5, {0: 104.0}),
}

distinct_scores = st.lists(
    st.integers(-1000, 1000).map(float), min_size=9, max_size=30, unique=True
)


def values(scores, resolution=1e-9, nights_per_false_alarm=NIGHTS_PER_FALSE_ALARM):
    points = ewma_chart(scores, resolution, nights_per_false_alarm)
    return [None if point is None else point.value for point in points]


@pytest.mark.parametrize("source", PUBLISHED)
def test_the_run_lengths_are_those_of_the_literature(source):
    weight, width, expected = PUBLISHED[source]
    found = [average_run_length(weight, width, shift) for shift in expected]
    assert found == pytest.approx(list(expected.values()), rel=0.003, abs=0.006)


def test_the_run_length_is_that_of_sas_to_the_last_digit():
    # SAS/QC manual (1999), function EWMAARL, as the same page prints it.
    assert average_run_length(0.25, 3.0, 1.0) == pytest.approx(11.154267016, abs=1e-9)


def test_with_all_the_weight_on_tonight_it_is_shewharts_chart():
    for width in (2.0, 3.0):
        assert average_run_length(1.0, width) == pytest.approx(1 / (2 * norm.sf(width)), rel=1e-6)


def test_the_limit_is_crossed_once_in_so_many_nights():
    limit = control_limit(WEIGHT, NIGHTS_PER_FALSE_ALARM)
    width = limit / (WEIGHT / (2 - WEIGHT)) ** 0.5
    assert average_run_length(WEIGHT, width) == pytest.approx(NIGHTS_PER_FALSE_ALARM)
    assert control_limit(WEIGHT, 1000) > limit


def test_normal_nights_become_standard_normal_and_independent_from_the_first_on():
    rng = np.random.default_rng(1)
    firsts, seconds = [], []
    for _ in range(400):
        found = values(rng.normal(0.9, 0.02, size=9).tolist(), nights_per_false_alarm=10_000)
        first = found[7] / WEIGHT
        firsts.append(first)
        seconds.append((found[8] - (1 - WEIGHT) * found[7]) / WEIGHT)
    assert kstest(firsts, "norm").pvalue > 0.01
    assert kstest(seconds, "norm").pvalue > 0.01
    assert abs(np.corrcoef(firsts, seconds)[0, 1]) < 0.15


def test_unknown_mean_and_scatter_leave_the_rate_of_false_alarms_as_stated():
    rng = np.random.default_rng(2)
    nights, alarms = 0, 0
    for _ in range(150):
        points = ewma_chart(rng.normal(size=187).tolist(), 1e-9, nights_per_false_alarm=60)[7:]
        first = next((i for i, p in enumerate(points, start=1) if p.signal), None)
        nights, alarms = nights + (first or len(points)), alarms + (first is not None)
    assert nights / alarms == pytest.approx(60, rel=0.25)


@settings(max_examples=30)
@given(distinct_scores, st.sampled_from([0.25, 2.0, 64.0]), st.integers(-50, 50))
def test_the_unit_of_the_scores_does_not_matter(scores, unit, origin):
    moved = [unit * score + origin for score in scores]
    assert values(moved)[7:] == pytest.approx(values(scores)[7:], abs=1e-6)


@settings(max_examples=30)
@given(distinct_scores)
def test_better_is_worse_upside_down(scores):
    upside_down = values([-score for score in scores])
    assert [-v for v in upside_down[7:]] == pytest.approx(values(scores)[7:], abs=1e-9)


def test_nights_without_a_score_change_nothing_else():
    scores = [0.9, 0.91, 0.89, 0.92, 0.88, 0.9, 0.91, 0.85, 0.9]
    with_gaps = [0.9, None, *scores[1:8], None, scores[8]]
    found = ewma_chart(with_gaps, 0.01)
    assert found[1] is found[9] is None
    assert [p for p in found if p] == [p for p in ewma_chart(scores, 0.01) if p]
    assert ewma_chart([], 0.01) == ()


def test_nights_that_are_all_alike_lie_in_the_middle():
    assert values([0.9] * 30)[7:] == pytest.approx([0.0] * 23, abs=1e-6)


def test_the_smallest_difference_is_no_alarm_after_nights_that_were_all_alike():
    assert not ewma_chart([0.9] * 30 + [0.89], resolution=0.01)[-1].signal
    assert ewma_chart([0.9] * 30 + [0.8], resolution=0.01)[-1].signal
    assert ewma_chart([0.9] * 30 + [0.99], resolution=0.01)[-1].signal


def test_one_night_signals_and_is_forgotten():
    usual = [0.9, 0.91, 0.89, 0.92, 0.88] * 6
    points = ewma_chart([*usual, 0.1, *usual], 0.01)
    assert {i for i, p in enumerate(points) if p and p.signal} <= {30, 31}
    assert points[30].signal


def test_a_shift_that_lasts_stays_in_sight():
    usual = [0.9, 0.91, 0.89, 0.92, 0.88] * 6
    points = ewma_chart([*usual, *(score - 0.1 for score in usual * 4)], 0.01)
    assert all(p.signal and p.value < 0 for p in points[31:])
