"""Prediction-powered means: few labels and many verdicts of a judge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reference_values import cases

from gatekeeper.stats.judges.prediction_powered import powered_mean, powered_rate

Z = 1.959963984540054
share = st.sampled_from([0.0, 0.25, 0.5, 1.0])
labelled = st.lists(st.tuples(share, share), min_size=2, max_size=20)
verdicts = st.lists(share, min_size=2, max_size=30)


@pytest.mark.parametrize("case", cases("powered", "judges"), ids=lambda case: case["name"])
def test_values_are_those_of_ppi_python(case):
    found = powered_mean(case["human"], case["judge"], case["judged"], case["power"])
    low, high = case["interval"]
    assert found is not None
    # It rounds nothing; a power of its own is chosen around another centre, which changes no value.
    assert found.value == pytest.approx(case["value"], abs=1e-9)
    assert found.error == pytest.approx((high - low) / 2 / Z, abs=1e-9)
    ours = found.interval()
    assert ours.low <= low
    assert ours.high >= high


@given(labelled, verdicts)
def test_a_power_of_zero_is_the_mean_of_the_labels(pairs, judged):
    human, judge = zip(*pairs, strict=True)
    found = powered_mean(human, judge, judged, power=0.0)
    assert found is not None
    assert found.value == pytest.approx(sum(human) / len(human))


@given(labelled, verdicts)
def test_the_chosen_power_is_a_weight_and_the_rate_stays_possible(pairs, judged):
    human, judge = zip(*pairs, strict=True)
    found, rate = powered_mean(human, judge, judged), powered_rate(human, judge, judged)
    assert found is not None
    assert rate is not None
    value, interval = rate
    assert 0 <= found.power <= 1
    assert 0 <= interval.low <= value <= interval.high <= 1


@given(labelled, verdicts)
def test_swapping_the_verdicts_mirrors_the_rate(pairs, judged):
    human, judge = zip(*pairs, strict=True)
    found = powered_mean(human, judge, judged)
    mirrored = powered_mean([1 - y for y in human], [1 - f for f in judge], [1 - f for f in judged])
    assert found is not None
    assert mirrored is not None
    assert mirrored.value == pytest.approx(1 - found.value)
    assert mirrored.error == pytest.approx(found.error, abs=1e-12)


def test_a_judge_without_errors_in_a_few_labels_is_not_perfect():
    human = [1.0, 0.0] * 5
    found = powered_mean(human, human, [1.0, 0.0] * 500)
    assert found is not None
    interval = found.interval()
    assert interval.high - interval.low > 0.2


def test_the_p_value_is_one_half_at_the_estimate_and_falls_with_the_bound():
    found = powered_mean([1.0, 0.0, 1.0, 1.0], [1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0])
    assert found is not None
    assert found.p_value_below(found.value) == pytest.approx(0.5)
    assert found.p_value_below(found.value + 1) < found.p_value_below(found.value + 0.5) < 0.5


def test_too_little_data_has_no_mean():
    assert powered_mean([1.0], [1.0], [1.0, 0.0]) is None
    assert powered_mean([1.0, 0.0], [1.0, 0.0], [1.0]) is None
    assert powered_rate([], [], [1.0, 0.0]) is None


@pytest.mark.long
def test_intervals_hold_the_truth_and_corrected_blocks_are_rare():
    from benchmarks.judge_correction import CASES, broken_promises, simulate

    for case in CASES:
        found = simulate(case, 2000, 5)
        assert broken_promises(case, found, 2000) == []
        if case.favour and not case.drop:
            assert found.uncorrected > 0.9 * 2000
            assert found.plain_rate_held < 0.1 * 2000


def test_the_simulated_judge_has_the_errors_that_the_page_says():
    from benchmarks.judge_correction import CASES, draw

    source = np.random.default_rng(2)
    base, head, of_base, of_head = (
        np.concatenate(part)
        for part in zip(*(draw(source, CASES[2]) for _ in range(200)), strict=True)
    )
    assert base.mean() == pytest.approx(0.8, abs=0.01)
    assert head.mean() == pytest.approx(0.8, abs=0.01)
    passed = (of_base[base].mean() + of_head[head].mean()) / 2
    failed = 1 - (of_base[~base].mean() + of_head[~head].mean()) / 2
    assert passed == pytest.approx(0.9, abs=0.01)
    assert failed == pytest.approx(0.8, abs=0.01)
    assert of_base.mean() - of_head.mean() == pytest.approx(0.16, abs=0.02)
