"""Which outcomes count for an objective, and which of them spend its error budget. Pure.

A run's decision and the history use this module, so that both count the same events.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from gatekeeper.contract.values.objectives import Objective
from gatekeeper.contract.values.trial import Completion, Outcome


def each_answer_once(outcomes: Iterable[Outcome], same_input: Mapping[str, str]) -> list[Outcome]:
    """Return the outcomes with one for each answer: fixtures with the same input share their
    answers, and ten of them are not ten events.

    `same_input` maps a fixture to the one whose input it repeats. An answer has failed a check if
    it failed that of one of its fixtures.
    """
    if not same_input:
        return [*outcomes]
    shared: dict[tuple[object, ...], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        trial = outcome.sample.trial
        fixture = same_input.get(trial.fixture, trial.fixture)
        shared[fixture, trial.arm, trial.repetition].append(outcome)
    return [_worst(each, str(fixture)) for (fixture, *_), each in shared.items()]


def _worst(shared: Sequence[Outcome], fixture: str) -> Outcome:
    """Return the outcome of an answer that several fixtures share, as that of one of them."""
    worst = min(shared, key=lambda outcome: _rank(outcome.passed))
    sample = replace(worst.sample, trial=replace(worst.sample.trial, fixture=fixture))
    worst = replace(worst, sample=sample)
    if worst.pass_score is not None:
        return worst  # its grade is that of its own checks
    results = {j.check: j for j in worst.check_results}
    for found in (j for outcome in shared for j in outcome.check_results):
        if _rank(found.passed) < _rank(results.setdefault(found.check, found).passed):
            results[found.check] = found
    return replace(worst, check_results=tuple(results.values()))


def _rank(passed: bool | None) -> int:
    return (False, None, True).index(passed)


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
        return lambda outcome: next(
            (j.passed for j in outcome.check_results if j.check == objective.check), None
        )
    if objective.measure.better == "lower":
        return lambda outcome: (
            None if outcome.sample.completion is None else bool(outcome.sample.repairs)
        )
    return lambda outcome: outcome.passed
