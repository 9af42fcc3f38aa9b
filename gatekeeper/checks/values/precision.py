"""The share of expected items among the items in the output is at least `min`.

The check finds and compares items in the same way as [f1](#f1). If the output names only one item,
and this item is expected, the precision is 1. To require that no expected item is missing, use
`recall` or `f1`.
"""

from __future__ import annotations

from gatekeeper.checks.check import Check, Example, Files, Parameters, SampleEvaluator
from gatekeeper.checks.item_sets import SET_PARAMETERS, prepare_sets


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    return prepare_sets(params, lambda counts: counts.precision)


CHECK = Check(
    SET_PARAMETERS,
    _prepare,
    scores=True,
    group="values",
    examples=(
        Example(
            '{type: precision, field: "$.people[*].name", value: "{{ expected }}", min: 0.9}',
            '{"people": [{"name": "Ann"}]}',
            '{"people": [{"name": "Ann"}, {"name": "Eve"}]}',
            expected=["Ann", "Bob"],
        ),
    ),
)
