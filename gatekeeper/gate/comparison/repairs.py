"""Counts the repairs of both arms, and tests whether head needs more of them than base. Pure.

A prompt whose answers start to need repairs got worse, also if all of them pass after it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gatekeeper import numbers
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import Arm, Outcome
from gatekeeper.gate.plan.alpha import gates_repairs, repair_level, repairs_apply
from gatekeeper.gate.results.parts import Passed, RepairResult, RepairTally
from gatekeeper.gate.results.result import Reason
from gatekeeper.gate.samples.outcomes import ARMS
from gatekeeper.stats.paired.sign_flip import sign_flip_test


def repair_result(
    contract: Contract,
    outcomes: Sequence[Outcome],
    level: float | None,
    counts_with: Mapping[str, str],
    *,
    compares: bool,
    complete: bool,
) -> RepairResult | None:
    """Return the repairs; None for a contract that repairs nothing.

    Args:
        contract: The contract that evaluated.
        outcomes: Its evaluated samples.
        level: That of the suite's comparison, of which the test takes its share of alpha if it
            gates.
        counts_with: The fixture that stands for the unit of another: its input, or its cluster.
        compares: Whether there are two arms.
        complete: Whether every sample is there that is planned. If the comparison ended sampling
            before, the test does not gate: the moment was chosen by the samples.
    """
    if not repairs_apply(contract):
        return None
    depth = max((len(o.sample.ledger) for o in outcomes), default=0)
    arms = {arm: _tally([o for o in outcomes if o.sample.trial.arm == arm], depth) for arm in ARMS}
    base = arms["base"] if compares else None
    result = RepairResult(contract.gate.repairs, base, arms["head"], None, None, "untested")
    if level is None or not compares or (gates_repairs(contract) and not complete):
        return result
    own = repair_level(contract, level)
    kindest = rise_p_value(outcomes, counts_with, {"base": True, "head": False}, _repaired)
    result = replace(result, p_value=kindest, level=own, found="kept")
    if kindest <= own:
        return replace(result, found="worse")
    harshest = rise_p_value(outcomes, counts_with, {"base": False, "head": True}, _repaired)
    return replace(result, found="unknown") if harshest <= own else result


def repair_reasons(found: RepairResult | None) -> list[Reason]:
    """Return the reason of a contract with `gate.repairs: fail`."""
    if found is None or found.action != "fail":
        return []
    if found.found == "worse":
        return [Reason("repairs", f"{describe_rise(found)}.", "fail")]
    if found.found == "unknown":
        text = (
            "Calls failed, so it is not known whether head's answers need repairs more often than "
            "base's answers."
        )
        return [Reason("repairs", text, "error")]
    return []


def repair_warnings(found: RepairResult | None) -> tuple[str, ...]:
    """Return the warning of a contract with `gate.repairs: warn`."""
    if found is None or (found.action, found.found) != ("warn", "worse"):
        return ()
    more = "to fail the gate on such a rise, set `gate: {repairs: fail}` in the contract"
    return (f"{describe_rise(found)}; {more}",)


def describe_rise(found: RepairResult) -> str:
    """Say how often the answers of both arms needed a repair."""
    base, head = found.base or found.head, found.head
    return (
        "Head's answers need repairs more often than base's answers: "
        f"{head.repaired:,} of {head.answered:,} on head, {base.repaired:,} of "
        f"{base.answered:,} on base (p {numbers.p_value(found.p_value, found.level)})"
    )


def _tally(outcomes: Sequence[Outcome], depth: int) -> RepairTally:
    answered = [o for o in outcomes if o.sample.completion is not None]
    meanings = [{step.meaning for step in o.sample.ledger} for o in answered]
    changed = sum("changed" in found for found in meanings)
    return RepairTally(
        answered=len(answered),
        repaired=sum(map(bool, meanings)),
        changed=changed,
        unknown=sum("unknown" in found and "changed" not in found for found in meanings),
        steps=Counter(step for o in answered for step in dict.fromkeys(o.sample.repairs)),
        by_depth=tuple(_passed(answered, repairs) for repairs in range(depth + 1)),
    )


def _passed(outcomes: Sequence[Outcome], repairs: int) -> Passed:
    """Count the samples that pass if at most so many of their repairs are applied."""
    found = [
        before[repairs] if repairs < len(before := o.passed_before_repairs) else o.passed
        for o in outcomes
    ]
    measured = [passed for passed in found if passed is not None]
    return Passed(sum(measured), len(measured))


def _repaired(outcome: Outcome) -> bool:
    return bool(outcome.sample.ledger)


def rise_p_value(
    outcomes: Sequence[Outcome],
    counts_with: Mapping[str, str],
    lost: Mapping[Arm, int],
    count: Callable[[Outcome], int],
) -> float:
    """Return the p-value that head's answers have more of what is counted. `lost` says how much is
    taken to be in an answer whose call failed; if both calls of a pair failed, the pair says
    nothing."""
    pairs: dict[tuple[str, int], dict[Arm, int | None]] = defaultdict(dict)
    for outcome in outcomes:
        trial = outcome.sample.trial
        answered = outcome.sample.completion is not None
        needs = count(outcome) if answered else None
        pairs[trial.fixture, trial.repetition][trial.arm] = needs
    units: Counter[str] = Counter()
    for (fixture, _), needs_of in pairs.items():
        both = [needs_of[arm] for arm in ARMS if arm in needs_of]
        if len(both) == 2 and both != [None, None]:
            base, head = (
                lost[arm] if needs is None else needs for arm, needs in zip(ARMS, both, strict=True)
            )
            units[counts_with.get(fixture, fixture)] += head - base
    return sign_flip_test(list(units.values()))
