"""Computes what head's samples would spend of each error budget, and whether it is less than
base's. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from gatekeeper.contract.values.events import each_answer_once, is_good
from gatekeeper.contract.values.objectives import Objective
from gatekeeper.contract.values.trial import Arm, Outcome
from gatekeeper.gate.objectives.objectives import concerned
from gatekeeper.gate.plan.plan import Evaluation
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.gaffke import gaffke_interval
from gatekeeper.stats.paired.sign_flip import sign_flip_test


@dataclass(frozen=True, slots=True)
class Burn:
    """`good` is the interval of the share of head's events that are good; None without one.
    `p_better` is the p-value that head spends less than base, None if nothing was compared."""

    good: ConfidenceInterval | None
    p_better: float | None


def burns(evaluation: Evaluation, outcomes: Sequence[Outcome]) -> dict[str, Burn]:
    """Return the burn rate that each objective with an error budget has in these outcomes, by its
    name."""
    found = {}
    for objective in evaluation.contract.slo:
        if objective.good_share is not None:
            own = concerned(evaluation.contract, objective, outcomes)
            own = each_answer_once(own, evaluation.same_input)
            good = _good(objective, evaluation, own)
            found[objective.name] = Burn(good, _p_better(objective, evaluation, own))
    return found


def _good(
    objective: Objective, evaluation: Evaluation, outcomes: Sequence[Outcome]
) -> ConfidenceInterval | None:
    """Return the interval of the good share over units. What comes after the merge are other
    inputs, so several samples of one input are no additional evidence."""
    known: dict[str, list[bool]] = defaultdict(list)
    for outcome in outcomes:
        trial = outcome.sample.trial
        good = is_good(objective, outcome)
        if trial.arm == "head" and good is not None:
            known[evaluation.counts_with.get(trial.fixture, trial.fixture)].append(good)
    return gaffke_interval([fmean(each) for each in known.values()], 0.0, 1.0)


def _p_better(
    objective: Objective, evaluation: Evaluation, outcomes: Sequence[Outcome]
) -> float | None:
    """Return the one-sided p-value that more events were bad on base, by the sign-flip test over
    distinct units. What could not be measured counts against head."""
    if evaluation.base is None:
        return None
    bad: dict[tuple[str, int, Arm], bool] = {}
    for outcome in outcomes:
        trial = outcome.sample.trial
        good = is_good(objective, outcome)
        worst = trial.arm == "head" if good is None else not good
        bad[trial.fixture, trial.repetition, trial.arm] = worst
    fewer: dict[str, int] = {}
    for key, fixtures in evaluation.units().items():
        pairs = [
            (before, bad[fixture, repetition, "head"])
            for (fixture, repetition, arm), before in bad.items()
            if arm == "base" and fixture in fixtures and (fixture, repetition, "head") in bad
        ]
        if pairs:
            fewer[key] = sum(before - after for before, after in pairs)
    return sign_flip_test(list(fewer.values())) if fewer else None
