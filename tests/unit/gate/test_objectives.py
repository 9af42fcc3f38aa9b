"""Objectives against the head arm, with and without samples that could not be measured."""

from __future__ import annotations

from collections import Counter

import pytest
from support.outcomes import contract, outcome

from gatekeeper.contract.values.objectives import read_objectives
from gatekeeper.gate.objectives.objectives import objective_status, slo_results


def head(passed: int, failed: int, lost: int = 0, **fields):
    fates = [True] * passed + [False] * failed + [None] * lost
    return [outcome(f"f{i}", "head", 0, fate, **fields) for i, fate in enumerate(fates)]


def results(objectives, outcomes, planned=None):
    """The results where every fixture should have `planned` samples: those drawn, if not said."""
    wanted = Counter(o.sample.trial.fixture for o in outcomes) if planned is None else planned
    names = dict.fromkeys(o.sample.trial.fixture for o in outcomes) | dict.fromkeys(wanted)
    return slo_results(contract(*names, slo=read_objectives(objectives)), outcomes, wanted)


def success(target: float, outcomes, planned=None):
    (result,) = results({"success_rate": target}, outcomes, planned)
    return result


@pytest.mark.parametrize(
    ("passed", "failed", "expected"),
    [(200, 0, "met"), (38, 2, "likely"), (30, 10, "missed"), (36, 4, "unlikely")],
)
def test_a_success_rate_is_met_or_missed_when_its_interval_says_so(passed, failed, expected):
    assert objective_status(success(0.95, head(passed, failed))) == expected


def test_without_clusters_inputs_are_the_units():
    assert not success(0.95, head(9, 1)).clustered


def test_a_contract_without_objectives_has_no_results():
    assert results({}, head(3, 0)) == ()


def test_nothing_measured_is_neither_met_nor_missed():
    result = success(0.9, [])

    assert (result.observed, result.met, objective_status(result)) == (None, None, "unknown")


def test_lost_calls_that_could_decide_leave_the_objective_unmeasured():
    result = success(0.95, head(40, 0, lost=10))

    assert result.unmeasured
    assert result.met is None


def test_lost_calls_that_could_not_decide_change_nothing():
    assert success(0.5, head(10, 90, lost=3)).met is False
    assert success(0.5, head(95, 5, lost=3)).met is True


def test_a_latency_with_lost_calls_counts_them_as_endless_before_it_is_met():
    objective = {"latency_p95_ms": 100}
    quick = [outcome(f"f{i}", "head", 0, True, latency=50.0) for i in range(200)]
    lost = [outcome(f"g{i}", "head", 0, None) for i in range(40)]

    (met,) = results(objective, quick)
    (open_,) = results(objective, [*quick, *lost])

    assert met.met is True
    assert open_.met is None
    assert open_.unmeasured


def test_a_slow_arm_misses_its_latency():
    slow = [outcome(f"f{i}", "head", 0, True, latency=500.0 + i) for i in range(200)]

    (result,) = results({"latency_p95_ms": 100}, slow)

    assert result.met is False
    assert result.interval.low <= result.observed <= result.interval.high


def test_an_unknown_price_never_decides():
    objective = {"cost_per_call_usd": 0.01}
    priced = [outcome(f"f{i}", "head", 0, True, cost=0.02 + i / 1e5) for i in range(30)]
    unpriced = [outcome("g", "head", 0, True, cost=None)]

    (known,) = results(objective, priced)
    (unknown,) = results(objective, [*priced, *unpriced])

    assert known.met is False
    assert (unknown.observed, unknown.met) == (None, None)


def test_samples_that_were_never_drawn_could_have_been_anything():
    drawn = [outcome(f"f{i}", "head", 0, False) for i in range(5)]
    planned = {f"f{i}": 1 for i in range(40)}

    result = success(0.8, drawn, planned)

    assert (result.met, result.unmeasured) == (None, True)


def test_drawing_the_same_fixtures_again_is_no_new_evidence():
    fates = [i < 18 for i in range(20)]
    once = [outcome(f"f{i}", "head", 0, fate) for i, fate in enumerate(fates)]
    often = [outcome(f"f{i}", "head", n, fate) for n in range(40) for i, fate in enumerate(fates)]

    assert success(0.95, once).met is None
    assert success(0.95, often).met is None


@pytest.mark.parametrize("failing", [1, 2, 4, 8])
def test_the_interval_beside_a_rate_is_the_one_that_decides(failing):
    """Ten samples of twenty inputs are not two hundred inputs."""
    outcomes = [
        outcome(f"i{number}", "head", repetition, number >= failing)
        for number in range(20)
        for repetition in range(10)
    ]
    wanted = {f"i{number}": 10 for number in range(20)}
    for target in (0.3, 0.5, 0.7, 0.8, 0.9, 0.99):
        (result,) = results({"success_rate": target}, outcomes, wanted)
        low, high = result.interval.low, result.interval.high
        assert result.met is (True if low >= target else False if high < target else None)
