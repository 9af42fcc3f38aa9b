"""Position bias and length bias of a judge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.stats.judges.calibration import roc_auc
from gatekeeper.stats.judges.judge_bias import length_bias, position_bias

choices = st.sampled_from(["first", "second", "tie"])


def test_a_judge_that_follows_the_output_has_no_position_bias():
    found = position_bias([("first", "second"), ("second", "first"), ("tie", "tie")])
    assert found.contradictory is not None
    assert found.contradictory.value == 0
    assert found.for_first is None


def test_a_judge_that_always_names_the_first_place_contradicts_itself():
    found = position_bias([("first", "first")] * 9 + [("second", "second")] + [("tie", "first")])
    assert found.contradictory is not None
    assert found.for_first is not None
    assert found.contradictory.value == 1
    assert found.place_bound == 10
    assert found.for_first.value == 0.9
    assert found.for_first.interval is not None
    assert found.for_first.interval.low > 0.5


@given(st.lists(st.tuples(choices, choices), max_size=30))
def test_the_order_in_which_orders_are_asked_does_not_matter(decisions):
    assert position_bias(decisions) == position_bias([(b, a) for a, b in decisions])
    found = position_bias(decisions)
    assert found.pairs == len(decisions)
    assert (found.contradictory is None) == (not decisions)


def test_length_bias_is_the_area_if_all_labels_are_alike():
    lengths, judge = [1.0, 2.0, 3.0, 4.0], [False, True, False, True]
    found, area = length_bias(lengths, [True] * 4, judge), roc_auc(lengths, judge)
    assert found is not None
    assert area is not None
    assert found.value == pytest.approx(area.value)


def test_length_bias_is_not_that_good_outputs_are_longer():
    """Within good and within bad ones the judge looks at nothing but quality and chance."""
    source = np.random.default_rng(4)
    human = source.random(600) < 0.5
    lengths = source.normal(100, 10, 600) + 40 * human
    fair = source.random(600) < np.where(human, 0.9, 0.2)
    found = length_bias(lengths.tolist(), human.tolist(), fair.tolist())
    assert found is not None
    assert found.interval is not None
    assert found.interval.low < 0.5 < found.interval.high
    swayed = fair | (lengths > np.where(human, 145, 105))
    found = length_bias(lengths.tolist(), human.tolist(), swayed.tolist())
    assert found is not None
    assert found.interval is not None
    assert found.interval.low > 0.55


def test_length_bias_needs_both_verdicts_of_the_judge():
    assert length_bias([1.0, 2.0], [True, False], [True, False]) is None
    assert length_bias([], [], []) is None


@pytest.mark.long
def test_the_interval_of_the_length_bias_holds_one_half_if_there_is_none():
    source, held = np.random.default_rng(9), 0
    for _ in range(1000):
        human = source.random(80) < 0.6
        judge = source.random(80) < np.where(human, 0.85, 0.25)
        found = length_bias(source.random(80).tolist(), human.tolist(), judge.tolist())
        assert found is not None
        assert found.interval is not None
        held += found.interval.low <= 0.5 <= found.interval.high
    # An interval for large samples; a stratum has about 30 outputs.
    assert held >= 915
