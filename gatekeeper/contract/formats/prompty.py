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

from gatekeeper.contract.formats.foreign_suite import (
    At,
    ForeignContract,
    name_of_contract,
)
from gatekeeper.contract.formats.prompty_pictures import (
    fixture_of,
    has_markdown,
    refusal,
    without_pictures,
)
from gatekeeper.contract.formats.reader import Keys, Node, SuiteFiles, keys, root_of
from gatekeeper.contract.formats.rows import contract_of
from gatekeeper.contract.prompts.kinds import without_template_suffix
from gatekeeper.contract.prompts.load import front_matter_document, parse_prompt
from gatekeeper.contract.syntax.yaml_positions import KeyPath, parse_once
from gatekeeper.contract.values.definition import NotRun, Position, Prompt

_FILE = re.compile(r"\$\{file:([^{}]+)\}")
_SAMPLES = ("sample", "example")
_FILE_KINDS = ("image", "audio", "file")
_OF_MODEL_2 = frozenset({"id", "provider", "apiType", "options", "connection"})
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
    return bool(data.get("sample")) or any(True for _ in _values_of_inputs(data.get("inputs")))


def read(files: SuiteFiles, root: Node) -> tuple[ForeignContract, ...]:
    """Translate the file to one contract. Raises ContractError."""
    root, prompt = _with_files(files, root)
    path = root.document.path
    prompt, pictures = _pictured(files, root, prompt)
    params = {**(prompt.params if prompt else {}), **_response_format(root)}
    at = root.child("outputs" if "outputs" in root.mapping else "model")
    tree = {
        "prompt": f"./{basename(path)}",
        "fixtures": _fixtures(files, root, pictures),
        "checks": [_check(root)],
        "params": at.at(params) if params else None,
        "model": root.child("model").at(prompt.model) if prompt and prompt.model else None,
        "description": root.copied_text("description"),
    }
    notes = _unknown(root)
    if root.get("tools"):
        why = "they are not sent; convert the file, and write them in `params` of the contract"
        notes.append(root.child("tools").not_run("tools", why))
    made = replace(prompt, model=None, params={}) if prompt else None
    name = name_of_contract(root.get("name"), path, "prompt")
    return (contract_of(root, name, tree, notes, made),)


def _with_files(files: SuiteFiles, root: Node) -> tuple[Node, Prompt | None]:
    """Return the front matter and the prompt with what each `${file:…}` holds, except in the
    sample; no prompt if the file is already both. Raises ContractError."""
    named = [
        (node, match[1])
        for name, part in root.items()
        for node in _texts(part)
        if name != "sample" and (match := _FILE.fullmatch(node.value.strip()))
    ]
    if not named:
        return root, None
    path, text = root.document.path, files.own_text(root.document)
    for node, reference in named:
        file, held = files.text(node, reference)
        is_data = file.lower().endswith((".json", ".yaml", ".yml"))
        value = json.dumps(parse_once(held, file).data if is_data else held)
        written = rf"(?P<mark>[\"']?){re.escape(f'${{file:{reference}}}')}(?P=mark)"
        text = value.join(re.split(written, text)[::2])  # without the marks between
    return root_of(front_matter_document(text, path)), parse_prompt(text, path)


def _pictured(
    files: SuiteFiles, root: Node, prompt: Prompt | None
) -> tuple[Prompt | None, tuple[str, ...]]:
    """Return the prompt without its pictures, and what holds each of these. Raises ContractError,
    and NothingToRunError for what gatekeeper cannot send as Prompty does."""
    text, inputs = files.own_text(root.document), root.child("inputs")
    kinds = _values_of_inputs(inputs.value, ("kind",))
    named = [(inputs.child(*at), name, kind) for at, name, kind in kinds if kind in _FILE_KINDS]
    if not named and (_version(root) == 2 or "![" not in text):
        return prompt, ()
    made = prompt or parse_prompt(text, root.document.path)
    lines = [message.line for message in made.messages if has_markdown(message.content)]
    if not named and not lines:
        return prompt, ()
    others = [one for one in named if one[2] != "image"]
    found = without_pictures(made, [name for _, name, _ in named] if named else None)
    if found and not others:
        return found
    for node, name, kind in (*others, *named):
        raise refusal(node.position, f"the input `{name[:100]}` is of the kind `{kind}`")
    raise refusal(Position(made.path, lines[0]), "this message has a Markdown image")


def _version(root: Node) -> int:
    """Return the version of Prompty that a file is for."""
    parts = (root.get("inputs"), root.get("outputs"))
    model = root.child("model")
    is_2 = isinstance(model.value, str) or bool(_OF_MODEL_2 & model.mapping.keys())
    return 2 if is_2 or any(map(_is_version_2, parts)) else 1


