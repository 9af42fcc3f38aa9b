"""Kappa: do two judges agree?"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reference_values import cases, ends

from gatekeeper.stats.estimate import Estimate
from gatekeeper.stats.judges.agreement import cohen_kappa, fleiss_kappa

Z = 1.959963984540054

labels = st.sampled_from("abc")
pairs = st.lists(st.tuples(labels, labels), max_size=40)
ratings = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.integers(0, 2), min_size=raters, max_size=raters).map(
            lambda given: [given.count(k) for k in range(3)]
        ),
        min_size=1,
        max_size=30,
    )
)


def labelled(table):
    """Two raters' labels with this table of agreement."""
    cells = [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)]
    return [i for i, _ in cells], [j for _, j in cells]


def columns(items):
    return [x for x, _ in items], [y for _, y in items]


def permuted(items, random):
    moved = list(items)
    random.shuffle(moved)
    return moved


def same(a, b):
    """Equal but for the rounding of sums."""
    if a is None or b is None or a.interval is None or b.interval is None:
        return a == b or (a is not None and b is not None and math.isclose(a.value, b.value))
    return ends(a.interval) == pytest.approx(ends(b.interval), rel=1e-6, abs=1e-9)


def is_sound(estimate):
    if estimate is None:
        return
    assert -1 <= estimate.value <= 1
    if estimate.interval is not None:
        low, high = ends(estimate.interval)
        assert -1 <= low <= estimate.value <= high <= 1
        assert low < high


@pytest.mark.parametrize("case", cases("cohen", "agreement"))
def test_cohens_kappa_agrees_with_statsmodels(case):
    found = cohen_kappa(*labelled(case["table"]))
    low, high = case["interval"]
    assert found.value == pytest.approx(case["value"], rel=1e-12)
    assert ends(found.interval) == pytest.approx((max(-1, low), min(1, high)), rel=1e-9)
    wider = cohen_kappa(*labelled(case["table"]), confidence=0.99).interval
    assert wider.low <= found.interval.low
    assert wider.high >= found.interval.high


def test_cohens_kappa_is_the_one_published():
    (case,) = cases("cohen_published", "agreement")
    found = cohen_kappa(*labelled(case["table"]))
    assert found.value == pytest.approx(case["value"], abs=5e-8)
    error = (found.interval.high - found.interval.low) / 2 / Z
    assert error == pytest.approx(case["error"], rel=1e-4)


@pytest.mark.parametrize("case", cases("fleiss", "agreement"))
def test_fleiss_kappa_agrees_with_statsmodels_and_irrcac(case):
    found = fleiss_kappa(case["counts"])
    assert found.value == pytest.approx(case["value"], rel=1e-9)
    assert ends(found.interval) == pytest.approx(case["interval"], abs=1e-9)


def test_fleiss_kappa_is_the_one_published():
    (case,) = cases("fleiss_published", "agreement")
    assert round(fleiss_kappa(case["counts"]).value, 3) == case["value"]


def test_the_interval_of_fleiss_kappa_is_near_that_of_the_jackknife():
    counts = cases("fleiss", "agreement")[0]["counts"]
    found = fleiss_kappa(counts)
    left_out = [fleiss_kappa(counts[:i] + counts[i + 1 :]).value for i in range(len(counts))]
    n = len(counts)
    error = math.sqrt((n - 1) / n * sum((k - np.mean(left_out)) ** 2 for k in left_out))
    half = (found.interval.high - found.interval.low) / 2
    assert half == pytest.approx(2.0452296 * error, rel=0.03)  # t, 29 degrees of freedom


@given(pairs, st.randoms())
def test_cohens_kappa_knows_neither_rater_nor_order_nor_name_of_a_label(items, random):
    a, b = columns(items)
    found = cohen_kappa(a, b)
    is_sound(found)
    assert cohen_kappa(b, a) == found
    assert cohen_kappa(*columns(permuted(items, random))) == found
    assert cohen_kappa([ord(x) for x in a], [ord(x) for x in b]) == found


@given(pairs)
def test_raters_who_always_agree_have_kappa_1_and_no_interval(items):
    a, _ = columns(items)
    assert cohen_kappa(a, a) == (Estimate(1.0, None) if len(set(a)) > 1 else None)


@given(ratings, st.randoms())
def test_fleiss_kappa_knows_no_order_of_subjects_or_categories(counts, random):
    found = fleiss_kappa(counts)
    is_sound(found)
    assert same(fleiss_kappa(permuted(counts, random)), found)
    assert same(fleiss_kappa([row[::-1] for row in counts]), found)
    assert same(fleiss_kappa([[*row, 0] for row in counts]), found)


@given(ratings)
def test_fleiss_kappa_is_at_least_that_of_raters_who_never_agree(counts):
    found = fleiss_kappa(counts)
    if found is not None:
        assert found.value >= -1 / (sum(counts[0]) - 1) - 1e-12


def test_without_data_nothing_is_known():
    assert cohen_kappa([], []) is None
    assert fleiss_kappa([]) is None


def test_raters_who_never_vary_have_no_kappa():
    assert cohen_kappa("aaa", "aaa") is None
    assert cohen_kappa("a", "a") is None
    assert fleiss_kappa([[3, 0], [3, 0]]) is None


def test_one_rater_who_never_varies_agrees_as_often_as_chance():
    assert cohen_kappa("aaaa", "aaab") == Estimate(0.0, None)
    assert cohen_kappa("aaaa", "bbbb") == Estimate(0.0, None)


def test_perfect_agreement_is_no_certainty():
    assert fleiss_kappa([[2, 0], [0, 2], [2, 0]]) == Estimate(1.0, None)
    assert fleiss_kappa([[1, 1]]) == Estimate(-1.0, None)
