"""Reads Prompty files, version 1 and 2, whose front matter has samples of the inputs.

The file is its own prompt. A Prompty file has no assertions, so what the front matter says of the
answer is checked: its `outputs`, a JSON `response_format`, and else that there is an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from posixpath import basename
from typing import Any

from gatekeeper.contract.formats.fields import value_at
from gatekeeper.contract.formats.foreign_suite import (
    At,
    ForeignContract,
    ForeignSuite,
    SuiteFiles,
    build_document,
    contract_name,
    copy_value,
)
from gatekeeper.contract.formats.known_keys import Keys, keys, unknown_in, unknown_keywords
from gatekeeper.contract.prompts.kinds import without_template_suffix
from gatekeeper.contract.prompts.load import front_matter_document, parse_prompt
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, parse_once
from gatekeeper.contract.values.definition import NotRun, Position, Prompt
from gatekeeper.errors import ContractError

_FILE = re.compile(r"\$\{file:([^{}]+)\}")
_SAMPLES = ("sample", "example")
_MOST_LEVELS = 10
_TYPES = ("string", "number", "integer", "boolean", "object", "array")
_OF_PROPERTY = "name kind type items properties enumValues"
_UNREAD = "required strict allowAnyOf allowedValues is_multimodal"
KEYS: Mapping[str, Keys] = {
    "prompt": keys(
        "name sample inputs outputs tools model modelParameters template",
        "$schema additionalInstructions authors base displayName file id instructions kind "
        "metadata parameters tags version",
    ),
    "input": keys(f"{_OF_PROPERTY} sample example default", _UNREAD),
    "output": keys(_OF_PROPERTY, _UNREAD),
    "format": keys("type json_schema"),
    "JSON format": keys("schema", "name strict"),
}
_FORMATS = (
    ("model", "parameters", "response_format"),
    ("model", "options", "response_format"),
    ("model", "options", "additionalProperties", "response_format"),
    ("modelParameters", "response_format"),
)


def recognises(path: str, data: object) -> bool:
    """Return whether the front matter of a Prompty file has a sample."""
    if not isinstance(data, dict) or not without_template_suffix(path).endswith(".prompty"):
        return False
    return bool(data.get("sample")) or any(True for _ in _input_samples(data))


def read(files: SuiteFiles, document: Document) -> ForeignSuite:
    """Translate the file to one contract. Raises ContractError."""
    document, prompt = _with_files(files, document)
    file = basename(document.path)
    name = document.data.get("name")
    tree: dict[str, Any] = {
        "contract": 1,
        "name": At(
            contract_name(
                name if isinstance(name, str) else "", contract_name(file.split(".")[0], "prompt")
            ),
            document.position(("name",)),
        ),
        "prompt": f"./{file}",
        "fixtures": _fixtures(files, document),
        "checks": _checks(document),
    }
    params = {**(prompt.params if prompt else {}), **_response_format(document)}
    if params:
        place: KeyPath = ("outputs",) if "outputs" in document.data else ("model",)
        tree["params"] = At(params, document.position(place))
    if prompt and prompt.model:
        tree["model"] = At(prompt.model, document.position(("model",)))
    if isinstance(document.data.get("description"), str):
        tree["description"] = copy_value(document, ("description",))
    written = build_document(document.path, tree, document.position())
    notes = (*_unknown(document), *_not_run(document))
    made = replace(prompt, model=None, params={}) if prompt else None
    return ForeignSuite((ForeignContract(written, notes, made),))


def _with_files(files: SuiteFiles, document: Document) -> tuple[Document, Prompt | None]:
    """Return the front matter and the prompt with what each `${file:…}` holds, except in the
    sample; no prompt if the file is already both. Raises ContractError."""
    apart = {name: value for name, value in document.data.items() if name != "sample"}
    named = [(key, match[1]) for key, text in _texts(apart) if (match := _FILE.fullmatch(text))]
    if not named:
        return document, None
    text = files.text(document, (), f"/{document.path}")[1]
    for key, reference in named:
        path, held = files.text(document, key, reference)
        is_data = path.lower().endswith((".json", ".yaml", ".yml"))
        value = json.dumps(parse_once(held, path).data if is_data else held)
        written = rf"(?P<mark>[\"']?){re.escape(f'${{file:{reference}}}')}(?P=mark)"
        text = value.join(re.split(written, text)[::2])  # without the marks between
    return front_matter_document(text, document.path), parse_prompt(text, document.path)


def _texts(value: Any, key: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Yield every text in a value, with its place."""
    if isinstance(value, str):
        yield key, value.strip()
    parts = value.items() if isinstance(value, dict) else ()
    for name, part in enumerate(value) if isinstance(value, list) else parts:
        yield from _texts(part, (*key, name))


