"""The output is the same JSON as an expected value.

`ignore_order` ignores the order of items in every list, `ignore_keys` the named keys at every
level. The order of keys never matters. 1 equals 1.0, not true. A `value` that is text is read as
JSON, so a CSV fixture can hold it. The message names the first difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from typing import Any
from unicodedata import normalize

from gatekeeper.checks.check import (
    PASSED,
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
from gatekeeper.checks.reading.alike import unseen_difference
from gatekeeper.checks.reading.canonical_json import canonical_json
from gatekeeper.checks.reading.output import (
    FIELD,
    NotJson,
    as_text,
    on_output,
    parse_json,
    quote,
    shorten,
)
from gatekeeper.contract.reading.same_json import same_json


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    unordered = params.get("ignore_order", False)
    ignored = frozenset(params.get("ignore_keys", ()))
    wanted = _simplified(_wanted(params["value"]), ignored, unordered)
    whole_output = "field" not in params

    def inspect(found: Any) -> Finding:
        value = parse_json(found) if whole_output else found
        if isinstance(value, NotJson):
            return failed(value.message)
        value = _simplified(value, ignored, unordered)
        if same_json(value, wanted):
            return PASSED
        return failed(_difference(wanted, value, "$", unordered))

    return on_output(params, inspect)


def _wanted(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    parsed = parse_json(value)
    if isinstance(parsed, NotJson):
        raise ParameterError(
            f"`value` is {parsed.message}", "write JSON, or use `equals` to compare text"
        )
    return parsed


_SCALARS = frozenset({int, float, bool, type(None)})


def _simplified(value: Any, ignored: Set[str], unordered: bool) -> Any:
    """Return the value without the ignored keys, with the items of lists in one order, and with one
    form of characters with accents."""
    if isinstance(value, str):
        return normalize("NFC", value)
    if isinstance(value, Mapping):
        kept = {name: part for name, part in value.items() if name not in ignored}
        return {
            normalize("NFC", name): _simplified(part, ignored, unordered)
            for name, part in kept.items()
        }
    if isinstance(value, list | tuple):
        items = [
            item if type(item) in _SCALARS else _simplified(item, ignored, unordered)
            for item in value  # lists of numbers can be long
        ]
        return sorted(items, key=canonical_json) if unordered else items
    return value


def _difference(wanted: Any, found: Any, path: str, unordered: bool) -> str:
    """Describe the first difference between two values that are not the same."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        missing = [name for name in wanted if name not in found]
        more = [name for name in found if name not in wanted]
        if missing or more:
            return f"at `{path}`: " + "; ".join(
                f"{what} {', '.join(map(quote, names[:3]))}"
                for what, names in (("missing", missing), ("not expected", more))
                if names
            )
        pairs = [(_inside(path, name), wanted[name], found[name]) for name in wanted]
    elif isinstance(wanted, list) and isinstance(found, list):
        if unordered or len(wanted) != len(found):
            return f"at `{path}`: {_list_difference(wanted, found)}"
        pairs = [(f"{path}[{n}]", *both) for n, both in enumerate(zip(wanted, found, strict=True))]
    else:
        unseen = unseen_difference(as_text(wanted), as_text(found))
        return f"at `{shorten(path)}`: expected {quote(wanted)}; got {quote(found)}{unseen}"
    return next(
        _difference(one, other, at, unordered)
        for at, one, other in pairs
        if not same_json(one, other)
    )


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if name.isidentifier() and name.isascii() else f"{path}[{quote(name)}]"


def _list_difference(wanted: list[Any], found: list[Any]) -> str:
    before, now = Counter(map(canonical_json, wanted)), Counter(map(canonical_json, found))
    parts = [f"expected {len(wanted)} items; got {len(found):,}"]
    for what, items in (("missing", before - now), ("not expected", now - before)):
        if items:
            parts.append(f"{what} {shorten(next(iter(items)), 120)}")
    return "; ".join(parts)


CHECK = Check(
    parameters(
        required=("value",),
        value={
            "type": ["object", "array", "string", "number", "boolean", "null"],
            "description": (
                "The expected value, or a text that contains the expected value as JSON."
            ),
        },
        ignore_order={
            "type": "boolean",
            "default": False,
            "description": "Whether the order of items in lists is ignored.",
        },
        ignore_keys={
            "type": "array",
            "items": {"type": "string"},
            "description": "A list of keys to ignore at every level, such as [id].",
        },
        field=FIELD,
    ),
    _prepare,
    group="values",
    examples=(
        Example(
            '{type: json_equal, value: "{{ expected }}", ignore_order: true, ignore_keys: [id]}',
            '{"id": 7, "tags": ["late", "refund"]}',
            '{"id": 1, "tags": ["refund"]}',
            expected={"id": 1, "tags": ["refund", "late"]},
        ),
        Example(
            "{type: json_equal, field: items, value: [{sku: A, count: 2}]}",
            '{"items": [{"count": 2, "sku": "A"}]}',
            '{"items": [{"count": 3, "sku": "A"}]}',
        ),
    ),
)
