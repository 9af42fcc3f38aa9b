"""McNemar's mid-p value and chi-squares, which stand beside the exact test."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reference_values import cases

from gatekeeper.stats.mcnemar import mcnemar_chi_square, mcnemar_exact, mcnemar_mid_p

counts = st.integers(0, 300)


@pytest.mark.parametrize("case", cases("mid_p", "comparisons"))
def test_the_mid_p_value_agrees_with_scipy(case):
    broke, fixed = case["broke"], case["fixed"]
    assert mcnemar_mid_p(broke, fixed) == pytest.approx(case["worse"], rel=1e-9)
    assert mcnemar_mid_p(broke, fixed, "two-sided") == pytest.approx(case["two_sided"], rel=1e-9)


@pytest.mark.parametrize("case", cases("chi_square", "comparisons"))
def test_the_chi_squares_agree_with_statsmodels(case):
    broke, fixed = case["broke"], case["fixed"]
    found = mcnemar_chi_square(broke, fixed, corrected=False)
    assert found == pytest.approx(case["uncorrected"], rel=1e-10)
    if "corrected" in case:
        assert mcnemar_chi_square(broke, fixed) == pytest.approx(case["corrected"], rel=1e-10)


@pytest.mark.parametrize("case", cases("mcnemar_published", "comparisons"))
def test_all_four_are_the_published_ones(case):
    broke, fixed = case["broke"], case["fixed"]
    found = {
        "mid_p": mcnemar_mid_p(broke, fixed, "two-sided"),
        "uncorrected": mcnemar_chi_square(broke, fixed, corrected=False),
        "corrected": mcnemar_chi_square(broke, fixed),
        "exact": mcnemar_exact(broke, fixed, "two-sided"),
    }
    assert found == {name: pytest.approx(case[name], abs=5e-7) for name in found}


def test_without_a_changed_fixture_there_is_no_evidence():
    assert mcnemar_mid_p(0, 0) == mcnemar_mid_p(0, 0, "two-sided") == 1.0
    assert mcnemar_chi_square(0, 0) == mcnemar_chi_square(0, 0, corrected=False) == 1.0


@given(counts, st.integers(1, 300))
def test_more_broken_is_more_evidence_and_more_fixed_is_less(broke, fixed):
    p = mcnemar_mid_p(broke, fixed)
    assert 0 < mcnemar_mid_p(broke + 1, fixed) <= p <= mcnemar_mid_p(broke, fixed + 1) <= 1


@given(counts, counts)
def test_the_mid_p_value_is_below_the_exact_one(broke, fixed):
    for alternative in ("worse", "two-sided"):
        exact = mcnemar_exact(broke, fixed, alternative)
        assert 0 < mcnemar_mid_p(broke, fixed, alternative) <= exact


@given(counts, counts)
def test_one_sided_mid_p_values_add_up_and_two_sided_ones_know_no_side(broke, fixed):
    p, mirrored = mcnemar_mid_p(broke, fixed), mcnemar_mid_p(fixed, broke)
    both = mcnemar_mid_p(broke, fixed, "two-sided")
    assert both == mcnemar_mid_p(fixed, broke, "two-sided")
    if broke + fixed:
        assert p + mirrored == pytest.approx(1)
    if broke != fixed:
        assert both == pytest.approx(2 * min(p, mirrored))


@given(counts, counts)
def test_the_correction_is_careful_and_no_side_matters(broke, fixed):
    plain, corrected = (mcnemar_chi_square(broke, fixed, c) for c in (False, True))
    assert 0 <= plain <= corrected <= 1
    assert corrected == mcnemar_chi_square(fixed, broke)
    if broke == fixed:
        assert plain == corrected == 1.0


def test_large_counts_join_small_ones_without_a_step():
    for p in (mcnemar_mid_p, mcnemar_chi_square):
        below, above = p(1030, 970), p(1031, 971)
        assert below == pytest.approx(above, rel=0.01)
    assert mcnemar_mid_p(2001, 0) == pytest.approx(2.0**-2002)
    assert mcnemar_mid_p(1001, 1001, "two-sided") == pytest.approx(
        1 - 0.5 * math.exp(math.lgamma(2003) - 2 * math.lgamma(1002) - 2002 * math.log(2)),
        rel=1e-9,
    )


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: mcnemar_mid_p(-1, 0), "broke"),
        (lambda: mcnemar_mid_p(0, True), "fixed"),
        (lambda: mcnemar_mid_p(1, 1, "greater"), "alternative"),
        (lambda: mcnemar_chi_square(0.5, 0), "broke"),
        (lambda: mcnemar_chi_square(0, -1), "fixed"),
    ],
)
def test_a_wrong_argument_is_named(call, named):
    with pytest.raises(ValueError, match=rf"^{named}: "):
        call()