def _unknown(document: Document) -> list[NotRun]:
    """Return the unknown keys of the front matter. Raises ContractError for a misspelt one."""
    kinds = {"": "prompt", "inputs.*": "input", "outputs.*": "output"}
    for inside in ("items", "properties.*", "properties.*.properties.*", "items.properties.*"):
        kinds[f"outputs.*.{inside}"] = "output"
    for key in _FORMATS:
        named = ".".join(key)
        kinds |= {named: "format", f"{named}.json_schema": "JSON format"}
    found = unknown_in(document, (), KEYS, kinds)
    for key in _FORMATS:
        place: KeyPath = (*key, "json_schema", "schema")
        found += unknown_keywords(document, place, value_at(document, place))
    return found


def _not_run(document: Document) -> tuple[NotRun, ...]:
    """Return a note on the tools, which Prompty sends to the model."""
    if not document.data.get("tools"):
        return ()
    why = (
        "gatekeeper does not send the tools of a Prompty file to the model; convert the file, and "
        "write the tools in `params` of the contract"
    )
    return (NotRun("tools", document.position(("tools",)), why),)


def _input_samples(data: Mapping[str, Any], keys: Sequence[str] = _SAMPLES) -> Any:
    """Yield the place, the name and the sample of each input of version 2 that has one; with other
    `keys`, the value of the first key that the input has."""
    inputs = data.get("inputs")
    items: list[tuple[KeyPath, Any, Any]] = []
    if isinstance(inputs, dict):
        items = [(("inputs", name), name, item) for name, item in inputs.items()]
    elif isinstance(inputs, list):
        items = [
            (("inputs", number), item.get("name"), item)
            for number, item in enumerate(inputs)
            if isinstance(item, dict)
        ]
    for key, name, item in items:
        found = next((k for k in keys if isinstance(item, dict) and k in item), None)
        if found and isinstance(name, str):
            yield (*key, found), name, item[found]


def _fixtures(files: SuiteFiles, document: Document) -> list[At]:
    sample = document.data.get("sample")
    source = document
    key: KeyPath = ("sample",)
    if isinstance(sample, str):
        match = _FILE.fullmatch(sample.strip())
        path, text = files.text(document, ("sample",), match[1] if match else sample)
        source, key, sample = parse_once(text, path), (), parse_once(text, path).data
    defaults = {
        name: copy_value(document, key)
        for key, name, value in _input_samples(document.data, ("default",))
        if value is not None
    }
    if sample:
        rows = _rows(source, key, sample)
        return [_with_defaults(row, defaults) for row in rows]
    variables = {name: copy_value(document, key) for key, name, _ in _input_samples(document.data)}
    return [At({"vars": {**defaults, **variables}}, document.position(("inputs",)))]


def _with_defaults(row: At, defaults: Mapping[str, At]) -> At:
    """Return the fixture with the default of each input that its sample leaves out."""
    given = row.value["vars"]
    return At({"vars": At({**defaults, **given.value}, given.position)}, row.position)


