"""Whether nights differ by more than chance: against scipy, by simulation, with bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from gatekeeper.stats.nights.drift import homogeneity_p


def test_it_is_the_test_of_a_contingency_table():
    passed, samples = [19, 18, 12, 20, 15], [20, 20, 18, 24, 20]
    table = [passed, [n - x for x, n in zip(passed, samples, strict=True)]]
    rates = [x / n for x, n in zip(passed, samples, strict=True)]
    expected = chi2_contingency(table, correction=False).pvalue
    assert homogeneity_p(rates, samples) == pytest.approx(expected, rel=1e-12)


def test_nights_that_are_alike_differ_by_chance():
    assert homogeneity_p([0.9] * 8, [20] * 8) == 1
    assert homogeneity_p([1.0] * 8, [20] * 8) == 1
    assert homogeneity_p([0.0] * 8, [20] * 8) == 1
    assert homogeneity_p([0.4], [20]) == 1


def test_unlike_fixtures_make_it_conservative():
    """Eight nights of 20 fixtures whose rates differ: below the level in at most 1 %."""
    random = np.random.default_rng(1)
    fixtures = random.uniform(0.5, 1, 20)
    nights = random.random((4_000, 8, 20)) < fixtures
    found = [homogeneity_p(run.mean(axis=1).tolist(), [20] * 8) < 0.01 for run in nights]
    assert np.mean(found) <= 0.01
