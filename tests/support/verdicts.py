"""Small builders of what a verdict is decided on."""

from __future__ import annotations

from support.outcomes import target

from gatekeeper.gate.comparison import Comparison
from gatekeeper.gate.reasons import (
    Weighed,
    paired_reasons,
)
from gatekeeper.gate.result import ArmResult, FixtureResult, PairedResult, Reason
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


def weighed(comparison: Comparison, level: float = 0.05) -> Weighed:
    """Nothing but the comparison and the level it is judged at."""
    return Weighed(None, None, comparison, paired(alpha=level), True)


def arm(passed: int, settled: int) -> ArmResult:
    prompt = target().prompt
    counts = (passed, settled, 0, passed, settled)
    return ArmResult("m", prompt.path, prompt.text, *counts, None, None, None, None)


def fixtures(n: int) -> list[FixtureResult]:
    return [FixtureResult(str(i), None, None, None, None, None, None) for i in range(n)]
