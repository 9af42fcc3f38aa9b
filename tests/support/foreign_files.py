"""Small files of other tools, and what a change of them affects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import Affected, find_affected
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.prompts.render import render_messages
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.definition import Contract

EVERYTHING = Policy(contracts=("evals/**/*",), prompts=("evals/**/*",))

GITHUB = """\
name: City facts
description: Names capitals
model: openai/gpt-4o-mini
modelParameters:
  temperature: 0.2
  maxTokens: 40
messages:
  - role: system
    content: Answer with the name of a city.
  - role: user
    content: "What is the capital of {{input}}?"
testData:
  - input: France
    expected: Paris
  - input: Japan
    expected: Tokyo
evaluators:
  - name: right
    string: {contains: "{{expected}}"}
  - name: exact
    string: {equals: Paris}
"""


def triple(targets: int = 2) -> dict[str, str]:
    """Return the three files of a PCSL contract in `evals/mail/`."""
    models = [("ollama", "mistral"), ("openai", "gpt-4o-mini"), ("openai", "gpt-4o")]
    profile = {
        "pcsl": "0.1.0",
        "targets": [
            {"type": kind, "model": model, "params": {"temperature": 0}}
            for kind, model in models[:targets]
        ],
        "fixtures": [
            {"id": "spam", "input": "You won! {{ now }}"},
            {"id": "work", "input": "Meeting at nine"},
        ],
        "tolerances": {"pc.check.enum": {"max_fail_rate": 0.1}},
        "execution": {
            "mode": "assist",
            "max_retries": 1,
            "auto_repair": {"lowercase_fields": ["$.label"], "strip_markdown_fences": True},
        },
    }
    suite = {
        "pcsl": "0.1.0",
        "checks": [
            {"type": "pc.check.json_valid"},
            {"type": "pc.check.enum", "field": "$.label", "allowed": ["spam", "work"]},
            {"type": "pc.check.similarity", "reference": "spam", "threshold": 0.8},
            {"type": "pc.check.latency_budget", "p95_ms": 3000},
        ],
    }
    definition = {"pcsl": "0.1.0", "id": "mail.v1", "prompt": "Label the {mail}. Reply {label: …}."}
    named = {"pd": definition, "es": suite, "ep": profile}
    return {f"evals/mail/{k}.json": json.dumps(v, indent=2) for k, v in named.items()}


def revision(files: Mapping[str, str]) -> MemoryRevision:
    """Return the texts as a revision."""
    return MemoryRevision({path: text.encode() for path, text in files.items()})


def changed(
    base: Mapping[str, str],
    head: Mapping[str, str | None],
    renames: Mapping[str, str] | None = None,
) -> Affected:
    """Return what a pull request affects; None in `head` removes a file."""
    now = {path: text for path, text in {**base, **head}.items() if text is not None}
    change = Change(revision(base), revision(now), renames or {})
    return find_affected(change, EVERYTHING, SHAPES)


def loaded(files: Mapping[str, str], path: str) -> Contract:
    """Return a contract of the files."""
    return load_contract(revision(files), path, SHAPES)


def sent(contract: Contract, number: int = 0) -> list[tuple[str, str]]:
    """The messages of one fixture."""
    fixture = contract.fixtures[number]
    messages = render_messages(contract.target.prompt, fixture.vars)
    return [(message.role, message.content) for message in messages]


def checks(contract: Contract) -> list[tuple[str, Any]]:
    """The type of each check, and its main parameter."""
    main = ("value", "values", "pattern", "fields", "max", "schema", "criteria")
    return [
        (spec.type, next((spec.params[name] for name in main if name in spec.params), None))
        for spec in contract.checks
    ]


def skipped(contract: Contract) -> list[tuple[str, str, int | None]]:
    """What is not run: its kind, with path and line."""
    return [(part.kind, part.position.path, part.position.line) for part in contract.not_run]
