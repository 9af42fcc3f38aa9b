"""The list of all check types. To add one, write its module and name it here:
docs/architecture.md.

A module is imported when a contract uses its check: most contracts use few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import chain
from typing import TypeVar

from gatekeeper.checks.check import Check
from gatekeeper.contract.values.definition import CheckShape

T = TypeVar("T")

MODULES: Mapping[str, str] = {
    "equals": "values.equals",
    "contains": "text.substring:CONTAINS",
    "not_contains": "text.substring:NOT_CONTAINS",
    "starts_with": "text.substring:STARTS_WITH",
    "ends_with": "text.substring:ENDS_WITH",
    "regex": "text.regex_search:REGEX",
    "not_regex": "text.regex_search:NOT_REGEX",
    "json_valid": "values.json_valid",
    "json_schema": "values.json_schema",
    "contains_json": "values.contains_json",
    "json_required": "values.json_required",
    "json_equal": "values.json_equal",
    "number": "values.number",
    "count": "values.count",
    "f1": "values.item_sets:F1",
    "precision": "values.item_sets:PRECISION",
    "recall": "values.item_sets:RECALL",
    "citation": "grounded.citation",
    "quote": "grounded.quote",
    "similar": "grounded.similar",
    "tool_call": "tools.tool_call",
    "end_state": "tools.end_state",
    "no_repeated_call": "tools.no_repeated_call",
    "recovers_from_error": "tools.recovers_from_error",
    "enum": "text.enumeration",
    "similarity": "text.overlap.similarity",
    "levenshtein": "text.overlap.levenshtein",
    "rouge": "text.overlap.rouge",
    "bleu": "text.overlap.translation:BLEU",
    "chrf": "text.overlap.translation:CHRF",
    "language": "text.language",
    "markdown": "text.markdown",
    "parses_as": "text.parses_as",
    "pii": "safety.pii",
    "secrets": "safety.secrets",
    "refusal": "safety.refusal",
    "word_list": "safety.word_list",
    "no_prompt_leak": "safety.no_prompt_leak",
    "length": "measures.length",
    "latency": "measures.limits:LATENCY",
    "ttft": "measures.limits:TTFT",
    "tokens": "measures.limits:TOKENS",
    "cost": "measures.limits:COST",
    "steps": "measures.limits:STEPS",
    "goal_reached": "measures.goal_reached",
    "all_of": "composed.all_or_any:ALL_OF",
    "any_of": "composed.all_or_any:ANY_OF",
    "mean_of": "composed.mean_of",
    "python": "own.python",
    "scoring_function": "own.scoring_function",
    "judge": "judges.judge",
}
"""The module of each check type, in this package. A module with several checks names each after a
colon; the only check of a module is its `CHECK`."""

ADDED: dict[str, Check] = {}
"""The check types of other packages, as packages.py finds them."""


class _ByName(Mapping[str, T]):
    """What `read` returns of each check, by the name of its type."""

    def __init__(self, read: Callable[[Check], T]) -> None:
        self._read = read
        self._known: dict[str, tuple[Check, T]] = {}

    def __getitem__(self, name: str) -> T:
        check = ADDED[name] if name in ADDED else _check(name)
        known = self._known.get(name)
        if known is None or known[0] is not check:
            known = self._known[name] = (check, self._read(check))
        return known[1]

    def __contains__(self, name: object) -> bool:
        return name in MODULES or name in ADDED

    def __iter__(self) -> Iterator[str]:
        return chain(MODULES, ADDED)

    def __len__(self) -> int:
        return len(MODULES) + len(ADDED)


@cache
def _check(name: str) -> Check:
    module, _, constant = MODULES[name].partition(":")
    found: Check = getattr(import_module(f"{__package__}.{module}"), constant or "CHECK")
    return found


CHECKS: Mapping[str, Check] = _ByName(lambda check: check)
SHAPES: Mapping[str, CheckShape] = _ByName(lambda check: check.shape)
