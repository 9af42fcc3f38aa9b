"""ROC and the best threshold: is a score a good judge?"""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reference_values import cases, ends

from gatekeeper.stats.estimate import Estimate
from gatekeeper.stats.judges.calibration import Threshold, best_threshold, roc_auc

Z = 1.959963984540054

items = st.lists(st.tuples(st.integers(-20, 20), st.booleans()), max_size=40)


def columns(rows):
    return [score for score, _ in rows], [label for _, label in rows]


def logit(p):
    return math.log(p / (1 - p))


@pytest.mark.parametrize("case", cases("auc", "agreement"))
def test_the_area_agrees_with_scikit_learn_and_its_error_with_every_pair(case):
    found = roc_auc(case["scores"], case["labels"])
    assert found.value == pytest.approx(case["value"], rel=1e-12)
    low, high = map(logit, ends(found.interval))
    assert (low + high) / 2 == pytest.approx(logit(case["value"]), abs=1e-9)
    error = (high - low) / 2 / Z * case["value"] * (1 - case["value"])
    assert error == pytest.approx(case["error"], rel=1e-9)


@pytest.mark.parametrize("case", cases("threshold", "agreement"))
def test_the_threshold_agrees_with_scikit_learn(case):
    found = best_threshold(case["scores"], case["labels"])
    assert found.threshold == case["threshold"]
    for name in ("f1", "precision", "recall"):
        assert getattr(found, name) == pytest.approx(case[name], rel=1e-12)


@given(items, st.randoms())
def test_the_area_is_the_share_of_pairs_in_order_and_knows_no_order_of_items(rows, random):
    scores, labels = columns(rows)
    found = roc_auc(scores, labels)
    moved = list(rows)
    random.shuffle(moved)
    assert roc_auc(*columns(moved)) == found
    positive = [score for score, label in rows if label]
    negative = [score for score, label in rows if not label]
    if not positive or not negative:
        assert found is None
        return
    wins = sum((p > n) + (p == n) / 2 for p, n in itertools.product(positive, negative))
    assert found.value == wins / (len(positive) * len(negative))
    if found.interval is not None:
        low, high = ends(found.interval)
        assert 0 < low < found.value < high < 1


@given(items)
def test_the_area_sees_only_the_order_of_scores(rows):
    scores, labels = columns(rows)
    assert roc_auc([math.exp(score) for score in scores], labels) == roc_auc(scores, labels)


@given(items)
def test_turning_the_score_or_the_labels_round_turns_the_area_round(rows):
    scores, labels = columns(rows)
    found = roc_auc(scores, labels)
    for turned in (
        roc_auc([-score for score in scores], labels),
        roc_auc(scores, [not label for label in labels]),
    ):
        if found is None:
            assert turned is None
            continue
        assert turned.value == pytest.approx(1 - found.value)
        assert (turned.interval is None) == (found.interval is None)
        if found.interval is not None:
            low, high = ends(found.interval)
            assert ends(turned.interval) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@given(items)
def test_no_threshold_has_a_better_f1(rows):
    scores, labels = columns(rows)
    found = best_threshold(scores, labels)
    if not any(labels):
        assert found is None
        return
    f1 = {}
    for threshold in scores:
        called = [label for score, label in rows if score >= threshold]
        f1[threshold] = 2 * sum(called) / (len(called) + sum(labels))
    assert found.f1 == pytest.approx(max(f1.values()))
    assert found.threshold == max(t for t in f1 if math.isclose(f1[t], found.f1))
    assert found.f1 == pytest.approx(
        2 * found.precision * found.recall / (found.precision + found.recall)
    )


def test_a_score_that_separates_has_area_1_and_no_interval():
    scores, labels = [0.1, 0.2, 0.8, 0.9], [False, False, True, True]
    assert roc_auc(scores, labels) == Estimate(1.0, None)
    assert roc_auc(scores, [not label for label in labels]) == Estimate(0.0, None)
    assert best_threshold(scores, labels) == Threshold(0.8, 1.0, 1.0, 1.0)


def test_a_score_that_never_varies_knows_nothing():
    scores, labels = [0.5] * 4, [False, False, True, True]
    assert roc_auc(scores, labels) == Estimate(0.5, None)
    assert best_threshold(scores, labels) == Threshold(0.5, 2 / 3, 0.5, 1.0)


@pytest.mark.parametrize("labels", [[], [True, True], [False]])
def test_one_kind_of_item_has_no_area(labels):
    assert roc_auc([0.5] * len(labels), labels) is None


def test_one_item_of_a_kind_has_an_area_without_an_interval():
    assert roc_auc([1, 2, 3], [True, False, True]) == Estimate(0.5, None)
    assert roc_auc([1, 2, 3], [False, True, False]) == Estimate(0.5, None)


def test_without_a_positive_item_there_is_no_threshold():
    assert best_threshold([], []) is None
    assert best_threshold([0.1, 0.9], [False, False]) is None


def test_of_equally_good_thresholds_the_highest_is_taken():
    found = best_threshold([4, 3, 2, 1], [True, False, False, True])
    assert found == Threshold(4.0, 2 / 3, 1.0, 0.5)  # 2/3 at 4 and again at 1


def test_scores_may_be_infinite():
    scores, labels = [-math.inf, 0.0, math.inf], [False, True, True]
    assert roc_auc(scores, labels) == Estimate(1.0, None)
    assert best_threshold(scores, labels).threshold == 0.0
