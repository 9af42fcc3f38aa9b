"""Names that other tools give to check types, for the hint about an unknown type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from gatekeeper.contract.syntax.schema_errors import nearest

CHECKS_HERE: Mapping[str, str] = {
    "one_of": "type: enum, values: [...]",
    "exact_match": "type: equals, value: ...",
    "icontains": "type: contains, value: ..., ignore_case: true",
    "contains_any": "type: contains, values: [...], match: any",
    "contains_all": "type: contains, values: [...]",
    "max_length": "type: length, max: ...",
    "word_count": "type: length, unit: words, max: ...",
    "is_json": "type: json_valid",
    "is_xml": "type: parses_as, format: xml",
    "is_html": "type: parses_as, format: html",
    "is_sql": "type: parses_as, format: sql",
    "is_refusal": "type: refusal, expect: refusal",
    "rouge_n": "type: rouge, variant: rouge1, value: ...",
    "llm_rubric": "judge: rubric, criteria: ...",
    "g_eval": "judge: rubric, criteria: ...",
    "factuality": "judge: rubric, criteria: ..., reference: ...",
    "faithfulness": "judge: faithful, context: ...",
    "context_faithfulness": "judge: faithful, context: ...",
    "answer_relevance": "judge: answers_question",
    "select_best": "judge: prefer",
}
"""How to write the check of each name here; `...` stands for what its author chooses."""
ENTRY_POINTS = "gatekeeper.checks"
"""The group of entry points by which packages bring check types."""


def hint_for_type(kind: str, known: Iterable[str]) -> str:
    """Return how to write a check of an unknown type: by its name in other tools, else by the
    installed package that has it, else the nearest known type, else all of them."""
    here = CHECKS_HERE.get(kind.lower().replace("-", "_"))
    if here:
        return f"write `{{{here}}}`"
    package = _package_with(kind)
    if package:
        return (
            f"add the package `{package}`, which has this check, to "
            "`checks.packages` in the policy "
            "on the branch to merge into"
        )
    return nearest(kind, known)


@cache
def _package_with(kind: str) -> str | None:
    """Return the installed package that brings a check of this type, with its version. None if no
    package does."""
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS, name=kind):
        if point.dist is not None:
            return f"{point.dist.name}=={point.dist.version}"
    return None
