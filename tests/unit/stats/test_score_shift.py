"""Mean scores corrected by older labels: a straight line from people's scores to the judge's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.stats.judges.judge_accuracy import count_confusion
from gatekeeper.stats.judges.label_shift import corrected_rate
from gatekeeper.stats.judges.score_shift import corrected_mean

share = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
labels = st.lists(st.tuples(share, share), min_size=2, max_size=30)


def test_scores_of_zero_and_one_give_the_estimate_of_sensitivity_and_specificity():
    human = [1.0] * 100 + [0.0] * 100
    judge = [1.0] * 90 + [0.0] * 10 + [1.0] * 20 + [0.0] * 80
    confusion = count_confusion([x == 1 for x in human], [x == 1 for x in judge])
    found, rate = corrected_mean(0.62, 0.02, human, judge), corrected_rate(0.62, 500, confusion)
    assert found is not None
    assert rate is not None
    assert found.value == pytest.approx(rate.value) == pytest.approx(0.6)
    assert found.interval is not None
    assert rate.interval is not None
    assert found.interval.low == pytest.approx(rate.interval.low, abs=0.03)
    assert found.interval.high == pytest.approx(rate.interval.high, abs=0.03)


@given(labels, share, st.floats(0.0, 0.2))
def test_the_interval_holds_the_value_and_stays_possible(pairs, observed, error):
    human, judge = zip(*pairs, strict=True)
    found = corrected_mean(observed, error, human, judge)
    if found is not None:
        assert found.interval is not None
        assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1


@pytest.mark.parametrize(
    ("human", "judge"),
    [
        ([0.0, 1.0] * 4, [0.0, 1.0] * 4),  # too few
        ([0.5] * 20, [0.4, 0.6] * 10),  # people gave one score
        ([0.5] * 19 + [1.0], [0.5] * 19 + [1.0]),  # one label alone makes the line
        ([0.0, 1.0] * 10, [0.7] * 20),  # the judge gives one score
        ([0.0, 1.0] * 10, [1.0, 0.0] * 10),  # the judge says the opposite
    ],
)
def test_labels_that_say_too_little_correct_nothing(human, judge):
    assert corrected_mean(0.5, 0.01, human, judge) is None


def test_a_line_that_may_be_level_leaves_every_score_possible():
    human, judge = [0.0, 1.0] * 6, [0.3, 0.9, 0.9, 0.3, 0.2, 0.9, 0.9, 0.8, 0.1, 0.2, 0.5, 0.9]
    found = corrected_mean(0.6, 0.05, human, judge)
    assert found is not None
    assert (found.interval.low, found.interval.high) == (0, 1)


@pytest.mark.parametrize("labels", [30, 100])
def test_the_interval_holds_the_truth_although_the_labels_are_of_worse_outputs(labels):
    source, held, runs = np.random.default_rng(3), 0, 300
    scores = np.array([0, 0.25, 0.5, 0.75, 1])
    now, then = [0.05, 0.1, 0.15, 0.3, 0.4], [0.3, 0.25, 0.2, 0.15, 0.1]
    truth = float(scores @ now)

    def judged(human):
        raw = 0.25 + 0.6 * human + source.normal(0, 0.15, human.shape)
        return np.clip(np.round(raw * 4) / 4, 0, 1)

    for _ in range(runs):
        old, outputs = source.choice(scores, labels, p=then), source.choice(scores, 300, p=now)
        said = judged(outputs)
        error = float(said.std(ddof=1)) / 300**0.5
        found = corrected_mean(float(said.mean()), error, old.tolist(), judged(old).tolist())
        held += found is None or found.interval.low <= truth <= found.interval.high
    assert held / runs >= 0.94
