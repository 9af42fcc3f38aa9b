"""Translates the invariants of a prompt contract harness to checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from gatekeeper.contract.formats.check_texts import literal
from gatekeeper.contract.formats.fields import expect_list, located_text, one_of, value_at
from gatekeeper.contract.formats.foreign_suite import At, SuiteFiles
from gatekeeper.contract.formats.known_keys import (
    SCHEMA,
    Keys,
    keys,
    unknown_keys,
    unknown_keywords,
)
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.values.definition import NotRun
from gatekeeper.errors import ContractError

_KINDS = ("type", "kind", "check")
_JUDGES = ("judge", "llm_judge", "rubric")
_SCHEMAS = ("json_schema", "schema")
_LONGEST = ("length", "max_length", "max_chars")
_SHORTEST = ("min_length", "min_chars")
_WORDS = ("max_words",)
_SPECS: Mapping[str, str] = {
    **dict.fromkeys(_SCHEMAS, "schema spec"),
    **dict.fromkeys((*_LONGEST, *_SHORTEST, *_WORDS), "length spec"),
    **dict.fromkeys(_JUDGES, "judge spec"),
}
"""The table of keys of each `spec` that is not just the parameters of a check."""
CHECK_KEYS: Mapping[str, Keys] = {
    "invariant": keys(
        "type kind check spec name id model category categories severity", "metadata tags"
    ),
    "schema spec": keys("schema schema_file"),
    "length spec": keys("min max unit"),
    "judge spec": keys("criteria rubric model"),
}


def read_invariants(
    files: SuiteFiles, document: Document, key: KeyPath, not_run: list[NotRun]
) -> list[At]:
    """Return the checks of a list of invariants. Raises ContractError."""
    found = []
    for number, item in enumerate(expect_list(document, key)):
        place: KeyPath = (*key, number)
        named = one_of(document, place, _KINDS)
        kind = item[named] if named else None
        at = document.position(place)
        if not isinstance(kind, str):
            what, fix = "an invariant has no `type`", "add a type, such as `type: json_schema`"
            raise ContractError([document.problem(place, what, fix)])
        unknown = _unknown(document, place, kind, item)
        if unknown:
            not_run += unknown
            continue
        make = _MAKERS.get(_plain(kind))
        made = make(_spec(files, document, place, kind)) if make else None
        if made is None:
            why = (
                "gatekeeper does not understand the `spec` of the invariant"
                if make
                else "gatekeeper has no check for invariants of this type"
            )
            not_run.append(NotRun(kind, at, why))
            continue
        label = next((item[k] for k in ("name", "id") if isinstance(item.get(k), str)), None)
        check: dict[str, Any] = {"name": label} if label else {}
        check |= made
        if made.get("judge") and isinstance(item.get("model"), str):
            check["model"] = item["model"]
        if made.get("judge") and "model" not in check:
            what = "the invariant does not name the model that judges"
            fix = "add `model: provider/name` to the invariant"
            raise ContractError([document.problem(place, what, fix)])
        category = one_of(document, place, ("categories", "category"))
        if category:
            check["when"] = {"category": item[category]}
        if item.get("severity") in ("warn", "warning"):
            check["severity"] = "warn"
        found.append(At(check, at))
    return found


def _spec(files: SuiteFiles, document: Document, place: KeyPath, kind: str) -> Any:
    """Return the `spec` of an invariant. A `schema_file` becomes the path of the file: from the
    folder of the suite, or else from the repository root. Raises ContractError."""
    spec = value_at(document, (*place, "spec"))
    if _plain(kind) not in _SCHEMAS or not isinstance(spec, dict) or "schema_file" not in spec:
        return spec
    key = (*place, "spec", "schema_file")
    written = located_text(document, key)
    at_root = f"/{written.lstrip('/')}"
    try:
        return f"/{files.text(document, key, written)[0]}"
    except ContractError:
        return f"/{files.text(document, key, at_root)[0]}"


def _plain(kind: str) -> str:
    return kind.lower().replace("-", "_")


def _unknown(
    document: Document, place: KeyPath, kind: str, item: Mapping[str, Any]
) -> list[NotRun]:
    """Return the unknown keys of an invariant and of its `spec`. Those of most specs are the
    parameters of a check, which loading the contract looks at."""
    found = unknown_keys(document, place, item, CHECK_KEYS["invariant"], check=kind)
    spec, plain, key = item.get("spec"), _plain(kind), (*place, "spec")
    if not isinstance(spec, dict) or plain not in _SPECS:
        return found
    if plain in _SCHEMAS and "schema" in spec:
        found += unknown_keywords(document, (*key, "schema"), spec["schema"])
    elif plain in _SCHEMAS and not SCHEMA.read.isdisjoint(spec):
        return found + unknown_keywords(document, key, spec)
    return found + unknown_keys(document, key, spec, CHECK_KEYS[_SPECS[plain]], check=kind)


Maker = Callable[[Any], dict[str, Any] | None]
_FLAGS = {
    name: letter
    for letter, names in {
        "i": ("i", "ignorecase"),
        "m": ("m", "multiline"),
        "s": ("s", "dotall"),
        "x": ("x", "verbose"),
        "": ("u", "unicode"),
    }.items()
    for name in names
}
"""The flags of Python's `re`, and how a pattern writes them."""


