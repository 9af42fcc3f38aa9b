"""The requests of one contract to the models: its trials, in the order of
sampling/trial_order.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gatekeeper.contract.calls.chain import first_step, join_steps, markers, with_places
from gatekeeper.contract.calls.conversation import with_turns
from gatekeeper.contract.calls.prompt_steps import refused_turns
from gatekeeper.contract.changes.renaming import find_renaming, lent_values
from gatekeeper.contract.meaning.modes import with_requirements
from gatekeeper.contract.prompts.render import render_all, render_value
from gatekeeper.contract.prompts.rendered_roles import rendered_role_problems
from gatekeeper.contract.simulated_user.messages import user_message
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.values.definition import Contract, Fixture, Message, SimulatedUser, Target
from gatekeeper.contract.values.kept_results import kept_by_identity
from gatekeeper.contract.values.trial import Arm, ContractFrom, Request, Trial
from gatekeeper.errors import ContractError, Problem
from gatekeeper.sampling.shared_prefix import shared_prefixes
from gatekeeper.sampling.trial_order import in_order

Messages = Mapping[str, tuple[Message, ...]]
_Rendered = tuple[Fixture, tuple[Message, ...] | ContractError]


@dataclass(frozen=True, slots=True)
class Plan:
    """The trials, and the fixtures that an arm's prompt cannot take, under any variable names.

    `unpaired` have no base trial; `unanswerable` no head trial.
    """

    trials: tuple[Trial, ...]
    unpaired: tuple[str, ...] = ()
    unanswerable: tuple[str, ...] = ()


def plan_trials(
    contract: Contract,
    head: Target,
    base: Target | None,
    lent: Mapping[str, Fixture],
    contract_from: ContractFrom = "head",
    order_seed: str = "",
) -> Plan:
    """Return every trial that a contract needs. Without `base` the head arm runs alone.

    Both arms get the contract's fixtures. If a prompt needs variables that a fixture does not have,
    their names come from the fixture of the same id in `lent`, of the other revision. The values
    stay the fixture's own, so that a new name cannot bring an easier input. Values of further
    variables are lent as well: base's, and of head's those that all its fixtures have. The order of
    fixtures and arms depends on `order_seed`. The prompt of head's contract must take all its own
    fixtures: raises ContractError with every reason why it does not.
    """
    fixtures = contract.fixtures
    seed = contract.sampling.seed
    for target in (head, base or head):
        refused_turns(target, contract)

    strict = contract_from == "head"
    answers = _render_own(contract, head) if strict else _render(head, contract.fixtures, lent)
    arms: list[tuple[Arm, Target, Messages]] = [("head", head, answers)]
    if base is not None:
        arms.insert(0, ("base", base, _render(base, contract.fixtures, lent, trusted=strict)))
    arms = _conversations(arms, fixtures)
    # Only requests for the first step of a chain begin alike.
    shared = shared_prefixes([list(map(first_step, found.values())) for _, _, found in arms])
    trials = tuple(
        Trial(
            contract=contract.name,
            fixture=fixture.id,
            arm=arm,
            repetition=repetition,
            request=Request(
                model=target.model,
                messages=messages[fixture.id],
                params=target.params,
                seed=None if seed is None else seed + repetition,
                repetition=repetition,
                shared_prefix=prefix,
            ),
            contract_from=contract_from,
            cluster=fixture.cluster,
            part_of=contract.part_of,
        )
        for repetition in range(contract.sampling.samples)
        for fixture in fixtures
        for (arm, target, messages), prefix in zip(arms, shared, strict=True)
        if fixture.id in messages and (strict or fixture.id in answers)
    )
    return Plan(
        in_order(trials, order_seed),
        unpaired=_missing(contract, arms[0][2]) if base is not None else (),
        unanswerable=_missing(contract, answers),
    )


def _conversations(
    arms: Sequence[tuple[Arm, Target, Messages]], fixtures: Sequence[Fixture]
) -> list[tuple[Arm, Target, Messages]]:
    """Return the messages of each arm and fixture with those of its conversation. Both arms speak
    with the same user. Raises ContractError if the goal of a user cannot be rendered."""
    if not any(fixture.turns or fixture.user for fixture in fixtures):
        return list(arms)
    turns = {fixture.id: fixture.turns for fixture in fixtures if fixture.turns}
    budget = Budget()
    users = {f.id: (user_message(_rendered_user(f, budget)),) for f in fixtures if f.user}
    return [
        (
            arm,
            target,
            {
                name: (*with_turns(said, turns.get(name, ())), *users.get(name, ()))
                for name, said in messages.items()
            },
        )
        for arm, target, messages in arms
    ]


def _rendered_user(fixture: Fixture, budget: Budget) -> SimulatedUser:
    """Return the fixture's user, with its goal and persona for this fixture."""
    user = fixture.user
    assert user is not None  # noqa: S101
    goal, persona = (
        str(render_value(text, fixture, fixture.position, budget))
        for text in (user.goal, user.persona)
    )
    return replace(user, goal=goal, persona=persona)


