"""Effect sizes and the paired t-test."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reference_values import cases

from gatekeeper.stats.effect import cohen_d_paired, cohen_h, paired_t_test

differences = st.lists(st.integers(-100, 100).map(float), min_size=2, max_size=40).filter(
    lambda values: min(values) < max(values)
)
rates = st.floats(0, 1)


@pytest.mark.parametrize("case", cases("paired_t", "comparisons"))
def test_the_t_test_agrees_with_scipy_and_d_with_statsmodels(case):
    found = paired_t_test(case["differences"])
    assert found.statistic == pytest.approx(case["statistic"], rel=1e-12)
    assert found.p_worse == pytest.approx(case["worse"], rel=1e-10)
    assert cohen_d_paired(case["differences"]) == pytest.approx(case["d_z"], rel=1e-12)


@given(differences, st.randoms())
def test_order_does_not_matter_and_sides_mirror_each_other(values, random):
    shuffled = list(values)
    random.shuffle(shuffled)
    found, mirrored = paired_t_test(values), paired_t_test([-value for value in values])
    assert paired_t_test(shuffled) == found
    assert mirrored.statistic == -found.statistic
    assert mirrored.p_worse == pytest.approx(1 - found.p_worse)
    assert 0 <= found.p_worse <= 1


@given(differences, st.floats(0.1, 100))
def test_lower_differences_are_more_evidence_of_worse(values, less):
    worse = paired_t_test([value - less for value in values])
    assert worse.p_worse <= paired_t_test(values).p_worse + 1e-12


@given(differences, st.sampled_from([1e-300, 1e-3, 1e300]))
def test_the_unit_does_not_matter(values, unit):
    scaled = cohen_d_paired([unit * value for value in values])
    assert scaled == pytest.approx(cohen_d_paired(values), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "values", [[], [1.0], [0.0, 0.0], [0.1] * 7, [-2.5, -2.5], [1e300] * 3, [5e-324] * 2]
)
def test_without_scatter_nothing_is_known(values):
    assert cohen_d_paired(values) is None
    assert paired_t_test(values) is None


@pytest.mark.parametrize("case", cases("cohen_h", "comparisons"))
def test_h_agrees_with_statsmodels(case):
    assert cohen_h(case["base"], case["head"]) == pytest.approx(case["h"], rel=1e-12)


@given(rates, rates)
def test_h_has_the_sign_of_the_change_and_mirrors(base, head):
    h = cohen_h(base, head)
    assert -math.pi <= h <= math.pi
    assert cohen_h(head, base) == -h
    assert cohen_h(1 - base, 1 - head) == pytest.approx(-h, abs=1e-7)
    assert h <= 0 if head <= base else h >= 0


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: cohen_d_paired([1.0, math.nan]), "differences"),
        (lambda: paired_t_test([1.0, math.inf]), "differences"),
        (lambda: cohen_h(-0.1, 0.5), "base_rate"),
        (lambda: cohen_h(0.5, 1.1), "head_rate"),
        (lambda: cohen_h(0.5, math.nan), "head_rate"),
    ],
)
def test_a_wrong_argument_is_named(call, named):
    with pytest.raises(ValueError, match=rf"^{named}: "):
        call()
