"""Model and parameters as prompt files of different makers write them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, field_name, parse_json
from gatekeeper.contract.values.definition import TemplateStyle
from gatekeeper.errors import ContractError, Problem

Settings = tuple[str | None, dict[str, Any]]

# An answer is always read whole, so streaming is left out. The other one is for the `tools` of a
# Prompty file, which are not sent.
_NOT_SENT = ("stream", "allow_multiple_tool_calls")
_OF_PROMPTY = {"max_output_tokens": "max_completion_tokens", "stop_sequences": "stop"}
"""The options of Prompty 2 that a request to OpenAI names otherwise."""
_AZURE = ("azure", "foundry")
_JINJA = ("jinja2", "jinja", "prompty")


def from_front_matter(document: Document) -> Settings:
    """Read `model` and `params` of front matter: gatekeeper's own form, GitHub's, and Prompty's.

    Everything else in it is metadata.
    """
    data = document.data
    params = _Params(document)
    model = data.get("model")
    name = model if isinstance(model, str) else None
    if isinstance(model, dict):
        name = _prompty_model(document, model)
        params.read(("model", "parameters"), model.get("parameters"))
        _read_options(params, model.get("options"))
    for key in ("parameters", "modelParameters", "params"):
        params.read((key,), data.get(key))
    return _usable(name), params.found


def _read_options(params: _Params, options: Any) -> None:
    """Read the options of Prompty 2. Its `additionalProperties` are sent as they are."""
    key: KeyPath = ("model", "options")
    more = options.get("additionalProperties") if isinstance(options, dict) else None
    if isinstance(options, dict):
        options = {name: v for name, v in options.items() if name != "additionalProperties"}
    params.read(key, options, _OF_PROMPTY)
    params.read((*key, "additionalProperties"), more)


def from_github(document: Document) -> Settings:
    """Read `model`, `modelParameters` and `responseFormat` of a `.prompt.yml`."""
    data = document.data
    model = data.get("model")
    params = _Params(document)
    for key in ("modelParameters", "params"):
        params.read((key,), data.get(key))
    for name, value in _response_format(document).items():
        params.add(name, value, ("responseFormat",))
    return _usable(model if isinstance(model, str) else None), params.found


class _Params:
    """The parameters of a prompt file. Programs disagree on which of two places counts, so a
    parameter with two values is refused: the gate could measure another one than the program."""

    def __init__(self, document: Document) -> None:
        self.found: dict[str, Any] = {}
        self._document = document
        self._at: dict[str, KeyPath] = {}

    def read(
        self, key: KeyPath, written: Any, names: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Add the mapping at the key; `names` are those that are sent under another name. Raises
        ContractError."""
        if written is None:
            return
        if not isinstance(written, dict):
            what, fix = "the parameters are not a mapping", "write `{temperature: 0}`"
            raise ContractError([self._document.problem(key, what, fix)])
        for spelled, value in written.items():
            name = _snake_case(spelled)
            self.add(names.get(name, name), value, (*key, spelled))

    def add(self, name: str, value: Any, key: KeyPath) -> None:
        """Add one parameter. Raises ContractError if it has another value elsewhere in the file."""
        if name in _NOT_SENT:
            return
        if name in self.found and not _same(self.found[name], value):
            first = self._at[name]
            raise ContractError([_contradiction(self._document, f"`{name}`", first, key)])
        self.found.setdefault(name, value)
        self._at.setdefault(name, key)


def _same(value: Any, other: Any) -> bool:
    """Return whether both are sent alike. The order of a schema's properties counts."""
    if isinstance(value, bool | str) or isinstance(other, bool | str):
        return type(value) is type(other) and bool(value == other)
    return bool(value == other) and (
        not isinstance(value, dict | list) or json.dumps(value) == json.dumps(other)
    )


def _contradiction(document: Document, named: str, first: KeyPath, second: KeyPath) -> Problem:
    at, line = field_name(first), document.position(first).line
    what = f"the file sets {named} twice: this value differs from the value of `{at}` (line {line})"
    return document.problem(second, what, "remove one of them")


def _response_format(document: Document) -> dict[str, Any]:
    kind = document.data.get("responseFormat")
    if kind == "json_object":
        return {"response_format": {"type": "json_object"}}
    if kind != "json_schema":
        return {}
    schema = document.data.get("jsonSchema")
    if isinstance(schema, str):
        line = document.text_lines.get(("jsonSchema",), document.position(("jsonSchema",)).line)
        schema = parse_json(schema, document.path, line or 1).data
    if not isinstance(schema, dict):
        what = "`responseFormat: json_schema` needs a `jsonSchema`"
        raise ContractError([document.problem(("jsonSchema",), what, "add the schema as JSON")])
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _prompty_model(document: Document, model: Mapping[str, Any]) -> str | None:
    """Return the name if there is one:

    `id`, `name`, or the configuration's. Raises ContractError if two of them differ.
    """
    configuration = model.get("configuration")
    configuration = configuration if isinstance(configuration, dict) else {}
    inside: KeyPath = ("model", "configuration")
    deployment = configuration.get("azure_deployment")
    filled = isinstance(deployment, str) and "${" not in deployment
    places: list[tuple[KeyPath, Any]] = [
        ((*inside, "azure_deployment"), f"azure/{deployment}" if filled else None),
        (("model", "id"), model.get("id")),
        (("model", "name"), model.get("name")),
        ((*inside, "model"), configuration.get("model")),
        ((*inside, "name"), configuration.get("name")),
    ]
    named = [(key, name) for key, name in places if isinstance(name, str)]
    for key, name in named[1:]:
        if name.removeprefix("azure/") != named[0][1].removeprefix("azure/"):
            raise ContractError([_contradiction(document, "the model", named[0][0], key)])
    found = named[0][1] if named else None
    is_azure = model.get("provider") in _AZURE and found and "/" not in found
    return f"azure/{found}" if is_azure else found


def _usable(name: str | None) -> str | None:
    """Return the name, or None for one like `${env:MODEL}`, which other tools fill in from their
    environment."""
    return name if name and "${" not in name else None


def _snake_case(name: str) -> str:
    """Return the name in snake case: providers' interfaces spell `maxTokens` and `topP` in this
    way."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def declared_template(document: Document) -> TemplateStyle | None:
    """Return the template language that front matter names, as Prompty does; None if it names none.

    Raises ContractError if it is another language.
    """
    template = document.data.get("template")
    if isinstance(template, dict):
        template = template.get("format") or template.get("type")
    if isinstance(template, dict):
        template = template.get("kind")
    if not isinstance(template, str):
        return None
    if template.lower() in _JINJA:
        return "jinja"
    language = template.lower()
    if language in ("mustache", "nunjucks"):
        return "mustache" if language == "mustache" else "nunjucks"
    what = f"gatekeeper does not support the template language `{template}`"
    fix = "write the prompt in Jinja2, Nunjucks or Mustache"
    raise ContractError([document.problem(("template",), what, fix)])
