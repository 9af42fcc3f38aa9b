"""What head would spend of each budget, and whether surely less than base."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.evaluations import evaluation_of
from support.outcomes import contract, outcome

from gatekeeper.contract.values.events import is_good
from gatekeeper.contract.values.objectives import Objective, read_objectives
from gatekeeper.contract.values.trial import CheckResult
from gatekeeper.gate.objectives.error_budgets import burns
from gatekeeper.gate.plan.plan import Evaluation
from gatekeeper.stats.intervals.gaffke import gaffke_interval

NAMES = [f"f{i}" for i in range(20)]
SLO = read_objectives(
    {"success_rate": 0.9, "latency_p95_ms": 100, "cost_per_call_usd": 1, "repair_rate": 0.1}
)


def evaluation(*, paired: bool = True, names=NAMES, **fields) -> Evaluation:
    made = contract(*names, slo=SLO)
    base = made.target if paired else None
    return evaluation_of(made, base, **fields)


def drawn(arm, latency, names=NAMES, repetition=0):
    return [outcome(name, arm, repetition, True, latency=latency) for name in names]


def test_an_objective_without_a_budget_burns_nothing():
    found = burns(evaluation(), drawn("head", 50.0))
    assert list(found) == ["success_rate", "latency_p95_ms", "repair_rate"]


def test_the_good_share_of_head_has_an_interval():
    slow, quick = drawn("head", 500.0, NAMES[:5]), drawn("head", 50.0, NAMES[5:])
    found = burns(evaluation(paired=False), [*slow, *quick, *drawn("base", 1.0)])
    assert found["latency_p95_ms"].good == gaffke_interval([0.0] * 5 + [1.0] * 15, 0, 1)
    assert found["latency_p95_ms"].p_better is None
    assert found["success_rate"].good == gaffke_interval([1.0] * 20, 0, 1)


def test_a_quicker_head_is_better_by_the_latency_and_by_nothing_else():
    found = burns(evaluation(), [*drawn("base", 500.0), *drawn("head", 50.0)])
    assert found["latency_p95_ms"].p_better == pytest.approx(2**-20)
    assert found["success_rate"].p_better == 1.0


def test_what_was_not_measured_speaks_against_head():
    lost = [outcome(name, "head", 0, None) for name in NAMES]
    found = burns(evaluation(), [*drawn("base", 500.0), *lost])
    assert found["latency_p95_ms"].p_better == 1.0
    assert found["latency_p95_ms"].good is None


def test_what_base_could_not_measure_counts_as_good():
    lost = [outcome(name, "base", 0, None) for name in NAMES]
    assert burns(evaluation(), [*lost, *drawn("head", 50.0)])["latency_p95_ms"].p_better == 1.0


def test_only_pairs_of_fixtures_that_both_arms_can_take_are_compared():
    both = [*drawn("base", 500.0), *drawn("head", 50.0, NAMES[:10])]
    assert burns(evaluation(), both)["latency_p95_ms"].p_better == pytest.approx(2**-10)
    apart = replace(evaluation(), unpaired=tuple(NAMES[:8]))
    assert burns(apart, both)["latency_p95_ms"].p_better == pytest.approx(2**-2)
    none = replace(evaluation(), unpaired=tuple(NAMES))
    assert burns(none, both)["latency_p95_ms"].p_better is None


def test_drawing_inputs_again_is_no_new_evidence():
    rounds = [o for n in range(5) for o in (*drawn("base", 500.0, repetition=n),)]
    rounds += [o for n in range(5) for o in drawn("head", 50.0, repetition=n)]
    assert burns(evaluation(), rounds)["latency_p95_ms"].p_better == pytest.approx(2**-20)


@pytest.mark.parametrize(
    ("name", "fields", "good"),
    [
        ("success_rate", {"passed": False}, False),
        ("checks.says ok", {"passed": False}, False),
        ("checks.other", {"passed": True}, None),
        ("latency_p95_ms", {"passed": True, "latency": 100.0}, True),
        ("latency_p95_ms", {"passed": True, "latency": 100.5}, False),
        ("latency_p95_ms", {"passed": True}, None),
        ("repair_rate", {"passed": True}, True),
        ("success_rate", {"passed": None}, None),
        ("repair_rate", {"passed": None}, None),
        ("cost_per_call_usd", {"passed": True, "cost": 5.0}, None),
    ],
)
def test_an_event_is_good_bad_or_not_known(name, fields, good):
    assert is_good(Objective(name, 100), outcome("a", "head", 0, **fields)) is good


def test_a_repaired_output_is_a_bad_event_of_the_repair_rate():
    made = outcome("a", "head", 0, True)
    repaired = replace(made, sample=replace(made.sample, repairs=("lowercase",)))
    assert is_good(Objective("repair_rate", 0.1), repaired) is False


def test_a_warning_check_has_a_budget_too():
    made = outcome("a", "head", 0, True)
    warned = replace(
        made, check_results=(*made.check_results, CheckResult("short", False, "x", "warn"))
    )
    assert warned.passed is True
    assert is_good(Objective("checks.short", 0.9), warned) is False


def test_samples_of_one_input_say_nothing_new_of_others():
    """Two of 20 inputs fail ten times each: that is two of 20, and not 20 of 200."""
    fates = [outcome(name, "head", n, i >= 2) for n in range(10) for i, name in enumerate(NAMES)]
    found = burns(evaluation(paired=False), fates)["success_rate"].good
    assert found == gaffke_interval([0.0] * 2 + [1.0] * 18, 0, 1)
