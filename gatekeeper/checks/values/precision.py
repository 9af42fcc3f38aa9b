"""Few items in the output are wrong: the share of them that are expected reaches a minimum.

Items are found and compared as by `f1`. An output that names only one item, which is right, has
precision 1: use `recall` or `f1` to require that nothing is missing.
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
