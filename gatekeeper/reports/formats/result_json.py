"""The result for other programs: a document whose keys are promised, and its JSON Schema.

The schema, `reports/result.v1.json`, is the table that the document is written from: each of its
keys takes the value of the attribute with the same name. So a new key is an attribute of the result
and a property of the schema.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from gatekeeper import __version__
from gatekeeper.contract.values.trial import Arm
from gatekeeper.gate.results.parts import FixtureFailure, FixtureResult, Tally
from gatekeeper.gate.results.result import GateResult
from gatekeeper.stats.interval import ConfidenceInterval

SCHEMA_VERSION = 1
_SCHEMA_FILE = "result.v1.json"

_ATTRIBUTES = {
    "prompt": "prompt_path",
    "key": "place",
    "pass_rate": "rate",
    "broke_first": "broke",
    "repair_rate": "rate",
    "meaning_changed": "changed",
    "meaning_unknown": "unknown",
    "semantic_change_rate": "changed_rate",
    "relative_interval": "interval",
    "cost_per_100_samples_usd": "cost_per_100_samples",
    "path": "position.path",
    "line": "position.line",
}
"""The attribute that a key is written from, of values that have this attribute."""

_LEFT_OUT = frozenset({"folder"})
"""Keys that are left out if they are empty."""

Convert = Callable[[Any], Any]


@cache
def result_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) that every result document follows."""
    # importlib.resources would import zipfile.
    text = Path(__file__).parents[1].joinpath(_SCHEMA_FILE).read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def result_document(result: GateResult, notices: Sequence[str] = ()) -> dict[str, Any]:
    """Return the result as JSON-ready values; `notices` are later than the result.

    Unknown values are null; never NaN, never infinite.
    """
    started = result.started if result.started.tzinfo else result.started.replace(tzinfo=UTC)
    whole = _Whole(
        result,
        {
            "schema": SCHEMA_VERSION,
            "version": __version__,
            "base": {"sha": result.base_sha},
            "head": {"sha": result.head_sha},
            "started": started.isoformat(),
            "most_cost_usd": result.forecast.most.cost_usd if result.forecast else None,
            "notices": [*result.notices, *notices],
        },
    )
    document: dict[str, Any] = _whole_document()(whole)
    return document


def part_document(name: str, part: object) -> Any:
    """Return a part of a result in the form that the schema defines under this name."""
    return _definition(name)(part)


def picked(value: object, keys: str) -> dict[str, Any]:
    """Return attributes of a value as JSON data: `labels judged=held_out.judged`."""
    named = (key.partition("=") for key in keys.split())
    return {key: _plain(attrgetter(name or key)(value)) for key, _, name in named}


def render_result(result: GateResult, notices: Sequence[str] = ()) -> str:
    """Render `result.json`: the document as text."""
    return encode(result_document(result, notices), indent=2) + "\n"


@lru_cache
def _encoder(indent: int | None) -> json.JSONEncoder:
    """Return an encoder. Making one takes as long as encoding a short sample."""
    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=indent)


def encode(value: Any, indent: int | None = None) -> str:
    """Return JSON that any reader accepts, whatever a model wrote into it."""
    text = _encoder(indent).encode(value)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair can only be written as an escape
        return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=indent)
    # Readers that split text into lines would also split here.
    for separator in ("\x85", "\u2028", "\u2029"):
        text = text.replace(separator, f"\\u{ord(separator):04x}")
    return text


@dataclass(frozen=True, slots=True)
class _Whole:
    """A value with some attributes replaced."""

    value: Any
    replaced: Mapping[str, Any]


@cache
def _whole_document() -> Convert:
    return _converter(result_schema())


@cache
def _definition(name: str) -> Convert:
    convert = _converter(result_schema()["$defs"][name])
    if name != "fixture":
        return convert
    return lambda fixture: convert(_with_outputs(fixture))


