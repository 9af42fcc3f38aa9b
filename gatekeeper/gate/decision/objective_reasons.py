"""Reasons that a contract's objectives give. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper import numbers
from gatekeeper.contract.values.objectives import Objective, label_of, measure_of
from gatekeeper.gate.decision.unit_words import unit_noun
from gatekeeper.gate.objectives.objectives import objective_status
from gatekeeper.gate.results.result import Reason, SloResult


def slo_reasons(results: Sequence[SloResult], objectives: Sequence[Objective]) -> list[Reason]:
    """Return the reasons of objectives that are missed, or look missed, or could not be measured.

    `objectives` are those of the contract; they say which of them the policy sets.
    """
    by_policy = {objective.name for objective in objectives if objective.by_policy}
    reasons = []
    for result in results:
        name = label_of(result.objective)
        found = _amount(result, result.observed)
        if result.judged is not None:
            found += (
                f" after correction for the judge's errors, {_amount(result, result.judged)} before"
            )
        target = f"target: {_amount(result, result.target)}"
        if result.default:
            target += ", the default, because no `success_rate` of the contract covers all fixtures"
        elif result.objective in by_policy:
            target += ", which the policy requires of new contracts (`new_contracts.success_rate`)"
        found += f" ({target})"
        match objective_status(result):
            case _ if result.outdated:
                continue  # the judge that drifted has a reason of its own
            case _ if result.unmeasured:
                missing = "cannot be evaluated, because samples are missing"
                text = f"The objective {name} {missing}: {found}."
                reasons.append(Reason("error", text, "error"))
            case "missed":
                text = f"Objective missed: {name} {found}, confidence interval {_interval(result)}."
                reasons.append(Reason("slo", text, "fail"))
            case "unlikely":
                text = (
                    f"Objective possibly missed: {name} {found}, but this can "
                    f"be chance{_more(result)}."
                )
                reasons.append(Reason("slo", text, "inconclusive"))
            case "unknown":
                text = f"Objective not measured: {name}. {_why_unknown(result)}"
                reasons.append(Reason("slo", text, "inconclusive"))
    return reasons


def _why_unknown(result: SloResult) -> str:
    if result.judged is not None:
        return (
            "The judge passes bad outputs almost as often as good outputs, so gatekeeper cannot "
            "correct the judge's verdicts. Choose another judge, or make the judge's criteria "
            "clearer."
        )
    if measure_of(result.objective).first_token:
        return (
            "The time to first token is unknown, because the server did not stream "
            "the answers or the recording does not contain this time."
        )
    return "Neither the model nor the recording reports this amount."


def _more(result: SloResult) -> str:
    """Say what could still show that the objective is met: other inputs, seldom more samples of the
    same."""
    needed = result.inputs_needed
    units = "clusters" if result.clustered else "distinct inputs"
    if needed is not None and result.inputs < needed:
        return (
            f"; at least {needed:,} {units} are needed to show that the objective is met, and "
            f"only {result.inputs:,} {'was' if result.inputs == 1 else 'were'} measured"
        )
    noun = unit_noun(clustered=result.clustered)
    return f"; with more {noun}s, a run could show that the objective is met"


def _amount(result: SloResult, value: float | None) -> str:
    if value is None:
        return numbers.UNKNOWN
    return numbers.amount(value, measure_of(result.objective).unit)


def _interval(result: SloResult) -> str:
    if result.interval is None:
        return "unknown"
    return f"{_amount(result, result.interval.low)} to {_amount(result, result.interval.high)}"
