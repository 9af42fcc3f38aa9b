"""Reads groups of checks that are sampled in another way than the rest of their contract.

    checks: [{type: json_schema, schema: order.json}]
    groups:
      tone: {checks: [{judge: tone}], sampling: {samples: 10}, params: {temperature: 0.7}}

Each group becomes a contract of its own, `orders.tone`, with the prompt and the fixtures of the
whole. So it has its own samples, comparison and verdict, and shares the level with the others.
Requests that a group and its contract both need are sent once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gatekeeper.contract.checks.check_specs import CheckReader
from gatekeeper.contract.checks.conditions import apply_conditions
from gatekeeper.contract.checks.gate_problems import ungated_fixtures
from gatekeeper.contract.models.params import param_problems
from gatekeeper.contract.syntax.schema import whole
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.objectives import read_objectives
from gatekeeper.errors import Problem

Written = Mapping[str, Any]


def read_groups(
    contract: Contract,
    data: Written,
    document: Document,
    reader: CheckReader,
    problems: list[Problem],
) -> list[tuple[Contract, Written]]:
    """Return each group as a contract, with what the file writes of it. Every mistake in its checks
    and parameters is added to `problems`."""
    found = []
    for name, written in (data.get("groups") or {}).items():
        key = ("groups", str(name))
        checks = reader.read(document, (*key, "checks"), written["checks"], problems)
        # The fixtures' own checks are evaluated with the contract's.
        bare = tuple(replace(f, checks=(), left_out=frozenset()) for f in contract.fixtures)
        fixtures = apply_conditions(checks, bare, document.path, problems)
        problems += ungated_fixtures(document, (*key, "checks"), checks, fixtures)
        params = written.get("params", {})
        target = contract.target
        found_in = param_problems(target.model, document, params, target.prompt, target.params)
        for problem in found_in:
            problems.append(replace(problem, field=f"groups.{name}.params"))
        group = replace(
            contract,
            name=f"{contract.name}.{name}",
            checks=checks,
            fixtures=fixtures,
            sampling=replace(
                contract.sampling, **whole(written.get("sampling", {}), "samples", "seed")
            ),
            slo=read_objectives(written.get("slo", {})),
            own_params={**contract.own_params, **params},
            target=replace(target, params={**target.params, **params}),
            pass_score=written.get("pass_score"),
            part_of=contract.name,
            # The application sends one request, whatever is checked in the answer.
            checks_of_mode=contract.checks,
        )
        found.append((group, written))
    return found


def part_named(contract: Contract, name: str) -> Contract:
    """Return the group of that name, or the contract itself."""
    return next((group for group in contract.groups if group.name == name), contract)