def _converter(schema: Mapping[str, Any]) -> Convert:
    """Return what writes a value in the form of a schema."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        # Found when it is first used, because a comparison has parts that are comparisons.
        return lambda value: None if value is None else _definition(name)(value)
    if "anyOf" in schema:
        return _converter(schema["anyOf"][0])
    if "properties" in schema:
        each = schema["properties"].items()
        return _Properties({key: _converter(of_key) for key, of_key in each})
    if isinstance(schema.get("additionalProperties"), Mapping):
        return _each_of(_converter(schema["additionalProperties"]))
    if "array" in schema.get("type", ()):
        item = schema["items"]
        return _numbers if item.get("type") == "number" else _list_of(_converter(item))
    return _plain


class _Properties:
    """Writes an object: each key with the value of its attribute, or of its entry in a mapping."""

    def __init__(self, converters: Mapping[str, Convert]) -> None:
        self._converters = converters
        self._readers: dict[type, list[tuple[str, Convert, Convert]]] = {}

    def __call__(self, value: Any) -> dict[str, Any] | None:
        if value is None:
            return None
        replaced: Mapping[str, Any] = {}
        if isinstance(value, _Whole):
            value, replaced = value.value, value.replaced
        if isinstance(value, Mapping):
            return {key: convert(value[key]) for key, convert in self._converters.items()}
        kind = type(value)
        if kind not in self._readers:
            self._readers[kind] = [
                (key, attrgetter(_attribute(key, value)), convert)
                for key, convert in self._converters.items()
            ]
        found = {}
        for key, read, convert in self._readers[kind]:
            written = convert(replaced[key] if key in replaced else read(value))
            if written or key not in _LEFT_OUT:
                found[key] = written
        return found


def _attribute(key: str, value: object) -> str:
    name = _ATTRIBUTES.get(key, key)
    return name if hasattr(value, name.partition(".")[0]) else key


def _each_of(convert: Convert) -> Convert:
    return lambda value: None if value is None else {k: convert(v) for k, v in value.items()}


def _list_of(convert: Convert) -> Convert:
    return lambda value: None if value is None else [convert(entry) for entry in value]


def _numbers(value: Any) -> list[float] | None:
    """Return bounds; None if one of them is not known, because the other then says nothing."""
    if isinstance(value, ConfidenceInterval):
        value = (value.low, value.high)
    found = _plain(value)
    return found if found else None


def _plain(value: Any) -> Any:
    """Return a value without keys of its own, each number that JSON cannot hold as null."""
    if value is None or isinstance(value, str | int):  # most values
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        if any(isinstance(entry, float) and not math.isfinite(entry) for entry in value):
            return None
        return [_plain(entry) for entry in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, ConfidenceInterval):
        return [value.low, value.high]
    return str(value) if isinstance(value, Tally) else value


@dataclass(slots=True)
class _Outputs:
    """Each text of one fixture once, by arm; the first sample's in front."""

    base: list[str] = field(default_factory=list)
    head: list[str] = field(default_factory=list)

    def place(self, arm: Arm, text: str) -> int:
        texts = self.base if arm == "base" else self.head
        if text not in texts:
            texts.append(text)
        return texts.index(text)


def _with_outputs(fixture: FixtureResult) -> _Whole:
    """Return the fixture with each output once, which its failures and warnings then name."""
    outputs = _Outputs()
    if fixture.base_output is not None:
        outputs.place("base", fixture.base_output)
    if fixture.head_output is not None:
        outputs.place("head", fixture.head_output)
    failing = {
        "failures": _failures(fixture.failures, outputs),
        "warnings": _failures(fixture.warnings, outputs),
    }
    return _Whole(fixture, {**failing, "outputs": {"base": outputs.base, "head": outputs.head}})


def _failures(failures: Sequence[FixtureFailure], outputs: _Outputs) -> list[dict[str, Any]]:
    """Return each finding once, with its place in the text and how many samples have it."""
    found = Counter((f.arm, f.check, f.message, outputs.place(f.arm, f.output)) for f in failures)
    return [
        {"arm": arm, "check": check, "message": message, "output": output, "samples": samples}
        for (arm, check, message, output), samples in found.items()
    ]
