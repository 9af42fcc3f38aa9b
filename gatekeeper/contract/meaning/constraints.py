"""Derives constraints on an output from a contract's checks: a JSON Schema, a list of texts, or
sentences.

A constraint holds for every fixture, so it comes from the contract's own checks alone. A check that
is a template, a condition or a warning gives none: `{{ expected }}` must never reach the model.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gatekeeper.contract.syntax.yaml_positions import parse
from gatekeeper.contract.values.definition import CheckSpec, Contract
from gatekeeper.errors import ContractError, Problem

_TEMPLATE = re.compile(r"\{[{%]")
_PLAIN_PATH = re.compile(r"(?:\$\.)?[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*")
_JSON_TYPES = frozenset({"json_schema", "json_valid", "json_required"})
_WITH_FIELD = _JSON_TYPES | {"enum", "number"}


def output_schema(contract: Contract) -> Mapping[str, Any] | None:
    """Return the JSON Schema that the checks require of an output; None if no check says that it is
    JSON. It is empty for JSON of any form.

    The schema of the first `json_schema` check without a `field` counts, and required fields,
    allowed values and ranges of numbers are added to it. Raises ContractError for a schema that
    refers to other files, which cannot be sent.
    """
    specs = list(_applying(contract))
    if not any(spec.type in _JSON_TYPES or _field_of(spec) for spec in specs):
        return None
    whole = (spec for spec in specs if spec.type == "json_schema" and "field" not in spec.params)
    written = next(whole, None)
    schema = copy.deepcopy(_schema_of(written, contract)) if written else {}
    if not isinstance(schema, dict):
        return None
    for spec in specs:
        for path, wanted in _properties_of(spec, contract):
            _require(schema, path.removeprefix("$.").split("."), wanted)
    return schema


def output_choices(contract: Contract) -> tuple[str, ...] | None:
    """Return the texts of which an output must be one; None if no check lists them."""
    for spec in _applying(contract):
        values = spec.params.get("values")
        if spec.type == "enum" and "field" not in spec.params and isinstance(values, list):
            texts = tuple(value for value in values if isinstance(value, str))
            return texts if texts and len(texts) == len(values) else None
    return None


def output_requirements(contract: Contract) -> tuple[str, ...]:
    """Return what the checks require of an output, as sentences for a model."""
    found: list[str] = []
    for spec in _applying(contract):
        text = _said(spec, contract)
        if text:
            found.append(text)
    return tuple(dict.fromkeys(found))


def _applying(contract: Contract) -> Iterator[CheckSpec]:
    """Yield the checks that hold for every fixture as they are written."""
    written = contract.checks if contract.checks_of_mode is None else contract.checks_of_mode
    for spec in written:
        plain = (
            not spec.negated and spec.when is None and not spec.turn and spec.severity == "error"
        )
        if plain and not _TEMPLATE.search(json.dumps(spec.params, default=str)):
            yield spec


def _field_of(spec: CheckSpec) -> str | None:
    field = spec.params.get("field")
    known = isinstance(field, str) and _PLAIN_PATH.fullmatch(field)
    return str(field) if known and spec.type in _WITH_FIELD else None


def _properties_of(spec: CheckSpec, contract: Contract) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the fields that a check requires, each with a schema of its value."""
    field = _field_of(spec)
    if spec.type == "json_required":
        fields = spec.params.get("fields")
        within = f"{field}." if field else ""
        for name in () if "field" in spec.params and not field else fields or ():
            if isinstance(name, str) and _PLAIN_PATH.fullmatch(name):
                yield within + name.removeprefix("$."), {}
    elif field and spec.type in _JSON_TYPES:
        yield field, _schema_of_field(spec, contract)
    elif field and spec.type == "enum" and isinstance(spec.params.get("values"), list):
        yield field, {"enum": spec.params["values"]}
    elif field and spec.type == "number":
        bounds = {"min": "minimum", "max": "maximum"}
        known = {word: spec.params[name] for name, word in bounds.items() if _is_bound(spec, name)}
        yield field, {"type": "number", **known}


def _schema_of_field(spec: CheckSpec, contract: Contract) -> Mapping[str, Any]:
    """Return the schema of a field; an empty one if it has references, which would point elsewhere
    inside another schema."""
    schema = _schema_of(spec, contract) if spec.type == "json_schema" else None
    if not isinstance(schema, dict) or any(_references(schema)):
        return {}
    return copy.deepcopy(schema)


