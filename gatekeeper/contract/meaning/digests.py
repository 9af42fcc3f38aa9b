"""Digests of meaning, which stay the same if only names, comments or layout change."""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from gatekeeper.contract.meaning.repair_policy import repair_meaning
from gatekeeper.contract.meaning.schemas import named_categories
from gatekeeper.contract.syntax.yaml_positions import parse
from gatekeeper.contract.values.call import Call, Embedding, Single
from gatekeeper.contract.values.clusters import cluster_meaning
from gatekeeper.contract.values.definition import (
    CheckSpec,
    Contract,
    Fixture,
    GatePolicy,
    Message,
    Prompt,
    SamplingPolicy,
    Target,
)
from gatekeeper.contract.values.kept_results import kept_by_identity
from gatekeeper.contract.values.objectives import Objective
from gatekeeper.contract.values.tools import ToolRow, Tools
from gatekeeper.contract.values.trial import Request
from gatekeeper.errors import ContractError

# json.dumps makes an encoder at each call, which takes as long as encoding a short request.
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_SENDING_SCHEMAS = frozenset({"assist", "auto", "enforce"})
"""The modes in which the model sees the order of a schema's properties."""
_ORDERED_PARAMS = frozenset({"response_format", "tools"})
_NO_PARAMS: Mapping[str, Any] = {}


def canonical(value: Any) -> str:
    """Return JSON that is the same for equal data, whatever the order of its keys."""
    return _CANONICAL.encode(value)


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def short_digest(text: str) -> str:
    """Return a name for a text: 12 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def request_digest(request: Request) -> str:
    """Return the digest of a request, which is the same for equal messages and parameters of any
    model, and an equal call."""
    return _sent_digest(request.messages, request.call, request.params, request.tools)


def prompt_digest(request: Request) -> str:
    """Return the digest of a request without its parameters."""
    return _sent_digest(request.messages, request.call, _NO_PARAMS, request.tools)


@kept_by_identity
def _sent_digest(
    messages: Sequence[Message], call: Call, params: Mapping[str, Any], tools: Tools | None
) -> str:
    sent = [_message_meaning(message) for message in messages]
    alone = isinstance(call, Single | Embedding)  # the roles of an embedding's texts say so
    later = {} if alone else {"call": {type(call).__name__: asdict(call)}}
    loop = {"tools": tools_meaning(tools)} if tools else {}
    return digest({"messages": sent, "params": params_meaning(params), **later, **loop})


def tools_meaning(tools: Tools) -> Any:
    """Return what a tool loop does, without how its texts are laid out."""
    plain = asdict(replace(tools, rows=()))
    return plain | {"rows": rows_digest(tools.rows), "state": json.dumps(tools.state)}


@kept_by_identity
def rows_digest(rows: tuple[ToolRow, ...]) -> str:
    """Return the digest of what tools answer, which the model reads in the order of its keys.
    Fixtures share most of their rows."""
    return digest([[row.tool, row.when, json.dumps(asdict(row)["answers"])] for row in rows])


def _message_meaning(message: Message) -> dict[str, Any]:
    meaning: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        meaning["calls"] = [[call.name, call.arguments, call.id] for call in message.calls]
    if message.answers is not None:
        meaning["answers"] = message.answers
    if message.files:
        meaning["files"] = [[file.media_type, file.sha256] for file in message.files]
    return meaning


def params_meaning(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters for a digest. The order of a schema's properties counts: providers
    write an answer in that order, so an answer before its reasoning is another request."""
    return {
        name: json.dumps(value) if name in _ORDERED_PARAMS else value
        for name, value in params.items()
    }


def prompt_meaning(prompt: Prompt) -> Any:
    """Return the prompt's messages and includes.

    Includes are named relative to the prompt, so that moving both together changes nothing, while
    swapping two includes does.
    """
    folder = posixpath.dirname(prompt.path) or "."
    return {
        "messages": [[message.role, message.content] for message in prompt.messages],
        "includes": {
            posixpath.relpath(path, folder): text for path, text in prompt.includes.items()
        },
    }


