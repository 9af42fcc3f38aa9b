"""Trials in the order in which they are to run.

Repetition is outermost, so that stopping early leaves every fixture with nearly the same
number of samples. Within a repetition the fixtures come in a random order drawn from the
contract's seed, so that a stop does not depend on how an author sorted the file. The two
arms of a fixture are next to each other, so that a drift of the provider hits both alike
and a prompt prefix that both share stays in the provider's cache.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from gatekeeper.contract.model import CheckSpec, Contract, Fixture, Message, Target
from gatekeeper.contract.render import render_messages
from gatekeeper.contract.trial import Arm, Request, Trial
from gatekeeper.errors import ContractError, Problem

_ORDER_SEED = 0  # the order is always reproducible, also where no seed is sent to the model


@dataclass(frozen=True, slots=True)
class Plan:
    """`unpaired` names the fixtures that the base prompt cannot render: they have no base trial."""

    trials: tuple[Trial, ...]
    unpaired: tuple[str, ...] = ()


def plan_trials(
    contract: Contract, base: Target | None, base_fixtures: Mapping[str, Fixture]
) -> Plan:
    """Every trial of a contract. `contract` is the head's; without `base` the head runs alone.

    Both arms get the head's fixtures. Where the base prompt needs variables that a head
    fixture no longer has, the base fixture of the same id lends its own.
    Raises ContractError with every reason why the head prompt cannot be rendered.
    """
    fixtures = list(contract.fixtures)
    seed = contract.sampling.seed
    random.Random(_ORDER_SEED if seed is None else seed).shuffle(fixtures)  # noqa: S311

    head_messages = _render_head(contract)
    base_messages = {} if base is None else _render_base(base, fixtures, base_fixtures)
    enforced = _response_format(contract) if contract.mode == "enforce" else None

    arms: list[tuple[Arm, Target, Mapping[str, tuple[Message, ...]]]] = [
        ("head", contract.target, head_messages)
    ]
    if base is not None:
        arms.insert(0, ("base", base, base_messages))
    trials = tuple(
        Trial(
            contract=contract.name,
            fixture=fixture.id,
            arm=arm,
            repetition=repetition,
            request=Request(
                model=target.model,
                messages=messages[fixture.id],
                params=_params(target, enforced),
                seed=None if seed is None else seed + repetition,
                repetition=repetition,
            ),
        )
        for repetition in range(contract.sampling.samples)
        for fixture in fixtures
        for arm, target, messages in arms
        if fixture.id in messages
    )
    unpaired = tuple(
        fixture.id
        for fixture in contract.fixtures
        if base is not None and fixture.id not in base_messages
    )
    return Plan(trials, unpaired)


def _render_head(contract: Contract) -> Mapping[str, tuple[Message, ...]]:
    rendered: dict[str, tuple[Message, ...]] = {}
    failing: dict[Problem, list[str]] = {}
    for fixture in contract.fixtures:
        try:
            rendered[fixture.id] = render_messages(contract.target.prompt, fixture.vars)
        except ContractError as error:
            for problem in error.problems:
                failing.setdefault(problem, []).append(fixture.id)
    if failing:
        total = len(contract.fixtures)
        raise ContractError([_for_fixtures(p, ids, total) for p, ids in failing.items()])
    return rendered


def _for_fixtures(problem: Problem, ids: list[str], total: int) -> Problem:
    where = f"fixture {ids[0]!r}"
    if len(ids) > 1:
        where = f"{len(ids)} of {total} fixtures, the first is {ids[0]!r}"
    return Problem(
        path=problem.path,
        what=f"{problem.what} (with {where})",
        fix=problem.fix,
        line=problem.line,
        column=problem.column,
        field=problem.field,
    )


def _render_base(
    base: Target, fixtures: list[Fixture], base_fixtures: Mapping[str, Fixture]
) -> Mapping[str, tuple[Message, ...]]:
    rendered: dict[str, tuple[Message, ...]] = {}
    for fixture in fixtures:
        older = base_fixtures.get(fixture.id)
        for candidate in (fixture, older):
            if candidate is None:
                continue
            try:
                rendered[fixture.id] = render_messages(base.prompt, candidate.vars)
            except ContractError:
                continue
            break
    return rendered


def _params(target: Target, enforced: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if enforced is None or "response_format" in target.params:
        return dict(target.params)
    return {**target.params, "response_format": enforced}


def _response_format(contract: Contract) -> Mapping[str, Any] | None:
    """What makes a provider answer by the contract's first JSON Schema; None without one."""
    check = next((check for check in contract.checks if check.type == "json_schema"), None)
    if check is None:
        return None
    schema = _schema_of(check)
    foreign = sorted({ref for ref in _references(schema) if not ref.startswith("#")})
    if foreign:
        raise ContractError(
            [
                Problem(
                    path=check.position.path if check.position else contract.path,
                    line=check.position.line if check.position else None,
                    column=check.position.column if check.position else None,
                    field="schema",
                    what=f"mode enforce cannot send a schema that refers to {foreign[0]!r}",
                    fix="move what it refers to under $defs of the same schema, or use mode assist",
                )
            ]
        )
    return {"type": "json_schema", "json_schema": {"name": "output", "schema": schema}}


def _schema_of(check: CheckSpec) -> Any:
    schema = check.params["schema"]
    # The loader has read a schema file along with the contract. JSON is YAML too.
    return yaml.safe_load(check.files[schema]) if isinstance(schema, str) else schema


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
