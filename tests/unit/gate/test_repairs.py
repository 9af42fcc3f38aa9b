"""Repairs are counted for each arm, and more of them on head are found beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from support.outcomes import contract, outcome

from gatekeeper.contract.values.definition import Contract, GatePolicy, RepairMode, RepairPolicy
from gatekeeper.contract.values.trial import AppliedRepair, Arm, Meaning, Outcome
from gatekeeper.gate.comparison.repairs import repair_reasons, repair_result, repair_warnings
from gatekeeper.gate.plan.alpha import alpha_shares, limit_level
from gatekeeper.gate.results.parts import Passed, RepairResult

LEVEL = 0.044


def repairing(action: str = "warn", mode: RepairMode = "repair") -> Contract:
    gate = GatePolicy(repairs=action)  # type: ignore[arg-type]
    return replace(contract(), gate=gate, mode=mode, repair=RepairPolicy(("strip_whitespace",), 2))


def one(
    fixture: str,
    arm: Arm,
    steps: int,
    *,
    passed: bool | None = True,
    before: Sequence[bool | None] = (),
    meaning: Meaning = "same",
) -> Outcome:
    made = outcome(fixture, arm, 0, passed)
    ledger = (AppliedRepair("strip_whitespace", "a", "b", meaning),) * steps
    names = tuple(applied.step for applied in ledger)
    sample = replace(made.sample, ledger=ledger, repairs=names)
    return replace(made, sample=sample, passed_before_repairs=tuple(before))


def both(base: Sequence[int], head: Sequence[int]) -> list[Outcome]:
    arms: tuple[tuple[Arm, Sequence[int]], ...] = (("base", base), ("head", head))
    return [one(f"f{n}", arm, steps) for arm, each in arms for n, steps in enumerate(each)]


def found(
    outcomes: Sequence[Outcome], action: str = "warn", *, complete: bool = True, **counts: str
) -> RepairResult:
    result = repair_result(
        repairing(action), outcomes, LEVEL, counts, compares=True, complete=complete
    )
    assert result is not None
    return result


def test_what_each_arm_needed_is_counted() -> None:
    outcomes = [
        one("a", "head", 2, before=(False, None), meaning="changed"),
        one("b", "head", 1, before=(True,), meaning="unknown"),
        one("c", "head", 0, passed=False),
        one("d", "head", 0, passed=None),
        one("a", "base", 0),
    ]
    result = found(outcomes)
    head = result.head
    assert (head.answered, head.repaired, head.changed, head.unknown) == (3, 2, 1, 1)
    assert (head.rate, head.changed_rate) == (2 / 3, 1 / 3)
    assert head.steps == {"strip_whitespace": 2}
    assert head.by_depth == (Passed(1, 3), Passed(1, 2), Passed(2, 3))
    assert result.base is not None
    assert result.base.by_depth == (Passed(1, 1),) * 3


@pytest.mark.parametrize(
    ("head", "wanted"),
    [(8, "worse"), (7, "kept"), (0, "kept")],
)
def test_more_repairs_on_head_are_found_beyond_chance(head: int, wanted: str) -> None:
    result = found(both([0] * 20, [1] * head + [0] * (20 - head)))
    assert (result.found, result.p_value) == (wanted, 0.5**head)
    assert bool(repair_warnings(result)) == (wanted == "worse")
    assert repair_reasons(result) == []


def test_fewer_repairs_and_as_many_are_no_news() -> None:
    assert found(both([1] * 20, [0] * 20)).found == "kept"
    assert found(both([1, 0] * 10, [0, 1] * 10)).found == "kept"


def test_a_contract_may_fail_on_it() -> None:
    result = found(both([0] * 20, [1] * 20), "fail")
    (reason,) = repair_reasons(result)
    assert (reason.code, reason.verdict) == ("repairs", "fail")
    assert repair_warnings(result) == ()


def test_early_ends_test_a_warning_and_never_fail() -> None:
    outcomes = both([0] * 20, [1] * 20)
    assert found(outcomes, "fail", complete=False).found == "untested"
    assert found(outcomes, "warn", complete=False).found == "worse"


def test_related_inputs_count_once() -> None:
    clusters = {f"f{n}": "f0" for n in range(20)}
    assert found(both([0] * 20, [1] * 20), **clusters).p_value == 0.5


def lost(arm: Arm, pairs: int) -> list[Outcome]:
    each = {"base": [0] * 20, "head": [1] * 8 + [0] * 12}
    gone = {f"f{n}" for n in range(8 - pairs, 8)}
    return [
        one(o.sample.trial.fixture, arm, 0, passed=None)
        if o.sample.trial.arm == arm and o.sample.trial.fixture in gone
        else o
        for o in both(each["base"], each["head"])
    ]


def test_calls_that_failed_never_find_it_and_may_hide_it() -> None:
    (reason,) = repair_reasons(found(lost("head", 2), "fail"))
    assert (reason.code, reason.verdict) == ("repairs", "error")
    (reason,) = repair_reasons(found(lost("base", 2), "fail"))
    assert (reason.code, reason.verdict) == ("repairs", "error")
    assert repair_warnings(found(lost("head", 2))) == ()


def test_it_shares_alpha_with_the_limits_if_it_can_fail() -> None:
    failing = repairing("fail")
    assert alpha_shares(failing).limits == pytest.approx(0.1)
    assert limit_level(failing, LEVEL) == pytest.approx(0.005)
    for free in (repairing("warn"), repairing("fail", "observe")):
        assert alpha_shares(free).limits == 0
    assert found(both([0], [0])).level == pytest.approx(0.005)


def test_what_repairs_nothing_has_no_result() -> None:
    outcomes = both([0], [0])
    for free in (repairing(mode="observe"), replace(repairing(), repair=RepairPolicy())):
        assert repair_result(free, outcomes, LEVEL, {}, compares=True, complete=True) is None


def test_one_revision_alone_is_counted_and_not_tested() -> None:
    result = repair_result(repairing(), both([], [1] * 20), None, {}, compares=False, complete=True)
    assert result is not None
    assert (result.base, result.found, result.head.repaired) == (None, "untested", 20)
