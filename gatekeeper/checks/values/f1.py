"""The items in the output match the expected items: F1, the harmonic mean of
[precision](#precision) and [recall](#recall), reaches a minimum.

Items are compared as a set: order and repetition do not matter, and neither do differences in white
space. The items come from a JSON list (the output, or a `field` of it), from the values that a
JSONPath selects, or from text with a `separator`. If nothing was expected and the output has no
items, the score is 1. If only one of the two sets is empty, the score is 0. The message names the
missing items and the unexpected items.
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
