"""The F1 score of the items in the output is at least `min`. F1 is the harmonic mean of
[precision](#precision) and [recall](#recall).

The check compares the set of items in the output with the set of expected items. The order of
items, repeated items, differences in white space and the order of keys in an item do not matter.
The items of the output come from a JSON list, which is the whole output or one `field` of the
output. The items can also come from the values that a JSONPath selects, or from a text with a
`separator`. If there are no expected items and the output has no items, the score is 1. If only one
of the two sets (the items in the output and the expected items) is empty, the score is 0. The
message names the missing items and the unexpected items.
"""

from __future__ import annotations

from gatekeeper.checks.check import Check, Example, Files, Parameters, SampleEvaluator
from gatekeeper.checks.item_sets import SET_PARAMETERS, prepare_sets


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    return prepare_sets(params, lambda counts: counts.f1)


CHECK = Check(
    SET_PARAMETERS,
    _prepare,
    scores=True,
    group="values",
    examples=(
        Example(
            '{type: f1, field: skills, value: "{{ expected }}", min: 0.8, ignore_case: true}',
            '{"skills": ["python", "SQL", "Git"]}',
            '{"skills": ["Python", "Excel"]}',
            expected=["Python", "SQL"],
        ),
        Example(
            "{type: f1, value: [red, green, blue], separator: ',', min: 0.6}",
            "red, blue",
            "red, yellow, black",
        ),
    ),
)
