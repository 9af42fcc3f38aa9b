"""Reasons that a contract's objectives give. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper import numbers
from gatekeeper.contract.objectives import Objective, label_of, measure_of
from gatekeeper.gate.objectives import objective_status
from gatekeeper.gate.result import Reason, SloResult
from gatekeeper.gate.unit_words import unit_noun


def slo_reasons(results: Sequence[SloResult], objectives: Sequence[Objective]) -> list[Reason]:
    """Return the reasons of objectives that are missed, or look missed, or could not be measured.

    `objectives` are those of the contract; they say which of them the policy sets.
    """
    by_policy = {objective.name for objective in objectives if objective.by_policy}
    reasons = []
    for result in results:
        name = label_of(result.objective)
        found = f"{_amount(result, result.observed)} against {_amount(result, result.target)}"
        if result.judged is not None:
            found += (
                " (corrected for the judge's errors; the judge found "
                f"{_amount(result, result.judged)})"
            )
        if result.default:
            found += ", the default, because no `success_rate` of the contract covers all fixtures"
        elif result.objective in by_policy:
            found += ", which the policy requires of a new contract (`new_contracts.success_rate`)"
        match objective_status(result):
            case _ if result.outdated:
                continue  # the judge that drifted has a reason of its own
            case _ if result.unmeasured:
                missing = "cannot be decided, because samples are missing"
                text = f"The objective {name} ({found}) {missing}."
                reasons.append(Reason("error", text, "error"))
            case "missed":
                text = f"Objective missed: {name} {found}, interval {_interval(result)}."
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
            "The judge passes bad outputs almost as often as good ones, so its verdicts cannot be "
            "corrected. Choose another judge, or make its criteria clearer."
        )
    if measure_of(result.objective).first_token:
        return (
            "No answer has this measurement, because the server did not stream "
            "the answer or the recording does not contain the time."
        )
    return "No sample has a value: neither the model nor the recording provides one."


def _more(result: SloResult) -> str:
    """Say what could still show that the objective is met: other inputs, seldom more samples of the
    same."""
    needed = result.inputs_needed
    units = "clusters" if result.clustered else "distinct inputs"
    if needed is not None and result.inputs < needed:
        return (
            f"; a proof needs {needed:,} {units} or more, and {result.inputs:,} "
            f"{'was' if result.inputs == 1 else 'were'} measured"
        )
    return f"; with more {unit_noun(clustered=result.clustered)}s the objective may still be met"


def _amount(result: SloResult, value: float | None) -> str:
    if value is None:
        return numbers.UNKNOWN
    return numbers.amount(value, measure_of(result.objective).unit)


def _interval(result: SloResult) -> str:
    if result.interval is None:
        return "unknown"
    return f"{_amount(result, result.interval.low)} to {_amount(result, result.interval.high)}"
