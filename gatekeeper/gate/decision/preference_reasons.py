"""Reasons of comparisons in pairs by judges."""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper import numbers
from gatekeeper.contract.values.definition import Contract
from gatekeeper.gate.plan.alpha import compares_pairs_alone
from gatekeeper.gate.results.preference_result import PreferenceResult
from gatekeeper.gate.results.result import Reason


def preference_reasons(results: Sequence[PreferenceResult]) -> list[Reason]:
    """Return one reason for each comparison."""
    return [_reason(result) for result in results]


def without_vacuous(reasons: Sequence[Reason], contract: Contract) -> list[Reason]:
    """Return the reasons of the suite's comparison, without those that say nothing of a contract in
    which only comparisons in pairs gate: every single output passes."""
    if not compares_pairs_alone(contract):
        return list(reasons)
    return [reason for reason in reasons if reason.code not in _VACUOUS]


_VACUOUS = ("unseen", "undecided", "no_regression", "not_worse")


def _reason(found: PreferenceResult) -> Reason:
    counts = (
        f"base preferred in {found.base_preferred:,} of {numbers.count(found.pairs, 'pair')}, "
        f"head in {found.head_preferred:,}, neither in {found.tied:,}"
    )
    bias = found.contradictory
    if bias is not None:
        counts += (
            "; when the order of the answers was swapped, judges contradicted themselves in "
            f"{numbers.percent(bias.value)} of their verdicts"
        )
    p = numbers.p_value(found.p_value, found.level)
    if found.worse:
        text = f"Judges prefer base's answers ({found.check}: {counts}; p {p})."
        return Reason("preference", text, "fail")
    if found.could_be_worse or not found.pairs:
        missing = numbers.count(found.unmeasured, "pair")
        text = (
            f"The judges' preference is not known, because {missing} could not be measured "
            f"(in the check {found.check})."
        )
        return Reason("error", text, "error")
    if found.open:
        text = (
            f"Judges may prefer base's answers, but this can be chance ({found.check}: {counts})."
        )
        return Reason("preference", text, "inconclusive")
    if found.unreadable:
        text = (
            "When the order of the answers is swapped, judges contradict themselves in most pairs. "
            "Ties are therefore no evidence that head is as good as base "
            f"({found.check}: {counts})."
        )
        return Reason("preference", text, "inconclusive")
    text = f"Judges do not prefer base's answers ({found.check}: {counts}; p {p})."
    return Reason("preference", text, "pass")
