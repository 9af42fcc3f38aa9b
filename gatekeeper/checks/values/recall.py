"""The share of the expected items that the output contains is at least `min`.

The check finds and compares items in the same way as [f1](#f1). Unexpected items do not lower the
score. To count unexpected items, use `precision` or `f1`.
"""

from __future__ import annotations

from gatekeeper.checks.check import Check, Example, Files, Parameters, SampleEvaluator
from gatekeeper.checks.item_sets import SET_PARAMETERS, prepare_sets


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    return prepare_sets(params, lambda counts: counts.recall)


CHECK = Check(
    SET_PARAMETERS,
    _prepare,
    scores=True,
    group="values",
    examples=(
        Example(
            '{type: recall, field: people, value: "{{ expected }}", min: 0.9}',
            '{"people": ["Ann", "Bob", "Eve"]}',
            '{"people": ["Ann"]}',
            expected=["Ann", "Bob"],
        ),
    ),
)
