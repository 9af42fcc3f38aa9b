"""The test of one fixture drawn several times on each arm."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.stats.paired.mcnemar import fisher_exact

CASES = json.loads((Path(__file__).parents[2] / "reference" / "statistics.json").read_text())

arm = st.integers(0, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize("case", CASES["fisher"]["cases"])
def test_it_agrees_with_scipy(case):
    assert fisher_exact(*case["arms"]) == pytest.approx(case["worse"], rel=1e-9)


def test_five_passes_turned_into_five_failures_are_one_in_252():
    assert fisher_exact(5, 5, 0, 5) == 1 / 252


@given(arm, arm)
def test_it_is_a_probability_and_its_two_sides_overlap_in_what_was_seen(base, head):
    worse, better = fisher_exact(*base, *head), fisher_exact(*head, *base)
    assert 0 < worse <= 1
    assert worse + better >= 1


@given(arm, arm)
def test_one_more_pass_on_head_is_less_evidence(base, head):
    passed, n = head
    if passed < n:
        assert fisher_exact(*base, passed, n) <= fisher_exact(*base, passed + 1, n)


def test_an_arm_without_samples_is_no_evidence():
    assert fisher_exact(0, 0, 3, 5) == 1.0
    assert fisher_exact(3, 5, 0, 0) == 1.0
    assert fisher_exact(0, 0, 0, 0) == 1.0
