"""Paired counts over distinct inputs."""

from __future__ import annotations

import pytest
from support.outcomes import outcome
from support.random_comparisons import compared, once

from gatekeeper.contract.values.definition import GatePolicy
from gatekeeper.gate.comparison.pair_counts import Pairs, count_pairs, fate, method, paired_result
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.gate.samples.outcomes import aggregate
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.paired.mcnemar import mcnemar_exact


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


def test_nothing_known_has_no_p_value_and_no_difference():
    result = reported(once(unknown=7))

    assert (result.p_value, result.difference, result.interval) == (None, None, None)
    assert (result.unknown, result.unmeasured) == (7, 7)
    assert result.alternative_methods == {}


def test_the_difference_is_head_minus_base():
    result = reported(once(same=5, broke=4, fixed=1))

    assert result.difference == pytest.approx(-0.3)
    assert result.interval.low < -0.3 < result.interval.high
    assert result.fixtures == 10
    assert result.p_value == mcnemar_exact(4, 1)
    assert result.alternative_methods["mcnemar_exact"] == result.p_value


def test_unknown_fixtures_count_as_if_they_spoke_for_head():
    nothing_known = {f"lost{i}": ([None], [None]) for i in range(2)}

    assert reported(once(broke=8) | nothing_known).p_value == mcnemar_exact(8, 2)
    # Base is known to pass: head can have done no better.
    assert reported(once(broke=8, unknown=2)).p_value == mcnemar_exact(8, 0)


def test_several_samples_are_compared_by_their_counts():
    """Every fixture fails one time in five more often: no fixture's outcome changes."""
    result = reported({f"f{i}": ([True] * 5, [True] * 4 + [False]) for i in range(10)})

    assert (result.broke, result.fixed) == (0, 0)
    assert result.method == "exact sign-flip test"
    assert not result.sequential
    assert result.p_value == 2**-10
    assert result.difference == pytest.approx(-0.2)
    assert result.rounds == 5


def test_the_interval_of_a_difference_without_scatter_is_not_a_point():
    result = reported({f"f{i}": ([True] * 3, [True] * 3) for i in range(20)})

    assert result.intervals["bootstrap_fixtures"] == ConfidenceInterval(0, 0)
    assert result.interval == result.intervals["newcombe"]
    assert result.interval.low < -0.1


@pytest.mark.parametrize(
    ("samples", "mode", "name"),
    [
        (1, "fixed", "exact McNemar test"),
        (4, "fixed", "exact sign-flip test"),
        (1, "adaptive", "sequential McNemar test"),
        (4, "adaptive", "sequential sign-flip test"),
    ],
)
def test_the_test_is_named_after_the_design(samples, mode, name):
    arms = {f"f{i}": ([True] * samples, [True] * samples) for i in range(6)}

    assert method(compared(arms, mode=mode).test) == name


def test_what_could_have_been_seen_is_no_less_for_fixtures_that_flicker():
    still = reported(once(same=40))
    flickering = reported(once(same=34, broke=3, fixed=3))

    assert still.minimum_detectable_effect < flickering.minimum_detectable_effect <= 1
    assert reported(once(same=1)).minimum_detectable_effect is None


def test_latency_and_cost_are_compared_by_fixture():
    outcomes = [
        outcome(f"f{i}", arm, 0, True, latency=100.0 * i + more, cost=0.01 + more / 1000)
        for i in range(9)
        for arm, more in (("base", 0.0), ("head", 5.0))
    ]
    found = reported(once(same=9), outcomes)

    assert found.latency_difference_ms.value == pytest.approx(5)
    assert found.latency_difference_ms.interval.low == pytest.approx(5)
    assert found.cost_difference_usd.value == pytest.approx(0.005)
    assert reported(once(same=9)).latency_difference_ms is None


def reported(arms, outcomes=(), **sampling):
    comparison = compared(arms, **sampling)
    fixtures = [
        fixture(name, *(aggregate("majority", told(passes), len(passes)) for passes in both))
        for name, both in arms.items()
    ]
    gate = GatePolicy(margin=0.05)
    return paired_result(count_pairs(fixtures), comparison, outcomes, gate, 0.05, "exhausted")


def told(passes):
    return [outcome("f", "head", i, passed) for i, passed in enumerate(passes)]
