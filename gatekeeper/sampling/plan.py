"""Trials in the order in which they are to run.

Repetition is outermost, so that stopping early leaves every fixture with nearly the same
number of samples. Within a repetition the fixtures come in a random order that is drawn anew
for every pair of commits: a stop must not depend on how an author sorted the file, and nobody
may know beforehand which fixtures come late. The two
arms of a fixture are next to each other, so that a drift of the provider hits both alike
and a prompt prefix that both share stays in the provider's cache.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import yaml

from gatekeeper.contract.model import CheckSpec, Contract, Fixture, Message, Target
from gatekeeper.contract.render import render_messages
from gatekeeper.contract.trial import Arm, Request, Trial
from gatekeeper.errors import ContractError, Problem

Messages = Mapping[str, tuple[Message, ...]]


@dataclass(frozen=True, slots=True)
class Plan:
    """The trials, and the fixtures that an arm's prompt cannot take, whoever lends the variables.

    `unpaired` have no base trial; `unanswerable` no head trial.
    """

    trials: tuple[Trial, ...]
    unpaired: tuple[str, ...] = ()
    unanswerable: tuple[str, ...] = ()


def as_sent(contract: Contract) -> Target:
    """The contract's target as its requests go out: mode `enforce` adds the output's schema.

    Raises ContractError for a schema that cannot be sent.
    """
    target = contract.target
    schema = _response_format(contract) if contract.mode == "enforce" else None
    if schema is None or "response_format" in target.params:
        return target
    return replace(target, params={**target.params, "response_format": schema})


def plan_trials(
    contract: Contract,
    head: Target,
    base: Target | None,
    lent: Mapping[str, Fixture],
    judged_by: Arm = "head",
    order: str = "",
) -> Plan:
    """Every trial that a contract asks for. Without `base` the head arm runs alone.

    Both arms get the contract's fixtures. Where a prompt needs variables that a fixture does
    not have, the fixture of the same id in `lent`, of the other revision, lends its own.
    The fixtures' order is drawn from `order`, which names what is judged.
    For the head's contract its own prompt must take all its own fixtures: raises
    ContractError with every reason why it does not.
    """
    fixtures = list(contract.fixtures)
    seed = contract.sampling.seed
    random.Random(f"{order}|{contract.name}").shuffle(fixtures)  # noqa: S311

    strict = judged_by == "head"
    answers = _render_own(contract, head) if strict else _render(head, fixtures, lent)
    arms: list[tuple[Arm, Target, Messages]] = [("head", head, answers)]
    if base is not None:
        arms.insert(0, ("base", base, _render(base, fixtures, lent)))
    trials = tuple(
        Trial(
            contract=contract.name,
            fixture=fixture.id,
            arm=arm,
            repetition=repetition,
            request=Request(
                model=target.model,
                messages=messages[fixture.id],
                params=dict(target.params),
                seed=None if seed is None else seed + repetition,
                repetition=repetition,
            ),
            judged_by=judged_by,
        )
        for repetition in range(contract.sampling.samples)
        for fixture in fixtures
        for arm, target, messages in arms
        if fixture.id in messages
    )
    return Plan(
        trials,
        unpaired=_missing(contract, arms[0][2]) if base is not None else (),
        unanswerable=_missing(contract, answers),
    )


def _missing(contract: Contract, messages: Messages) -> tuple[str, ...]:
    return tuple(fixture.id for fixture in contract.fixtures if fixture.id not in messages)


def _render_own(contract: Contract, target: Target) -> Messages:
    rendered: dict[str, tuple[Message, ...]] = {}
    failing: dict[Problem, list[str]] = {}
    for fixture in contract.fixtures:
        try:
            rendered[fixture.id] = render_messages(target.prompt, fixture.vars)
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


def _render(target: Target, fixtures: list[Fixture], lent: Mapping[str, Fixture]) -> Messages:
    rendered: dict[str, tuple[Message, ...]] = {}
    for fixture in fixtures:
        for candidate in (fixture, lent.get(fixture.id)):
            if candidate is None:
                continue
            try:
                rendered[fixture.id] = render_messages(target.prompt, candidate.vars)
            except ContractError:
                continue
            break
    return rendered


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
