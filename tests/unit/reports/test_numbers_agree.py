"""A sentence of the gate and a table of a report write the same number in the same way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.verdicts import called_for, paired

from gatekeeper.gate.decision.reasons import slo_reasons
from gatekeeper.gate.results.result import SloResult
from gatekeeper.reports.words.columns import objective_value
from gatekeeper.reports.words.comparison_text import decided_by
from gatekeeper.stats.interval import ConfidenceInterval


@pytest.mark.parametrize(
    ("objective", "observed", "target"),
    [
        ("success_rate", 0.93, 0.975),
        ("latency_p95_ms", 5000.4, 4000.0),
        ("cost_per_call_usd", 0.0214, 0.01),
        ("tokens_per_call", 1204.4, 900.0),
        ("judge_score", 0.8, 0.85),
    ],
)
def test_of_an_objective(objective: str, observed: float, target: float) -> None:
    around = ConfidenceInterval(observed - 0.001, observed + 0.001)
    slo = SloResult(objective, target, observed, around, False)

    (reason,) = slo_reasons([slo], [])

    for value in (observed, target, around.low, around.high):
        assert objective_value(slo, value) in reason.text


@pytest.mark.parametrize("p", [1e-9, 0.0312, 0.04996, 0.05])
def test_of_a_p_value(p: float) -> None:
    found = replace(paired(), p_value=p, alpha=0.05)

    (reason,) = called_for(found)

    said = decided_by(found).split(": ")[1].split(";")[0]
    assert f"({said}, " in reason.text