def prompt_file_digests(prompts: Sequence[Prompt]) -> dict[str, str]:
    """Return the digest of each prompt file, of its messages and settings, and of each included
    file. Several prompts may be parts of one file."""
    found: dict[str, list[Any]] = {}
    for prompt in prompts:
        messages = [[message.role, message.content] for message in prompt.messages]
        meaning = {"messages": messages, "model": prompt.model, "params": dict(prompt.params)}
        found.setdefault(prompt.path, []).append(meaning)
    digests = {path: digest(each[0] if len(each) == 1 else each) for path, each in found.items()}
    for prompt in prompts:
        digests |= {path: digest(text) for path, text in prompt.includes.items()}
    return digests


def chain_meaning(target: Target) -> Any:
    """Return the prompt's meaning; of a target with steps those of all prompts."""
    last = prompt_meaning(target.prompt)
    if not target.steps:
        return last
    return {"steps": [[s.name, prompt_meaning(s.prompt)] for s in target.steps], "last": last}


def target_meaning(target: Target) -> Any:
    return {
        "prompt": chain_meaning(target),
        "model": target.model,
        "params": params_meaning(target.params),
        **({"appended": target.appended} if target.appended else {}),
        **({"task": target.task.content} if target.task else {}),
    }


def target_digest(target: Target) -> str:
    """Return a digest that is the same exactly if two targets would send the same requests for
    every fixture."""
    return digest(target_meaning(target))


def file_meaning(path: str, text: str) -> Any:
    """Return a file's data if it can be read as such, else its text."""
    if not path.lower().endswith((".json", ".yaml", ".yml")):
        return text
    try:
        return parse(text, path).data
    except ContractError:
        return text


def check_meaning(spec: CheckSpec) -> Any:
    """Return a check's type, severity and parameters; a file counts by its content and not by its
    path."""
    files = {path: digest(file_meaning(path, text)) for path, text in spec.files.items()}
    params = {
        key: files.get(value, value) if isinstance(value, str) else value
        for key, value in spec.params.items()
    }
    if spec.shape.code is not None:
        path, _, function = spec.params[spec.shape.code].rpartition(":")
        params |= {spec.shape.code: f"{files.get(path, path)}:{function}"}
        params |= {"modules": [files.get(path, path) for path in params.get("modules", ())]}
    meaning = {
        "type": spec.type,
        "severity": spec.severity,
        "params": params,
        "files": sorted(files.values()),
    }
    # Named only if it is set, so that the digests of earlier versions stay valid.
    optional = {
        "must_pass": spec.must_pass,
        "not": spec.negated,
        "turn": spec.turn,
        "step": spec.step,
        "when": spec.when,
        "weight": spec.weight if spec.weight != 1 else None,
        "parts": [check_meaning(part) for part in spec.parts],
    }
    return meaning | {key: value for key, value in optional.items() if value}


def fixture_meaning(fixture: Fixture) -> Any:
    """Return a fixture's input and what is expected.

    Category and metadata only label reports, and clusters depend on all fixtures.
    """
    meaning = {
        "id": fixture.id,
        "vars": dict(fixture.vars),
        "expected": fixture.expected,
        "checks": [check_meaning(spec) for spec in fixture.checks],
    }
    optional = {
        "must_pass": fixture.must_pass,
        "turns": list(fixture.turns),
        "user": asdict(fixture.user) if fixture.user else None,
        "tool_results": fixture.tool_results and rows_digest(fixture.tool_results),
        "state": None if fixture.state is None else json.dumps(fixture.state),
        "files": [list(content) for content in fixture.contents],
    }
    return meaning | {key: value for key, value in optional.items() if value}


def evaluation_meaning(contract: Contract) -> Any:
    """Return everything of a contract except its target and its fixtures.

    The members of a category that has an objective or checks of its own belong to it; any other
    category only labels reports.
    """
    categories = categories_with_meaning(contract)
    return {
        "checks": [check_meaning(spec) for spec in contract.checks],
        "mode": contract.mode,
        "repair": repair_meaning(contract.repair),
        "sampling": _settings(contract.sampling),
        "slo": [
            {"name": o.name, "target": o.target, "window": o.window}
            | _named_checks(contract, o)
            | ({"similar": asdict(o.similar)} if o.similar else {})
            for o in contract.slo
            if not o.default
        ],
        "categories": {f.id: f.category for f in contract.fixtures if f.category in categories},
        "gate": _gate_meaning(contract.gate),
        **({"sent": _schema_order(contract)} if contract.mode in _SENDING_SCHEMAS else {}),
        **({} if contract.pass_score is None else {"pass_score": contract.pass_score}),
        **({"tools": tools_meaning(contract.tools)} if contract.tools else {}),
    }


