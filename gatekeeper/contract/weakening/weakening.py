"""Finds the ways in which a pull request weakens a contract, each as a sentence, and changes to how
outputs are made of which it is not clear whether they weaken it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gatekeeper.contract.calls.chain import reached_steps
from gatekeeper.contract.changes.renaming import Renaming, find_renaming, is_renamed
from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.fixtures.quarantine import quarantine_weakenings
from gatekeeper.contract.meaning.digests import canonical, check_meaning, checks_named
from gatekeeper.contract.meaning.modes import SENDING
from gatekeeper.contract.meaning.repair_policy import repair_weakenings
from gatekeeper.contract.simulated_user.settings import user_weakenings
from gatekeeper.contract.syntax.schema_errors import shown
from gatekeeper.contract.values.clusters import cluster_weakenings
from gatekeeper.contract.values.definition import CheckSpec, Contract, Fixture, Message
from gatekeeper.contract.values.objectives import Objective, similar_weakening
from gatekeeper.contract.weakening.check_weakening import (
    MISSING,
    bound_weakenings,
    check_weakenings,
    score_weakenings,
    some_fixtures,
)

Rendered = Mapping[str, tuple[Message, ...]]
"""The messages of an arm by the fixture."""


def step_weakenings(base: Contract, head: Contract, rendered: Sequence[Rendered]) -> Iterator[str]:
    """Yield each step with checks that head does not have, and each whose output no longer reaches
    the last prompt of a fixture: its checks then say nothing of the last output. `rendered` are
    base's messages and head's, if they are known."""
    checked = {spec.step for spec in base.checks}
    steps = [step.name for step in head.target.steps if step.name in checked]
    for step in base.target.steps:
        if step.name in checked and step.name not in steps:
            yield f"step `{step.name}` removed"
    if not steps or len(rendered) != 2:
        return
    before, now = rendered
    lost = {
        fixture: reached_steps(messages) - reached_steps(now[fixture])
        for fixture, messages in before.items()
        if fixture in now
    }
    for name in steps:
        fixtures = [fixture for fixture, names in lost.items() if name in names]
        if fixtures:
            what = f"step `{name}`: the output of the step no longer reaches the last prompt"
            yield f"{what} of {some_fixtures(sorted(fixtures))}"


# From the strictest to the loosest. `first` looks at one sample, so it has no place in the row.
_AGGREGATES = ("all", "majority", "any")


def weakenings(
    base: Contract, head: Contract, rendered: Sequence[Rendered] = ()
) -> tuple[str, ...]:
    """Return a sentence for each way in which `head` is weaker than `base`, or may be: answers from
    a recording, other outputs by `enforce`, repairs in another order. Nothing for what is stricter.
    `rendered` is what the prompts make of head's fixtures, if that is known."""
    return (
        *_model(base, head),
        *step_weakenings(base, head, rendered),
        *_fixtures(base, head),
        *quarantine_weakenings(base, head),
        *user_weakenings(base.fixtures, head.fixtures),
        *cluster_weakenings(base, head, rendered),
        *check_weakenings("", base.checks, head.checks, _kept_fixtures(base, head)),
        *score_weakenings(base, head),
        *_objectives(base, head),
        *_gate(base, head),
        *_sampling(base, head),
        *_repair(base, head),
    )


def setting_changes(base: Contract, head: Contract) -> tuple[str, ...]:
    """Return each change to how the contract file itself calls the model: its model, parameters,
    mode and style of templates. The prompt's front matter is part of the prompt."""
    changes = []
    if base.own_model != head.own_model:
        own = "the prompt's own model"
        before, now = base.own_model or own, head.own_model or own
        changes.append(f"model changed from {before} to {now}")
    for name in sorted({*base.own_params, *head.own_params}):
        before, now = base.own_params.get(name, MISSING), head.own_params.get(name, MISSING)
        if before is MISSING:
            changes.append(f"params.{name} added: {shown(now)}")
        elif now is MISSING:
            changes.append(f"params.{name} removed; the value was {shown(before)}")
        elif canonical(before) != canonical(now):
            changes.append(f"params.{name} changed from {shown(before)} to {shown(now)}")
    styles = (base.target.prompt.style, head.target.prompt.style)
    if styles[0] != styles[1] and base.template != head.template:
        changes.append(f"template changed from {styles[0]} to {styles[1]}")
    if base.mode != head.mode:
        changes.append(f"mode changed from {base.mode} to {head.mode}")
    return tuple(changes)


