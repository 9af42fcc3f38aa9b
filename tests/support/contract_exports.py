"""Exports a small contract, and reads in the exported files what they hold."""

from __future__ import annotations

import json
from typing import Any

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.export.convert import Converted, ExportFormat, convert
from gatekeeper.contract.files.contract_document import read_contract_documents
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.prompts.render import render_messages, render_value
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import Contract

FIXTURES = [
    {"id": "a", "vars": {"city": "Paris", "tone": "short"}, "expected": "France"},
    {"id": "b", "vars": {"city": "{{ city }}", "tone": "short"}, "expected": "x {{ y }} {%"},
]
CHECKS: list[dict[str, Any]] = [{"type": "contains", "value": "{{ expected }}"}]


def exported(
    to: ExportFormat,
    *,
    prompt: str = "Where is {{ city }}? Be {{tone}}.",
    fixtures: list[dict[str, Any]] = FIXTURES,
    checks: list[dict[str, Any]] = CHECKS,
    **more: Any,
) -> tuple[Converted, Contract, list[Contract]]:
    """Return the export, the contract, and what is read in the exported files."""
    data = {
        "contract": 1,
        "name": "places",
        "prompt": "p.txt",
        "model": "openai/gpt-4o-mini",
        "fixtures": fixtures,
        "checks": checks,
        **more,
    }
    files = {"c.json": json.dumps(data).encode(), "p.txt": prompt.encode()}
    revision = MemoryRevision(files)
    [found] = convert(revision, "c.json", "out", SHAPES, to)
    made = MemoryRevision({file.path: file.text.encode() for file in found.files})
    documents = read_contract_documents(made, found.files[0].path)
    read = [load_contract(made, one.document.path, SHAPES) for one in documents]
    return found, load_contract(revision, "c.json", SHAPES), read


def sent(contract: Contract) -> list[Any]:
    target = contract.target
    return [
        (target.model, target.params, render_messages(target.prompt, fixture.vars))
        for fixture in contract.fixtures
    ]


def wanted(contract: Contract, name: str) -> list[Any]:
    """The value that the check of this name compares each output with."""
    [check] = [one for one in contract.checks if one.name == name]
    value = check.params.get("value", check.params.get("values"))
    return [render_value(value, fixture) for fixture in contract.fixtures]


def kinds(parts: tuple[Any, ...]) -> list[str]:
    return [part.kind for part in parts]


def a_judge(**more: Any) -> dict[str, Any]:
    """A check of the kind that a model grades."""
    return {"judge": "rubric", "criteria": "Good.", "model": "openai/gpt-4o", **more}
