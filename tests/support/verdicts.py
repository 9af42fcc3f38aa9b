"""Small builders of what a verdict is decided on."""

from __future__ import annotations

from support.evaluations import evaluation_of, evidence_of
from support.outcomes import contract

from gatekeeper.gate.comparison.paired_comparison import Comparison
from gatekeeper.gate.decision.reasons import (
    EvaluationSummary,
    paired_reasons,
)
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.gate.results.result import PairedResult, Reason
from gatekeeper.stats.interval import ConfidenceInterval


def paired(**fields) -> PairedResult:
    defaults = {
        "method": "exact",
        "alpha": 0.05,
        "fixtures": 40,
        "broke": 0,
        "fixed": 0,
        "unknown": 0,
        "p_value": 1.0,
        "difference": 0.0,
        "interval": ConfidenceInterval(-0.05, 0.05),
        "minimum_detectable_effect": 0.16,
        "stopped": "exhausted",
    }
    return PairedResult(**(defaults | fields))


def called_for(
    found: PairedResult,
    could_be_worse: bool = False,
    largest_drop: float = 0.0,
    margin: float = 0.05,
    cause: str = "",
) -> list[Reason]:
    return paired_reasons(
        found,
        could_be_worse=could_be_worse,
        largest_drop=largest_drop,
        margin=margin,
        cause=cause,
    )


def summary(comparison: Comparison | None, level: float = 0.05) -> EvaluationSummary:
    """A comparison and the level it is evaluated at; None if there is nothing to compare."""
    made = contract("f1")
    found = paired(alpha=level) if comparison else None
    base = made.target if comparison else None
    return EvaluationSummary(evaluation_of(made, base), evidence_of(made), comparison, found, True)


def fixtures(n: int) -> list[FixtureResult]:
    return [FixtureResult(str(i), None, None, None, None, None, None) for i in range(n)]