def _model(base: Contract, head: Contract) -> Iterator[str]:
    """Yield a change to a recording, which answers whatever its author has written into it."""
    before, now = recording_path(base.target.model), recording_path(head.target.model)
    if now is None or before == now:
        return
    if before is None:
        yield f"`model` now takes the answers from the recording {now}"
        return
    held = base.dependencies.get(before)
    if held is None or held != head.dependencies.get(now):
        yield f"`model` now takes the answers from the recording {now} instead of {before}"


def _fixtures(base: Contract, head: Contract) -> Iterator[str]:
    if base.fixtures is head.fixtures:
        return  # a variant of one contract
    kept = {fixture.id: fixture for fixture in head.fixtures}
    renaming = find_renaming(base.fixtures, head.fixtures)
    for fixture in base.fixtures:
        now = kept.get(fixture.id)
        if now is None:
            yield f"fixture `{fixture.id}` removed"
        else:
            yield from _fixture(fixture, now, renaming)


def _fixture(base: Fixture, head: Fixture, renaming: Renaming) -> Iterator[str]:
    same = canonical(dict(base.vars)) == canonical(dict(head.vars))
    if not same and not is_renamed(base, head, renaming):
        yield f"fixture `{base.id}`: the variables changed"
    if canonical(base.expected) != canonical(head.expected):
        change = f"{shown(base.expected)} to {shown(head.expected)}"
        yield f"fixture `{base.id}`: `expected` changed from {change}"
    if base.turns != head.turns:
        yield f"fixture `{base.id}`: `turns` changed"
    if base.must_pass and not head.must_pass:
        yield f"fixture `{base.id}`: `must_pass` removed"
    where = f"fixture `{base.id}`: "
    yield from check_weakenings(where, base.checks, head.checks, [(base, head)])


def _kept_fixtures(base: Contract, head: Contract) -> list[tuple[Fixture, Fixture]]:
    kept = {fixture.id: fixture for fixture in head.fixtures}
    return [(fixture, kept[fixture.id]) for fixture in base.fixtures if fixture.id in kept]


def _objectives(base: Contract, head: Contract) -> Iterator[str]:
    for before in base.slo:
        now = _kept(base, before, head)
        what, up = f"slo.{before.name}", before.measure.better == "lower"
        yield from bound_weakenings(what, before.target, now.target if now else None, up=up)
        if now and now.window != before.window:
            yield f"{what}: window changed from {before.window} to {now.window}"
        similar = similar_weakening(before.similar, now.similar) if now else None
        if similar:
            yield f"{what}: {similar}"
        if now and _refers_elsewhere(base, before, head, now):
            yield f"{what} now refers to another check"
    yield from _categories(base, head)


def _kept(base: Contract, before: Objective, head: Contract) -> Objective | None:
    """Return the objective of head that keeps this promise: that of its name, or the strictest of
    the same checks under other names."""
    named = next((objective for objective in head.slo if objective.name == before.name), None)
    if before.check is None or (named and _refers_to(head, named) == _refers_to(base, before)):
        return named
    same = [o for o in head.slo if o.check is not None and o.category == before.category]
    same = [o for o in same if _refers_to(head, o) == _refers_to(base, before)]
    return max(same, key=lambda objective: objective.target, default=named)


def _refers_to(contract: Contract, objective: Objective) -> dict[str | None, str]:
    named = checks_named(contract, objective.check or "")
    return {place: canonical(check_meaning(spec)) for place, spec in named.items()}


