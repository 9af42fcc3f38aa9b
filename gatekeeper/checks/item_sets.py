"""Compares the set of items in an output with the expected set: precision, recall and F1.

    precision = found and expected / found
    recall    = found and expected / expected
    F1        = 2 * precision * recall / (precision + recall)

All three are 1 if nothing was expected and nothing found, and 0 if one of the two sets is empty.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from unicodedata import normalize

from gatekeeper.checks.canonical_json import canonical_json
from gatekeeper.checks.check import (
    Finding,
    ParameterError,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
)
from gatekeeper.checks.field_path import is_query
from gatekeeper.checks.json_path import JsonPath, Selected
from gatekeeper.checks.output import (
    FIELD,
    IGNORE_CASE,
    as_text,
    on_output,
    on_selected,
    parse_json,
    quote,
)
from gatekeeper.contract.trial import Sample

MOST_ITEMS = 10_000
_SHOWN = 3


class SetCounts(NamedTuple):
    """How many items were found, were expected, and both."""

    found: int
    expected: int
    both: int

    @property
    def precision(self) -> float:
        return self._share(self.found)

    @property
    def recall(self) -> float:
        return self._share(self.expected)

    @property
    def f1(self) -> float:
        # The harmonic mean of precision and recall, counted before it is divided.
        if not self.found and not self.expected:
            return 1.0
        return 2 * self.both / (self.found + self.expected)

    def _share(self, of: int) -> float:
        if not of:
            return float(self.found == self.expected)
        return self.both / of


def prepare_sets(params: Parameters, score: Callable[[SetCounts], float]) -> SampleEvaluator:
    """Return an evaluator of a check that compares sets, with its score."""
    read = _reader(params.get("ignore_case", False))
    wanted = read(_list(params["value"], params))
    least = params["min"]

    def inspect(items: Collection[Any] | str) -> Finding:
        if isinstance(items, str):
            return failed(items)
        if len(items) > MOST_ITEMS:
            return Finding(None, f"the output has more than {MOST_ITEMS:,} items")
        found = read(items)
        counts = SetCounts(len(found), len(wanted), len(found & wanted))
        value = score(counts)
        if value >= least:
            return Finding(passed=True, score=value)
        return Finding(False, _message(value, least, found, wanted), value)

    evaluate = _on_items(params, inspect, none_expected=not wanted)

    def scored(sample: Sample) -> Finding:
        """Give the score 0 to an output without items, such as one that is not JSON."""
        finding = evaluate(sample)
        if finding.score is None and finding.passed is False:
            return replace(finding, score=0.0)
        return finding

    return scored


def _on_items(
    params: Parameters,
    inspect: Callable[[Collection[Any] | str], Finding],
    *,
    none_expected: bool,
) -> SampleEvaluator:
    field, separator = params.get("field"), params.get("separator")
    if field is not None and is_query(field):
        return on_selected(
            JsonPath(field), lambda parts: inspect(_values(parts)), may_be_empty=none_expected
        )

    def inspect_part(part: Any) -> Finding:
        if separator is not None and isinstance(part, str):
            return inspect(part.split(separator))
        value = parse_json(part) if field is None else part
        if isinstance(value, list):
            return inspect(value)
        shown = "the output" if field is None else quote(value)
        return inspect(f"expected a list, but {shown} is not a list")

    return on_output(params, inspect_part)


def _values(parts: Sequence[Selected]) -> list[Any]:
    """Return the values that a query selects. If it selects one list, these are its items."""
    if len(parts) == 1 and isinstance(parts[0].value, list):
        return parts[0].value
    return [part.value for part in parts]


def _list(value: Any, params: Parameters) -> list[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, str) and params.get("separator"):
        return list(value.split(params["separator"]))
    parsed = parse_json(value) if isinstance(value, str) else None
    if isinstance(parsed, list):
        return parsed
    raise ParameterError(
        "`value` is not a list", "write a list, or set `separator` to split a text"
    )


def _reader(ignore_case: bool) -> Callable[[Collection[Any]], set[str]]:
    def read(items: Collection[Any]) -> set[str]:
        texts = (normalize("NFC", " ".join(_written(item).split())) for item in items)
        return {text.casefold() if ignore_case else text for text in texts if text}

    return read


def _written(item: Any) -> str:
    """Return an item as text that is the same for values that are equal."""
    return item if isinstance(item, str) else as_text(json.loads(canonical_json(item)))


def _message(value: float, least: float, found: set[str], wanted: set[str]) -> str:
    # Rounded down, so that a score that is too low never looks high enough.
    parts = [f"the score is {math.floor(value * 1000) / 1000:g}, less than {least:g}"]
    for what, items in (("missing", wanted - found), ("not expected", found - wanted)):
        if items:
            named = ", ".join(quote(item, 40) for item in sorted(items)[:_SHOWN])
            more = f" and {len(items) - _SHOWN:,} more" if len(items) > _SHOWN else ""
            parts.append(f"{what}: {named}{more}")
    return "; ".join(parts)


SET_PARAMETERS = parameters(
    required=("value", "min"),
    value={
        "type": ["array", "string"],
        "description": "The list of expected items, or a text that contains these items.",
    },
    min={
        "type": "number",
        "minimum": 0,
        "maximum": 1,
        "description": "The lowest score that passes, from 0 to 1.",
    },
    separator={
        "type": "string",
        "minLength": 1,
        "description": "The text that separates items, such as `,`. If `separator` is not set, "
        "the check reads the items from a JSON list.",
    },
    ignore_case=IGNORE_CASE,
    field=FIELD,
)
"""The parameters of every check that compares sets."""
