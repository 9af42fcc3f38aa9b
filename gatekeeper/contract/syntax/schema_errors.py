"""Converts JSON Schema violations to problems that say how to fix them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gatekeeper.contract.syntax.schema import conforms
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.errors import Problem

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

_KINDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}


def schema_problems(
    document: Document,
    schema: Mapping[str, Any],
    data: Any,
    at: KeyPath = (),
    known: Iterable[str] = (),
) -> list[Problem]:
    """Return every violation of the schema by `data`, which is at `at` in the document.

    `known` are the other keys that are allowed there, to suggest the most similar one.
    """
    if conforms(data, schema):
        return []
    errors = _validator(json.dumps(schema)).iter_errors(data)
    ordered = sorted(errors, key=lambda error: [str(part) for part in error.absolute_path])
    return [problem for error in ordered for problem in _explain(document, error, at, tuple(known))]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown name: the nearest known one, or all of them."""
    names = sorted(set(known))
    every = "use one of " + ", ".join(f"`{name}`" for name in names) if names else "remove it"
    return closest_hint(name, names) or every


def closest_hint(name: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown name if a known one is close; "" otherwise."""
    names = sorted(set(known))
    # Two letters swapped is the likeliest slip, and difflib ranks `mode` above `model` for `modle`.
    swapped = [other for other in names if sorted(other) == sorted(name.lower())]
    close = swapped or difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else ""


@lru_cache(maxsize=256)
def _validator(schema: str) -> Draft202012Validator:
    """Return a cached validator, because making one takes longer than using it."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))


def _explain(
    document: Document, error: ValidationError, at: KeyPath, known: tuple[str, ...]
) -> list[Problem]:
    key = (*at, *error.absolute_path)
    schema: Mapping[str, Any] = error.schema if isinstance(error.schema, Mapping) else {}
    instance: Any = error.instance
    if error.validator == "additionalProperties":
        extra = [name for name in instance if name not in schema.get("properties", {})]
        names = (*schema.get("properties", {}), *(known if key == at else ()))
        return [
            document.problem((*key, name), "unknown key", nearest(name, names), at_key=True)
            for name in extra
        ]
    what, fix = _what_and_fix(error, schema)
    return [document.problem(key, what, fix)]


def _what_and_fix(error: ValidationError, schema: Mapping[str, Any]) -> tuple[str, str]:
    wanted: Any = error.validator_value
    instance: Any = error.instance
    found = shown(instance)
    described = _described(schema)
    if error.validator == "required":
        missing = next(name for name in wanted if f"'{name}'" in error.message)
        about = _described(schema.get("properties", {}).get(missing, {}))
        return f"`{missing}` is missing", f"add `{missing}`{': ' + about if about else ''}"
    if error.validator == "type":
        kinds = [wanted] if isinstance(wanted, str) else list(wanted)
        wish = " or ".join(_KINDS.get(kind, kind) for kind in kinds)
        return f"{found} is not {wish}", f"write {described or wish}"
    if error.validator in _BOUNDS:
        what = f"{found} is not {_BOUNDS[str(error.validator)]} {wanted}"
        return what, f"write {described or 'a number in range'}"
    if error.validator == "enum":
        names = [str(value) for value in wanted]
        fix = closest_hint(str(error.instance), names) or "write one of the listed values"
        return f"{found} is not one of {', '.join(names)}", fix
    if error.validator == "const":
        return f"{found} is not {shown(wanted)}", f"write {shown(wanted)}"
    if error.validator in ("minItems", "minLength", "minProperties"):
        parts = "characters" if error.validator == "minLength" else "entries"
        what = f"has fewer than {wanted} {parts}" if error.instance else "is empty"
        return what, f"write {described or 'at least one'}"
    if error.validator in ("maxItems", "maxLength"):
        parts = "characters" if error.validator == "maxLength" else "entries"
        return f"has {len(instance):,} {parts}; the limit is {wanted:,}", "write fewer"
    if error.validator == "pattern":
        form = "text" if wanted == r"\S" else f"text like {wanted}"
        return f"{found} does not have the required form", f"write {described or form}"
    return error.message, f"write {described or 'the form that the documentation describes'}"


def _described(schema: Any) -> str:
    text = schema.get("description", "") if isinstance(schema, Mapping) else ""
    return str(text[:1].lower() + text[1:].rstrip(".")) if text else ""


def shown(value: Any) -> str:
    """Return a value as a message shows it: as JSON, and shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