def _texts(node: Node) -> Iterator[Node]:
    """Yield every text in a value."""
    if isinstance(node.value, str):
        yield node
    for part in (*(part for _, part in node.items()), *node.each()):
        yield from _texts(part)


def _unknown(root: Node) -> list[NotRun]:
    """Return the unknown keys of the front matter. Raises ContractError for a misspelt one."""
    kinds = {"": "prompt", "inputs.*": "input", "outputs.*": "output"}
    for inside in ("items", "properties.*", "properties.*.properties.*", "items.properties.*"):
        kinds[f"outputs.*.{inside}"] = "output"
    for key in _FORMATS:
        named = ".".join(key)
        kinds |= {named: "format", f"{named}.json_schema": "JSON format"}
    found = root.unknown_in(KEYS, kinds)
    for key in _FORMATS:
        found += root.child(*key, "json_schema", "schema").unknown_keywords()
    return found


def _values_of_inputs(
    inputs: Any, keys: Sequence[str] = _SAMPLES
) -> Iterator[tuple[KeyPath, str, Any]]:
    """Yield the place, the name and the sample of each input of version 2 that has one; with other
    `keys`, the value of the first key that the input has."""
    by_name: Any = inputs.items() if isinstance(inputs, dict) else ()
    for place, item in enumerate(inputs) if isinstance(inputs, list) else by_name:
        found = next((key for key in keys if isinstance(item, dict) and key in item), None)
        name = item.get("name") if isinstance(inputs, list) and found else place
        if found and isinstance(name, str):
            yield (place, found), name, item[found]


def _fixtures(files: SuiteFiles, root: Node, pictures: Sequence[str]) -> list[At]:
    sample, inputs, version = root.child("sample"), root.child("inputs"), _version(root)
    if isinstance(sample.value, str):
        match = _FILE.fullmatch(sample.value.strip())
        sample = files.parsed(sample, match[1] if match else sample.value)
    if version == 1 and has_markdown([sample.value, inputs.value]):
        at = sample if sample.value else inputs
        raise refusal(at.position, "the sample has a Markdown image")
    defaults = {
        name: inputs.child(*place).copy()
        for place, name, value in _values_of_inputs(inputs.value, ("default",))
        if value is not None
    }
    if sample.value:
        # Each input that a sample leaves out has its default.
        made = [(row, {**defaults, **row.copy().value}) for row in _rows(sample)]
        return [fixture_of(row, values, pictures, version) for row, values in made]
    samples = _values_of_inputs(inputs.value)
    variables = {name: inputs.child(*place).copy() for place, name, _ in samples}
    return [fixture_of(inputs, {**defaults, **variables}, pictures, version)]


def _rows(sample: Node) -> list[Node]:
    """Return the variables of each row of a sample. Raises ContractError."""
    if isinstance(sample.value, dict):
        inputs = sample.child("inputs")
        return [inputs if inputs.mapping else sample]
    if isinstance(sample.value, list) and all(isinstance(item, dict) for item in sample.value):
        return [row for item in sample.each() for row in _rows(item)]
    raise sample.problem("the sample is not a mapping of variables", "write `name: value`")


def _check(root: Node) -> At:
    schema = _output_schema(root)
    if schema is not None:
        return root.child("outputs").at({"type": "json_schema", "schema": schema})
    for key in _FORMATS:
        node = root.child(*key)
        written = node.child("json_schema")
        if node.get("type") == "json_schema" and isinstance(written.value, dict):
            inner = written.child("schema") if "schema" in written.value else written
            return inner.at({"type": "json_schema", "schema": inner.copy()})
        if node.get("type") == "json_object":
            return node.at({"type": "json_valid"})
    return root.at({"type": "length", "min": 1})


def _output_schema(root: Node) -> dict[str, Any] | None:
    """Return the JSON Schema of `outputs`; None if they are not named with their types."""
    outputs = root.get("outputs")
    properties = _properties(outputs, _MOST_LEVELS)
    return _object_schema(properties, closed=_is_version_2(outputs)) if properties else None


def _is_version_2(outputs: Any) -> bool:
    """Return whether the outputs have a `kind`, which version 2 sends to the model as a schema."""
    items = outputs.values() if isinstance(outputs, dict) else outputs
    return isinstance(items, Iterable) and any("kind" in i for i in items if isinstance(i, dict))


def _response_format(root: Node) -> dict[str, Any]:
    """Return what Prompty 2 adds to a request for `outputs`, as parameters."""
    found = _output_schema(root)
    written = any(root.get(*key) is not None for key in _FORMATS)
    if found is None or written or not _is_version_2(root.get("outputs")):
        return {}
    schema = {"name": "structured_output", "strict": True, "schema": found}
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
