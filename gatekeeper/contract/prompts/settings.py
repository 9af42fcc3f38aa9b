"""Model and parameters as prompt files of different makers write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, parse_json
from gatekeeper.errors import ContractError

Settings = tuple[str | None, dict[str, Any]]

# An answer is always read whole, so streaming is left out.
_NOT_SENT = ("stream",)
_TEMPLATES = ("jinja2", "jinja", "prompty")


def from_front_matter(document: Document) -> Settings:
    """`model` and `params` of front matter: our own, GitHub's, and Prompty's. Everything else
    in it is metadata."""
    data = document.data
    _require_jinja(document)
    params: dict[str, Any] = {}
    model = data.get("model")
    name = model if isinstance(model, str) else None
    if isinstance(model, dict):
        name = _prompty_model(model)
        for key in ("parameters", "options"):
            params |= _params(document, ("model", key), model.get(key))
    for key in ("parameters", "modelParameters", "params"):
        params |= _params(document, (key,), data.get(key))
    return _usable(name), params


def from_github(document: Document) -> Settings:
    """`model`, `modelParameters` and `responseFormat` of a `.prompt.yml`."""
    data = document.data
    model = data.get("model")
    params = _params(document, ("modelParameters",), data.get("modelParameters"))
    params |= _params(document, ("params",), data.get("params"))
    params |= _response_format(document)
    return _usable(model if isinstance(model, str) else None), params


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
        what = "`responseFormat: json_schema` without a `jsonSchema`"
        raise ContractError([document.problem(("jsonSchema",), what, "add the schema as JSON")])
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _prompty_model(model: Mapping[str, Any]) -> str | None:
    """The name where one is given: `id`, `name`, or what the configuration calls it."""
    configuration = model.get("configuration")
    configuration = configuration if isinstance(configuration, dict) else {}
    deployment = configuration.get("azure_deployment")
    if isinstance(deployment, str) and "${" not in deployment:
        return f"azure/{deployment}"
    names = (
        model.get("id"),
        model.get("name"),
        configuration.get("model"),
        configuration.get("name"),
    )
    return next((name for name in names if isinstance(name, str)), None)


def _usable(name: str | None) -> str | None:
    """`${env:MODEL}` is filled in by other tools from an environment that the gate has not."""
    return name if name and "${" not in name else None


def _params(document: Document, key: KeyPath, written: Any) -> dict[str, Any]:
    if written is None:
        return {}
    if not isinstance(written, dict):
        what, fix = "the parameters are not a mapping", "write `{temperature: 0}`"
        raise ContractError([document.problem(key, what, fix)])
    named = {_snake_case(name): value for name, value in written.items()}
    return {name: value for name, value in named.items() if name not in _NOT_SENT}


def _snake_case(name: str) -> str:
    """`maxTokens` and `topP` as every provider's interface spells them."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def _require_jinja(document: Document) -> None:
    template = document.data.get("template")
    if isinstance(template, dict):
        template = template.get("format") or template.get("type")
    if isinstance(template, dict):
        template = template.get("kind")
    if not isinstance(template, str) or template.lower() in _TEMPLATES:
        return
    what = f"the template language `{template}` is not supported"
    raise ContractError([document.problem(("template",), what, "write the prompt in Jinja2")])
