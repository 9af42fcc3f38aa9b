"""Confusion, sensitivity and specificity of a judge; rates corrected by them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reference_values import ends

from gatekeeper.stats.intervals.intervals import rate_interval
from gatekeeper.stats.judges.agreement import cohen_kappa
from gatekeeper.stats.judges.judge_accuracy import Confusion, count_confusion
from gatekeeper.stats.judges.label_shift import corrected_difference, corrected_rate

labels = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40)
confusions = st.builds(Confusion, *[st.integers(0, 60)] * 4)


@given(labels)
def test_counts_add_up_and_kappa_is_that_of_the_verdicts(pairs):
    human, judge = [a for a, _ in pairs], [b for _, b in pairs]
    found = count_confusion(human, judge)
    assert found.labels == len(pairs)
    assert found.human_passes == sum(human)
    assert found.kappa() == cohen_kappa(human, judge)
    assert count_confusion(*found.verdicts()) == found


def test_rates_of_a_confusion_by_hand():
    found = Confusion(true_pass=45, false_pass=6, true_fail=24, false_fail=5)
    sensitivity, specificity = found.sensitivity(), found.specificity()
    assert sensitivity is not None
    assert specificity is not None
    assert sensitivity.value == 45 / 50
    assert specificity.value == 24 / 30
    assert sensitivity.interval == rate_interval(45, 50)


def test_labels_of_one_kind_have_no_rate_of_the_other():
    assert Confusion(3, 0, 0, 1).specificity() is None
    assert Confusion(0, 1, 3, 0).sensitivity() is None
    assert Confusion(0, 0, 0, 0).kappa() is None
    with pytest.raises(ValueError, match="true_pass"):
        Confusion(-1, 0, 0, 0)


def test_the_corrected_rate_is_that_of_rogan_and_gladen():
    found = corrected_rate(0.62, 400, Confusion(90, 20, 80, 10))
    assert found is not None
    assert found.value == pytest.approx((0.62 + 0.8 - 1) / 0.7)


def test_the_interval_is_that_of_lang_and_reiczigel():
    """Computed by hand from the formulas of the article, for 62 of 100, 27 of 30 and 24 of 30."""
    found = corrected_rate(0.62, 100, Confusion(27, 6, 24, 3))
    assert found is not None
    assert found.interval is not None
    z2 = 1.959963984540054**2
    seen, hit, right = (62 + z2 / 2) / (100 + z2), 28 / 32, 25 / 32
    rate = (seen + right - 1) / (hit + right - 1)
    of_hit, of_right = hit * (1 - hit) / 32, right * (1 - right) / 32
    shift = 2 * z2 * (rate * of_hit - (1 - rate) * of_right)
    spread = seen * (1 - seen) / (100 + z2) + rate**2 * of_hit + (1 - rate) ** 2 * of_right
    half = z2**0.5 * spread**0.5 / (hit + right - 1)
    assert ends(found.interval) == pytest.approx((rate + shift - half, rate + shift + half))


@given(st.floats(0, 1), st.integers(1, 500), confusions)
def test_corrected_rates_stay_possible(observed, units, confusion):
    found = corrected_rate(observed, units, confusion)
    if found is None:
        return
    assert found.interval is not None
    assert 0 <= found.value <= 1
    assert 0 <= found.interval.low <= found.interval.high <= 1


def test_a_judge_that_hardly_tells_good_from_bad_corrects_nothing():
    guess = Confusion(50, 50, 50, 50)
    assert corrected_rate(0.5, 100, guess) is None
    assert corrected_difference(0.1, 0.05, guess) is None
    assert corrected_rate(0.5, 100, Confusion(50, 0, 0, 5)) is None


def test_more_labels_narrow_the_interval():
    few = corrected_rate(0.62, 400, Confusion(27, 6, 24, 3))
    many = corrected_rate(0.62, 400, Confusion(270, 60, 240, 30))
    assert few is not None
    assert many is not None
    assert few.interval is not None
    assert many.interval is not None
    assert many.interval.high - many.interval.low < 0.75 * (few.interval.high - few.interval.low)


def test_a_difference_is_scaled_by_what_the_judge_can_tell():
    found = corrected_difference(-0.07, 0.02, Confusion(90, 20, 80, 10))
    assert found is not None
    assert found.interval is not None
    assert found.value == pytest.approx(-0.1)
    assert found.interval.low < -0.1 - 1.95 * 0.02 / 0.7
    plain = corrected_difference(0.0, 0.02, Confusion(90, 20, 80, 10))
    assert plain is not None
    assert plain.interval is not None
    assert plain.interval.high == pytest.approx(1.959964 * 0.02 / 0.7)


@pytest.mark.long
def test_labels_of_an_earlier_run_still_give_intervals_that_hold_the_truth():
    from benchmarks.judge_correction import SHIFTS, simulate_shift

    for old_rate, count in SHIFTS:
        plain, powered, corrected = simulate_shift(old_rate, count, 2000, 7)
        assert corrected >= 0.94 * 2000 - 2 * np.sqrt(2000 * 0.94 * 0.06)
        assert plain < 0.6 * 2000
        if old_rate < 0.8:
            assert powered < 0.6 * 2000