def _rows(source: Document, key: KeyPath, sample: Any) -> list[At]:
    if isinstance(sample, dict):
        inputs = sample.get("inputs") if isinstance(sample.get("inputs"), dict) else None
        at = (*key, "inputs") if inputs else key
        return [At({"vars": copy_value(source, at)}, source.position(at))]
    if isinstance(sample, list) and all(isinstance(item, dict) for item in sample):
        return [row for n, item in enumerate(sample) for row in _rows(source, (*key, n), item)]
    what, fix = "the sample is not a mapping of variables", "write `name: value`"
    raise ContractError([source.problem(key, what, fix)])


def _checks(document: Document) -> list[At]:
    schema = _output_schema(document)
    if schema is not None:
        value, at = schema
        return [At({"type": "json_schema", "schema": value}, at)]
    for key in _FORMATS:
        written = value_at(document, key)
        kind = written.get("type") if isinstance(written, dict) else None
        if kind == "json_schema" and isinstance(written.get("json_schema"), dict):
            inner: KeyPath = (*key, "json_schema")
            inner = (*inner, "schema") if "schema" in written["json_schema"] else inner
            check = {"type": "json_schema", "schema": copy_value(document, inner)}
            return [At(check, document.position(inner))]
        if kind == "json_object":
            return [At({"type": "json_valid"}, document.position(key))]
    return [At({"type": "length", "min": 1}, document.position())]


def _output_schema(document: Document) -> tuple[dict[str, Any], Position] | None:
    """Return the JSON Schema of `outputs`; None if they are not named with their types."""
    properties = _properties(document.data.get("outputs"), _MOST_LEVELS)
    if not properties:
        return None
    return _object_schema(properties, closed=_is_version_2(document)), document.position(
        ("outputs",)
    )


def _is_version_2(document: Document) -> bool:
    """Return whether the outputs have a `kind`, which version 2 sends to the model as a schema."""
    outputs = document.data.get("outputs")
    items = outputs.values() if isinstance(outputs, dict) else outputs
    return isinstance(items, Iterable) and any("kind" in i for i in items if isinstance(i, dict))


def _response_format(document: Document) -> dict[str, Any]:
    """Return what Prompty 2 adds to a request for `outputs`, as parameters."""
    found = _output_schema(document)
    written = any(value_at(document, key) is not None for key in _FORMATS)
    if found is None or written or not _is_version_2(document):
        return {}
    schema = {"name": "structured_output", "strict": True, "schema": found[0]}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _properties(written: Any, levels: int) -> dict[str, Any]:
    """Return the schema of each named part of the outputs, or of an object among them."""
    if isinstance(written, list):
        written = {
            item["name"]: item
            for item in written
            if isinstance(item, dict) and isinstance(item.get("name"), str)
        }
    if not isinstance(written, dict):
        return {}
    return {str(name): _property_schema(item, levels) for name, item in written.items()}


def _property_schema(item: Any, levels: int) -> dict[str, Any]:
    if not isinstance(item, dict) or not levels:
        return {}
    kind = item.get("kind") or item.get("type")
    kind = "number" if kind == "float" else kind
    schema: dict[str, Any] = {"type": kind} if kind in _TYPES else {}
    choices = item.get("enumValues")
    if isinstance(choices, list) and choices:
        schema["enum"] = choices
    is_version_2 = "kind" in item
    if kind == "array" and ("items" in item or is_version_2):
        schema["items"] = _property_schema(item.get("items", {"kind": "string"}), levels - 1)
    if kind == "object":
        inner = _properties(item.get("properties"), levels - 1)
        if inner or is_version_2:
            schema |= _object_schema(inner, closed=is_version_2)
    return schema


def _object_schema(properties: dict[str, Any], *, closed: bool) -> dict[str, Any]:
    schema = {"type": "object", "required": [*properties], "properties": properties}
    return schema | ({"additionalProperties": False} if closed else {})
