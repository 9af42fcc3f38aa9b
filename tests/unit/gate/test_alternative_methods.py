"""McNemar's chi-squares, which stand beside the exact test."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reference_values import cases

from gatekeeper.stats.paired.mcnemar import mcnemar_chi_square, mcnemar_exact

counts = st.integers(0, 300)


@pytest.mark.parametrize("case", cases("chi_square", "comparisons"))
def test_the_chi_squares_agree_with_statsmodels(case):
    broke, fixed = case["broke"], case["fixed"]
    found = mcnemar_chi_square(broke, fixed, corrected=False)
    assert found == pytest.approx(case["uncorrected"], rel=1e-10)
    if "corrected" in case:
        assert mcnemar_chi_square(broke, fixed) == pytest.approx(case["corrected"], rel=1e-10)


@pytest.mark.parametrize("case", cases("mcnemar_published", "comparisons"))
def test_all_three_are_the_published_ones(case):
    broke, fixed = case["broke"], case["fixed"]
    found = {
        "uncorrected": mcnemar_chi_square(broke, fixed, corrected=False),
        "corrected": mcnemar_chi_square(broke, fixed),
        "exact": mcnemar_exact(broke, fixed, "two-sided"),
    }
    assert found == {name: pytest.approx(case[name], abs=5e-7) for name in found}


def test_without_a_changed_fixture_there_is_no_evidence():
    assert mcnemar_chi_square(0, 0) == mcnemar_chi_square(0, 0, corrected=False) == 1.0


@given(counts, counts)
def test_the_correction_is_careful_and_no_side_matters(broke, fixed):
    plain, corrected = (mcnemar_chi_square(broke, fixed, c) for c in (False, True))
    assert 0 <= plain <= corrected <= 1
    assert corrected == mcnemar_chi_square(fixed, broke)
    if broke == fixed:
        assert plain == corrected == 1.0


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: mcnemar_chi_square(0.5, 0), "broke"),
        (lambda: mcnemar_chi_square(0, -1), "fixed"),
    ],
)
def test_a_wrong_argument_is_named(call, named):
    with pytest.raises(ValueError, match=rf"^{named}: "):
        call()