def fixture_evaluation_digest(contract: Contract, fixture: Fixture) -> str:
    """Return a digest that is the same if two contracts evaluate an answer to the fixture in the
    same way."""
    checks = [[spec.name, check_meaning(spec)] for spec in contract.checks_for(fixture)]
    own = {"repair": repair_meaning(contract.repair), "pass_score": contract.pass_score}
    return digest([fixture_meaning(fixture), checks, contract.mode, own])


def categories_with_meaning(contract: Contract) -> frozenset[str]:
    """Return the categories that have an objective, checks that apply only to them, or a comparison
    of their own."""
    if contract.gate.slices:
        return frozenset(f.category for f in contract.fixtures if f.category)
    named = frozenset(name for spec in contract.own_checks for name in named_categories(spec.when))
    return named | {o.category for o in contract.slo if o.category is not None}


def checks_named(contract: Contract, name: str) -> dict[str | None, CheckSpec]:
    """Return what a name refers to: the contract's check under None, those of fixtures under the
    fixture's id."""
    own = [(None, spec) for spec in contract.checks]
    theirs = [(fixture.id, spec) for fixture in contract.fixtures for spec in fixture.checks]
    return {place: spec for place, spec in (*own, *theirs) if spec.name == name}


def _named_checks(contract: Contract, objective: Objective) -> dict[str, Any]:
    """Return the checks that an objective refers to: the same name can come to mean another
    check."""
    if objective.check is None:
        return {}
    named = checks_named(contract, objective.check)
    return {"checks": [[place, check_meaning(spec)] for place, spec in named.items()]}


def _gate_meaning(gate: GatePolicy) -> Any:
    """Return the gate's settings, without those of later versions that are not set, so that digests
    stay the same as before."""
    meaning = _settings(gate)
    limits = meaning.pop("limits")
    later: dict[str, Any] = {"repairs": "warn", "claim": "both", "allow_broken": 0}
    later |= {"slices": None, "weights": (), "on": "pass"}
    unset = [name for name, default in later.items() if meaning[name] == default]
    for name in unset:
        del meaning[name]
    return meaning | ({"limits": list(map(asdict, limits))} if limits else {})


def _settings(record: SamplingPolicy | GatePolicy) -> dict[str, Any]:
    """Return the fields by name, as `asdict` does in five times as long."""
    return {name: getattr(record, name) for name in record.__slots__}


def is_schema_for_all(spec: CheckSpec) -> bool:
    """Return whether every output must conform to the check's JSON Schema, so that mode `enforce`
    may send it to the model."""
    plain = not (spec.negated or spec.when is not None or spec.turn or spec.step)
    return spec.type == "json_schema" and plain


def _schema_order(contract: Contract) -> list[str]:
    """Return the schemas that a mode may send to the model, with its properties in order."""
    schemas = [spec.params.get("schema") for spec in contract.checks if is_schema_for_all(spec)]
    files = {path: text for spec in contract.checks for path, text in spec.files.items()}
    return [
        json.dumps(file_meaning(schema, files[schema]) if isinstance(schema, str) else schema)
        for schema in schemas
        if not isinstance(schema, str) or schema in files
    ]


def contract_digest(contract: Contract) -> str:
    """Return a digest that is the same exactly if two contracts would run and evaluate in the same
    way."""
    fixtures = sorted(contract.fixtures, key=lambda fixture: fixture.id)
    clusters = cluster_meaning(fixtures)
    held = {fixture.id: fixture.quarantine.until for fixture in fixtures if fixture.quarantine}
    return digest(
        {
            "target": target_meaning(contract.target),
            "fixtures": [fixture_meaning(fixture) for fixture in fixtures],
            "evaluation": evaluation_meaning(contract),
        }
        | ({"clusters": clusters} if clusters else {})
        | ({"quarantine": held} if held else {})
        | ({"groups": groups_meaning(contract)} if contract.groups else {})
    )


def groups_meaning(contract: Contract) -> Any:
    """Return what each group of checks adds to its contract, by name."""
    return {
        group.name.removeprefix(f"{group.part_of}."): {
            "params": dict(group.own_params),
            "evaluation": evaluation_meaning(group),
        }
        for group in contract.groups
    }
