"""Which outcomes count for an objective, and which of them spend its error budget. Pure.

A run's decision and the history use this module, so that both count the same events.
"""

from __future__ import annotations

from collections.abc import Callable

from gatekeeper.contract.objectives import Objective
from gatekeeper.contract.trial import Completion, Outcome


def is_good(objective: Objective, outcome: Outcome) -> bool | None:
    """Return whether the outcome spends nothing of the objective's error budget; None if this is
    not known, or if the objective has no budget."""
    completion = outcome.sample.completion
    if objective.good_share is None or completion is None:
        return None
    if objective.measure.quantile is not None:
        time = time_of(objective, completion)
        return None if time is None else time <= objective.target
    flag = flag_of(objective)(outcome)
    return flag if flag is None or objective.measure.better == "higher" else not flag


def time_of(objective: Objective, completion: Completion) -> float | None:
    """Return the time in milliseconds that an objective with a quantile limits: of the whole call,
    or until its first token; None if it is not known."""
    return completion.ttft_ms if objective.measure.first_token else completion.latency_ms


def flag_of(objective: Objective) -> Callable[[Outcome], bool | None]:
    """Return the property of an outcome that a rate counts; None if it is not known."""
    if objective.check is not None:
        return lambda outcome: _check_passed(outcome, objective.check)
    return _repaired if objective.measure.better == "lower" else _passed


def _passed(outcome: Outcome) -> bool | None:
    return outcome.passed


def _repaired(outcome: Outcome) -> bool | None:
    return None if outcome.sample.completion is None else bool(outcome.sample.repairs)


def _check_passed(outcome: Outcome, check: str | None) -> bool | None:
    return next((j.passed for j in outcome.check_results if j.check == check), None)