def _require(schema: dict[str, Any], path: Sequence[str], wanted: Mapping[str, Any]) -> None:
    """Add a required property to a schema. One that the schema forbids, or describes elsewhere, is
    left out: the schema of the contract's author counts."""
    if schema.setdefault("type", "object") != "object" or "$ref" in schema:
        return
    name, *rest = path
    properties = schema.setdefault("properties", {})
    if name not in properties and schema.get("additionalProperties") is False:
        return
    inner = properties.setdefault(name, {})
    required = schema.get("required", [])
    if isinstance(required, list) and name not in required:
        schema["required"] = [*required, name]
    if not isinstance(inner, dict):
        return
    if rest:
        _require(inner, rest, wanted)
    elif "$ref" not in inner:
        for key, value in wanted.items():
            inner.setdefault(key, value)


def _schema_of(spec: CheckSpec, contract: Contract) -> Any:
    written = spec.params["schema"]
    # As the loader and the check read the file: plain YAML would make a date of 2020-01-01.
    schema = parse(spec.files[written], written).data if isinstance(written, str) else written
    foreign = sorted({ref for ref in _references(schema) if not ref.startswith("#")})
    if not foreign:
        return schema
    at = spec.position
    what = (
        f"`mode: {contract.mode}` sends only this schema, but the schema refers to another "
        f"document, {foreign[0]!r}"
    )
    fix = (
        "copy the needed part of the other document into `$defs` of this schema, or use "
        "`mode: repair`"
    )
    place = (at.path, at.line, at.column) if at else (contract.path, None, None)
    raise ContractError([Problem(place[0], what, fix, place[1], place[2], field="schema")])


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        reference = value.get("$ref")
        if isinstance(reference, str):
            yield reference
        for child in value.values():
            yield from _references(child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from _references(child)


def _is_bound(spec: CheckSpec, name: str) -> bool:
    value = spec.params.get(name)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _listed(values: object) -> str:
    return ", ".join(map(_quoted, values if isinstance(values, list) else [values]))


_VERBS = {
    "contains": "contains",
    "not_contains": "does not contain",
    "starts_with": "starts with",
    "ends_with": "ends with",
}


def _bounds(params: Mapping[str, Any], unit: str = "") -> str:
    words = {"min": "at least", "max": "at most"}
    known = [(name, params[name]) for name in words if params.get(name) is not None]
    return " and ".join(f"{words[name]} {value}{unit}" for name, value in known)


def _said_of_json(spec: CheckSpec, contract: Contract, subject: str) -> str:
    text, has_field = "Answer with one JSON document and nothing else.", "field" in spec.params
    if has_field and spec.type == "json_valid":
        text += f" {subject} is JSON."
    if spec.type == "json_schema":
        schema = _quoted(_schema_of(spec, contract))
        text += f" {subject if has_field else 'It'} conforms to this JSON Schema: {schema}"
    return text


def _said(spec: CheckSpec, contract: Contract) -> str | None:
    """Return what a check requires, as a sentence; None if it cannot be said."""
    params = spec.params
    subject = f"The field `{params['field']}`" if "field" in params else "The answer"
    if spec.type in ("json_schema", "json_valid"):
        return _said_of_json(spec, contract, subject)
    if spec.type == "json_required":
        verb = "has" if "field" in params else "is a JSON document with"
        return f"{subject} {verb} the fields {_listed(params.get('fields'))}."
    if spec.type == "enum":
        alone = "" if "field" in params else " and nothing else"
        return f"{subject} is one of these{alone}: {_listed(params.get('values'))}."
    if spec.type == "number":
        known = {name: params[name] for name in ("min", "max") if _is_bound(spec, name)}
        what = "contains a number" if "in_text" in params else "is a number"
        return f"{subject} {what}{' of ' if known else ''}{_bounds(known)}."
    if spec.type == "length":
        bounds = _bounds(params, f" {params.get('unit', 'characters')}")
        return f"{subject} has {bounds}." if bounds else None
    if spec.type in _VERBS:
        values, verb = params.get("values", params.get("value")), _VERBS[spec.type]
        several = isinstance(values, list) and len(values) > 1
        any_of = several and (params.get("match") == "any" or verb.endswith("with"))
        listed = f"{'one of ' if any_of else ''}{_listed(values)}"
        return None if values is None else f"{subject} {verb} {listed}."
    if spec.type == "regex":
        return f"{subject} matches the regular expression {_quoted(params['pattern'])}."
    if spec.type == "language":
        return f"{subject} is written in the language {_listed(params['value'])}."
    form = f"{subject} is valid {params.get('format')} and nothing else."
    return form if spec.type == "parses_as" else None
