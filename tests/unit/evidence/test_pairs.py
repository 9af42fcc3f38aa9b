"""Paired counts over distinct inputs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.evidence.pairs import Pairs, count_pairs, fate, paired_result
from gatekeeper.result import FixtureResult
from gatekeeper.stats.mcnemar import mcnemar_exact

counts = st.integers(0, 12)


def fixture(name: str, base: bool | None, head: bool | None, duplicate_of: str | None = None):
    known = None not in (base, head)
    change = None if not known else "same" if base == head else "broke" if base else "fixed"
    return FixtureResult(name, None, None, None, base, head, change, duplicate_of=duplicate_of)


def test_each_fixture_falls_into_one_cell():
    fixtures = [
        fixture("a", True, True),
        fixture("b", True, False),
        fixture("c", False, True),
        fixture("d", False, False),
        fixture("e", True, None),
    ]

    assert count_pairs(fixtures) == Pairs(both=1, broke=1, fixed=1, neither=1, unknown=1)


def test_fixtures_of_one_input_are_one_pair():
    fixtures = [fixture("a", True, False)] + [
        fixture(f"a{i}", True, False, duplicate_of="a") for i in range(9)
    ]

    assert count_pairs(fixtures) == Pairs(broke=1)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ([(True, False), (True, True)], "broke"),
        ([(True, False), (False, True), (False, True)], "fixed"),
        ([(True, False), (False, True)], "neither"),
        ([(True, False), (True, None)], "unknown"),
    ],
)
def test_a_cluster_has_the_sign_of_its_sum(members, expected):
    assert fate(members) == expected


@given(broke=counts, fixed=counts, unknown=counts)
def test_the_two_p_values_bound_what_complete_data_would_have_given(broke, fixed, unknown):
    pairs = Pairs(broke=broke, fixed=fixed, unknown=unknown)
    complete = [
        mcnemar_exact(broke + worse, fixed + better)
        for worse in range(unknown + 1)
        for better in range(unknown + 1 - worse)
    ]

    assert pairs.p_value() == pytest.approx(max(complete))
    assert pairs.best_p_value() == pytest.approx(min(complete))


def test_nothing_known_has_no_p_value_and_no_difference():
    result = paired_result(Pairs(unknown=7), 0.05, "exhausted")

    assert (result.p_value, result.difference, result.interval) == (None, None, None)


def test_the_difference_is_head_minus_base():
    result = paired_result(Pairs(both=5, broke=4, fixed=1), 0.05, "exhausted")

    assert result.difference == pytest.approx(-0.3)
    assert result.interval.low < -0.3 < result.interval.high
    assert result.fixtures == 10