def _refers_elsewhere(base: Contract, before: Objective, head: Contract, now: Objective) -> bool:
    """Return whether the objective no longer refers to a check of base.

    A check that changed and keeps its name and type is named as a change of that check. It must not
    exist at base under another name, nor may the check at base exist at head under another name.
    """
    was, is_now = (checks_named(c, o.check or "") for c, o in ((base, before), (head, now)))
    fixtures = {None, *(fixture.id for fixture in head.fixtures)}
    for place, spec in was.items():
        other = is_now.get(place)
        if place not in fixtures or (other and check_meaning(other) == check_meaning(spec)):
            continue
        if other is None or other.type != spec.type:
            return True
        if _stands(base, place, other) or _stands(head, place, spec):
            return True
    return False


def _stands(contract: Contract, place: str | None, spec: CheckSpec) -> bool:
    fixtures = (fixture for fixture in contract.fixtures if fixture.id == place)
    checks = contract.checks if place is None else next(fixtures).checks
    return any(check_meaning(other) == check_meaning(spec) for other in checks)


def _categories(base: Contract, head: Contract) -> Iterator[str]:
    """Yield each fixture that leaves or joins a category, which changes its objectives and its own
    comparison."""
    with_objective = {objective.category for objective in base.slo} - {None}
    kept = {fixture.id: fixture.category for fixture in head.fixtures}
    for fixture in base.fixtures:
        before, now = fixture.category, kept.get(fixture.id, fixture.category)
        if before != now and (base.gate.slices or with_objective & {before, now}):
            change = f"from {before or 'none'} to {now or 'none'}"
            yield f"fixture `{fixture.id}`: category changed {change}"


def _gate(base: Contract, head: Contract) -> Iterator[str]:
    if base.gate.claim != head.gate.claim and head.gate.claim != "both":
        yield f"gate.claim changed from {base.gate.claim} to {head.gate.claim}"
    if base.gate.slices and not head.gate.slices:
        yield f"gate.slices removed; the value was {base.gate.slices}"
    if base.gate.weights != head.gate.weights:
        yield "gate.weights changed"
    if base.gate.on != head.gate.on:
        yield f"gate.on changed from {base.gate.on} to {head.gate.on}"
    fixtures = len(base.fixtures)
    if head.gate.allowed_of(fixtures) > base.gate.allowed_of(fixtures):
        change = f"from {base.gate.allow_broken:g} to {head.gate.allow_broken:g}"
        yield f"gate.allow_broken raised {change}"
    yield from bound_weakenings("gate.alpha", base.gate.alpha, head.gate.alpha, up=False)
    yield from bound_weakenings("gate.margin", base.gate.margin, head.gate.margin, up=True)
    yield from bound_weakenings(
        "gate.tolerance", base.gate.tolerance, head.gate.tolerance, up=False
    )
    kept = {limit.name: limit for limit in head.gate.limits}
    for before in base.gate.limits:
        now = kept.get(before.name)
        if now is None:
            yield f"gate.{before.name} removed; the value was {before}"
        elif now.most > before.most:
            yield f"gate.{before.name} raised from {before} to {now}"


def _sampling(base: Contract, head: Contract) -> Iterator[str]:
    before, now = base.sampling, head.sampling
    yield from bound_weakenings("sampling.samples", before.samples, now.samples, up=False)
    if before.aggregate == now.aggregate:
        return
    change = f"from {before.aggregate} to {now.aggregate}"
    if "first" in (before.aggregate, now.aggregate):
        yield f"sampling.aggregate changed {change}"
    elif _AGGREGATES.index(now.aggregate) > _AGGREGATES.index(before.aggregate):
        yield f"sampling.aggregate weakened {change}"


def _repair(base: Contract, head: Contract) -> Iterator[str]:
    yield from repair_weakenings(base, head)
    # Some modes also ask the model for another form of output; the others only repair.
    steps = head.repair.steps
    if base.mode != head.mode and (steps or {base.mode, head.mode} & SENDING):
        yield f"mode changed from {base.mode} to {head.mode}"
