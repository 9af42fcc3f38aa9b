"""Compares the set of items in an output with the expected set: precision, recall and F1.

    precision = found and expected / found recall    = found and expected / expected F1        = 2 *
    precision * recall / (precision + recall)

All three are 1 if nothing was expected and nothing found, and 0 if one of the two sets is empty.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple
from unicodedata import normalize

from gatekeeper import numbers
from gatekeeper.checks.check import (
    Check,
    Example,
    Files,
    Finding,
    ParameterError,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
)
from gatekeeper.checks.reading.canonical_json import canonical_json
from gatekeeper.checks.reading.field_path import is_query
from gatekeeper.checks.reading.json_path import JsonPath, Selected
from gatekeeper.checks.reading.output import (
    FIELD,
    IGNORE_CASE,
    as_text,
    on_output,
    on_selected,
    parse_json,
    quote,
)
from gatekeeper.checks.text.overlap.references import zero_without_output

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


def _prepare(params: Parameters, score: Callable[[SetCounts], float]) -> SampleEvaluator:
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

    return zero_without_output(_on_items(params, inspect, none_expected=not wanted))


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
            named = numbers.some([quote(item, 40) for item in sorted(items)], _SHOWN)
            parts.append(f"{what}: {named}")
    return "; ".join(parts)


_PARAMETERS = parameters(
    required=("value", "min"),
    value={
        "type": ["array", "string"],
        "description": "The list of expected items, or a text that contains these items.",
    },
    min={
        "x-looser": "down",
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


def _check(about: str, score: Callable[[SetCounts], float], *examples: Example) -> Check:
    def prepare(params: Parameters, _files: Files) -> SampleEvaluator:
        return _prepare(params, score)

    return Check(_PARAMETERS, prepare, scores=True, group="values", examples=examples, about=about)


F1 = _check(
    """
The F1 score of the items in the output is at least `min`: the harmonic mean of
[precision](#precision) and [recall](#recall).

Items are compared as sets: order, repetitions, white space and the order of keys do not matter.
They come from a JSON list (the whole output or a `field`), from the values that a JSONPath selects,
or from text with a `separator`. If no item is expected and the output has none, the score is 1; if
only one side is empty, it is 0. The message names missing and unexpected items.
""",
    lambda counts: counts.f1,
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
)
PRECISION = _check(
    """
The share of expected items among the items in the output is at least `min`.

Items are those of [f1](#f1). One item that is expected gives 1; if none may be missing, use
`recall` or `f1`.
""",
    lambda counts: counts.precision,
    Example(
        '{type: precision, field: "$.people[*].name", value: "{{ expected }}", min: 0.9}',
        '{"people": [{"name": "Ann"}]}',
        '{"people": [{"name": "Ann"}, {"name": "Eve"}]}',
        expected=["Ann", "Bob"],
    ),
)
RECALL = _check(
    """
The share of the expected items that the output contains is at least `min`.

Items are those of [f1](#f1). Unexpected items do not lower the score; to count them, use
`precision` or `f1`.
""",
    lambda counts: counts.recall,
    Example(
        '{type: recall, field: people, value: "{{ expected }}", min: 0.9}',
        '{"people": ["Ann", "Bob", "Eve"]}',
        '{"people": ["Ann"]}',
        expected=["Ann", "Bob"],
    ),
)