def _with(kind: str, main: str | None = None, **fixed: Any) -> Maker:
    """Return a maker of a check: `spec` has its parameters, or is the main one."""

    def make(spec: Any) -> dict[str, Any] | None:
        if isinstance(spec, Mapping):
            if "type" in spec:
                return None
            values = {name: _literal(value) for name, value in spec.items()}
            return {"type": kind, **fixed, **values}
        if spec is None:
            return {"type": kind, **fixed} if main is None else None
        return {"type": kind, **fixed, main: _literal(spec)} if main else None

    return make


def _found(kind: str) -> Maker:
    """Return a maker of a check for parts of the text: `substring` is its `value`."""

    def make(spec: Any) -> dict[str, Any] | None:
        if not isinstance(spec, Mapping):
            return _with(kind, "value")(spec)
        names = {"substring": "value", "text": "value", "substrings": "values"}
        values = {names.get(name, name): value for name, value in spec.items()}
        sensitive = values.pop("case_sensitive", True)
        if len(values) < len(spec) - ("case_sensitive" in spec) or not isinstance(sensitive, bool):
            return None
        return _with(kind)(values if sensitive else {**values, "ignore_case": True})

    return make


def _pattern(kind: str) -> Maker:
    """Return a maker of a check for a pattern: `flags` are those of Python's `re`."""

    def make(spec: Any) -> dict[str, Any] | None:
        if not isinstance(spec, Mapping) or "flags" not in spec:
            return _with(kind, "pattern")(spec)
        rest = {name: value for name, value in spec.items() if name != "flags"}
        written = spec["flags"] if isinstance(spec["flags"], list) else [spec["flags"]]
        names = re.split(r"[|,\s]+", " ".join(map(str, written)).strip())
        plain = [name.lower().removeprefix("re.") for name in names if name]
        if not isinstance(rest.get("pattern"), str) or not _FLAGS.keys() >= set(plain):
            return None
        letters = "".join(dict.fromkeys(_FLAGS[name] for name in plain))
        start = f"(?{letters})" if letters else ""
        return _with(kind)({**rest, "pattern": start + rest["pattern"]})

    return make


def _literal(value: Any) -> Any:
    """Return a text as a template that gives it back; `{expected}` is the case's."""
    if isinstance(value, list):
        return [_literal(item) for item in value]
    if not isinstance(value, str):
        return value
    return "{{ expected }}" if value.strip() in ("{expected}", "{{ expected }}") else literal(value)


def _schema(spec: Any) -> dict[str, Any] | None:
    if not isinstance(spec, dict):
        return {"type": "json_schema", "schema": spec} if isinstance(spec, str) else None
    return {"type": "json_schema", "schema": spec.get("schema", spec)}


def _length(bound: str) -> Maker:
    def make(spec: Any) -> dict[str, Any] | None:
        if isinstance(spec, Mapping):
            unit = {"unit": spec["unit"]} if "unit" in spec else {}
            bounds = {name: spec[name] for name in ("min", "max") if name in spec}
            return {"type": "length", **bounds, **unit} if bounds else None
        return {"type": "length", bound: spec} if isinstance(spec, int) else None

    return make


def _words(spec: Any) -> dict[str, Any] | None:
    made = _length("max")(spec)
    return made and {**made, "unit": "words"}


def _judge(spec: Any) -> dict[str, Any] | None:
    if isinstance(spec, str):
        return {"judge": "rubric", "criteria": literal(spec)}
    if not isinstance(spec, Mapping):
        return None
    criteria = spec.get("criteria", spec.get("rubric"))
    if not isinstance(criteria, str):
        return None
    model = {"model": spec["model"]} if isinstance(spec.get("model"), str) else {}
    return {"judge": "rubric", "criteria": literal(criteria), **model}


_MAKERS: Mapping[str, Maker] = {
    **dict.fromkeys(("json", "json_valid", "valid_json"), _with("json_valid")),
    **dict.fromkeys(_SCHEMAS, _schema),
    **dict.fromkeys(("json_required", "required_fields"), _with("json_required", "fields")),
    **dict.fromkeys(("regex", "matches", "pattern"), _pattern("regex")),
    **dict.fromkeys(("not_regex", "regex_absent", "not_matches"), _pattern("not_regex")),
    **dict.fromkeys(("enum", "one_of"), _with("enum", "values")),
    **dict.fromkeys(("equals", "exact_match"), _with("equals", "value")),
    "contains": _found("contains"),
    "contains_all": _with("contains", "values", match="all"),
    "contains_any": _with("contains", "values", match="any"),
    **dict.fromkeys(("not_contains", "forbidden"), _found("not_contains")),
    "starts_with": _with("starts_with", "value"),
    "ends_with": _with("ends_with", "value"),
    **dict.fromkeys(_LONGEST, _length("max")),
    **dict.fromkeys(_SHORTEST, _length("min")),
    **dict.fromkeys(_WORDS, _words),
    "similarity": _with("similarity", "value"),
    "language": _with("language", "value"),
    "latency": _with("latency", "max_ms"),
    "cost": _with("cost", "max_usd"),
    **dict.fromkeys(("pii", "no_pii"), _with("pii")),
    **dict.fromkeys(_JUDGES, _judge),
}