def _missing(contract: Contract, messages: Messages) -> tuple[str, ...]:
    return tuple(fixture.id for fixture in contract.fixtures if fixture.id not in messages)


def _render_own(contract: Contract, target: Target) -> Messages:
    rendered: dict[str, tuple[Message, ...]] = {}
    failing: dict[Problem, list[str]] = {}
    for fixture, found in _rendered(target, contract.fixtures):
        if isinstance(found, ContractError):
            for problem in found.problems:
                failing.setdefault(problem, []).append(fixture.id)
        else:
            rendered[fixture.id] = found
    if failing:
        total = len(contract.fixtures)
        raise ContractError([_for_fixtures(p, ids, total) for p, ids in failing.items()])
    values = [{**fixture.vars, **markers(target)} for fixture in contract.fixtures]
    problems = [p for prompt in target.prompts for p in rendered_role_problems(prompt, values)]
    if problems:
        raise ContractError(problems)
    return rendered


def _rendered(target: Target, fixtures: Sequence[Fixture]) -> Iterator[_Rendered]:
    """Render the target's prompts for each fixture, all within one budget."""
    places, names = markers(target), [step.name for step in target.steps]
    values = [{**fixture.vars, **places} for fixture in fixtures]
    budget = Budget()
    # One after another: what a prompt takes is known when the next one begins.
    each = [list(render_all(prompt, values, budget)) for prompt in target.prompts]
    for fixture, *found in zip(fixtures, *each, strict=True):
        errors = [one for one in found if isinstance(one, ContractError)]
        if errors:
            yield fixture, ContractError([p for error in errors for p in error.problems])
            continue
        rendered = [with_places(one) for one in found if not isinstance(one, ContractError)]
        yield fixture, with_requirements(join_steps(names, rendered), target.appended)


def _for_fixtures(problem: Problem, ids: list[str], total: int) -> Problem:
    where = f"fixture {ids[0]!r}"
    if len(ids) > 1:
        where = f"{len(ids)} of {total} fixtures, of which the first is {ids[0]!r}"
    return Problem(
        path=problem.path,
        what=f"{problem.what} (with {where})",
        fix=problem.fix,
        line=problem.line,
        column=problem.column,
        field=problem.field,
    )


def _render(
    target: Target,
    fixtures: tuple[Fixture, ...],
    lent: Mapping[str, Fixture],
    *,
    trusted: bool = False,
) -> Messages:
    rendered: dict[str, tuple[Message, ...]] = {}
    failing = _failing(_last_rendered(target, fixtures), rendered)
    if failing:
        # They have a budget of their own: they must not use up that of the others.
        renaming = find_renaming(fixtures, lent.values())
        values = lent_values(failing, lent, renaming, trusted=trusted)
        _failing(_rendered(target, values), rendered)
    return rendered


def _list_rendered(target: Target, fixtures: tuple[Fixture, ...]) -> list[_Rendered]:
    return list(_rendered(target, fixtures))


_last_rendered = kept_by_identity(_list_rendered, most=1)
"""Variants of a contract are compared with one base, which is rendered once."""


def _failing(
    found_of_each: Iterable[_Rendered], rendered: dict[str, tuple[Message, ...]]
) -> list[Fixture]:
    """Add the messages of each fixture to `rendered`; return the fixtures that have none."""
    failing = []
    for fixture, found in found_of_each:
        if isinstance(found, ContractError):
            failing.append(fixture)
        else:
            rendered[fixture.id] = found
    return failing
