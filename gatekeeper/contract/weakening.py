"""Finds the ways in which a pull request weakens a contract, each as a sentence, and changes to how
outputs are made of which it is not clear whether they weaken it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence, Set
from typing import Any

from gatekeeper.contract.clusters import Inputs, cluster_weakenings
from gatekeeper.contract.definition import CheckSpec, Contract, Fixture
from gatekeeper.contract.digests import canonical, check_meaning, checks_named, file_meaning
from gatekeeper.contract.objectives import Objective
from gatekeeper.contract.references import recording_path
from gatekeeper.contract.renaming import Renaming, find_renaming, is_renamed

# From the strictest to the loosest. `first` looks at one sample, so it has no place in the row.
_AGGREGATES = ("all", "majority", "any")

_MISSING = object()


def weakenings(base: Contract, head: Contract, rendered: Sequence[Inputs] = ()) -> tuple[str, ...]:
    """Return a sentence for each way in which `head` is weaker than `base`, or may be: answers from
    a recording, other outputs by `enforce`, repairs in another order. Nothing for what is stricter.
    `rendered` is what the prompts make of head's fixtures, if that is known."""
    return (
        *_model(base, head),
        *_fixtures(base, head),
        *cluster_weakenings(base, head, rendered),
        *_checks("", base.checks, head.checks),
        *_objectives(base, head),
        *_gate(base, head),
        *_sampling(base, head),
        *_repair(base, head),
    )


def setting_changes(base: Contract, head: Contract) -> tuple[str, ...]:
    """Return each change to how the contract file itself calls the model: its model, parameters and
    mode. The prompt's front matter is part of the prompt."""
    changes = []
    if base.own_model != head.own_model:
        before, now = base.own_model or "the prompt's", head.own_model or "the prompt's"
        changes.append(f"model changed from {before} to {now}")
    for name in sorted({*base.own_params, *head.own_params}):
        before, now = base.own_params.get(name, _MISSING), head.own_params.get(name, _MISSING)
        if before is _MISSING:
            changes.append(f"params.{name} added: {_shown(now)}")
        elif now is _MISSING:
            changes.append(f"params.{name} removed, was {_shown(before)}")
        elif canonical(before) != canonical(now):
            changes.append(f"params.{name} changed from {_shown(before)} to {_shown(now)}")
    if base.mode != head.mode:
        changes.append(f"mode changed from {base.mode} to {head.mode}")
    return tuple(changes)


def _model(base: Contract, head: Contract) -> Iterator[str]:
    """Yield a change to a recording, which answers whatever its author has written into it."""
    before, now = recording_path(base.target.model), recording_path(head.target.model)
    if now is None or before == now:
        return
    if before is None:
        yield f"model now answers from a recording, {now}"
        return
    held = base.dependencies.get(before)
    if held is None or held != head.dependencies.get(now):
        yield f"model now answers from another recording, {now} and not {before}"


def _fixtures(base: Contract, head: Contract) -> Iterator[str]:
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
        yield f"fixture `{base.id}`: its variables changed"
    if canonical(base.expected) != canonical(head.expected):
        change = f"{_shown(base.expected)} to {_shown(head.expected)}"
        yield f"fixture `{base.id}`: `expected` changed from {change}"
    if base.must_pass and not head.must_pass:
        yield f"fixture `{base.id}`: `must_pass` removed"
    yield from _checks(f"fixture `{base.id}`: ", base.checks, head.checks)


def _checks(where: str, base: Sequence[CheckSpec], head: Sequence[CheckSpec]) -> Iterator[str]:
    """Compare the checks that differ; those of the same name, or else of the same type, count as
    one check that changed."""
    left = list(head)
    changed = []
    for spec in base:
        same = next((other for other in left if check_meaning(other) == check_meaning(spec)), None)
        if same:
            left.remove(same)
        else:
            changed.append(spec)
    for by in ("name", "type"):
        for spec in list(changed):
            found = [o for o in left if o.type == spec.type and getattr(o, by) == getattr(spec, by)]
            if found:
                left.remove(found[0])
                changed.remove(spec)
                yield from _check(f"{where}check `{spec.name}`", spec, found[0])
    for spec in changed:
        yield f"{where}check `{spec.name}` removed"


def _check(what: str, base: CheckSpec, head: CheckSpec) -> Iterator[str]:
    if base.severity == "error" and head.severity == "warn":
        yield f"{what}: severity lowered from error to warn"
    if base.must_pass and not head.must_pass:
        yield f"{what}: `must_pass` removed"
    for name in dict.fromkeys((*base.params, *head.params)):
        before, now = _value(base, name), _value(head, name)
        if _content(base, before) != _content(head, now):
            yield from _param(f"{what}: `{name}`", name, before, now)
    if _parts(base) != _parts(head) and base.params.keys() == head.params.keys():
        yield f"{what}: a file that its schema refers to changed"


def _value(spec: CheckSpec, name: str) -> Any:
    """Return the value as written, or its default."""
    default = spec.shape.default(name)
    return spec.params.get(name, _MISSING if default is None else default)


def _param(what: str, name: str, before: Any, now: Any) -> Iterator[str]:
    looser = _is_looser(name, before, now)
    if looser is False:
        return
    if now is _MISSING:
        yield f"{what} removed, was {_shown(before)}"
    elif before is _MISSING:
        yield f"{what} added: {_shown(now)}"
    else:
        verb = "changed" if looser is None else "weakened"
        yield f"{what} {verb} from {_shown(before)} to {_shown(now)}"


def _is_looser(name: str, before: Any, now: Any) -> bool | None:
    """Return whether the check is weaker with the new value; None if only its author can know."""
    if name.startswith("max"):
        return _is_bound_looser(before, now, higher_is_looser=True)
    if name.startswith("min") or name == "fields":
        return _is_bound_looser(before, now, higher_is_looser=False)
    return None


def _is_bound_looser(before: Any, now: Any, *, higher_is_looser: bool) -> bool | None:
    if before is _MISSING or now is _MISSING:
        return now is _MISSING
    if isinstance(before, list) and isinstance(now, list):
        return not {canonical(item) for item in before} <= {canonical(item) for item in now}
    if not _is_number(before) or not _is_number(now):
        return None
    return bool(now > before) is higher_is_looser


def _content(spec: CheckSpec, value: Any) -> Any:
    if isinstance(value, str) and value in spec.files:
        return canonical(file_meaning(value, spec.files[value]))
    return value if value is _MISSING else canonical(value)


def _parts(spec: CheckSpec) -> list[str]:
    """Return the contents of the files that only other files refer to."""
    named = {value for value in spec.params.values() if isinstance(value, str)}
    return sorted(
        canonical(file_meaning(path, text))
        for path, text in spec.files.items()
        if path not in named
    )


def _objectives(base: Contract, head: Contract) -> Iterator[str]:
    for before in base.slo:
        now = _kept(base, before, head)
        what, up = f"slo.{before.name}", before.measure.better == "lower"
        yield from _bound(what, before.target, now.target if now else None, up=up)
        if now and now.window != before.window:
            yield f"{what}: window changed from {before.window} to {now.window}"
        if now and _refers_elsewhere(base, before, head, now):
            yield f"{what} now refers to another check"
    yield from _scores(base, head)
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


def _scores(base: Contract, head: Contract) -> Iterator[str]:
    """Yield checks that change the score, which is the mean of all checks that give one."""
    if not any(objective.measure.unit == "score" for objective in base.slo):
        return
    kept = {fixture.id for fixture in base.fixtures}
    before, now = _scoring(base, kept), _scoring(head, kept)
    known = {canonical(check_meaning(spec)) for spec in before}
    if len(now) > len(before):
        for spec in now:
            if canonical(check_meaning(spec)) not in known:
                yield f"check `{spec.name}` added, which counts in slo.judge_score"


def _scoring(contract: Contract, fixtures: Set[str]) -> list[CheckSpec]:
    """Return the checks that score those fixtures."""
    own = (spec for f in contract.fixtures if f.id in fixtures for spec in f.checks)
    return [spec for spec in (*contract.checks, *own) if spec.shape.scores]


def _categories(base: Contract, head: Contract) -> Iterator[str]:
    """Yield each fixture that leaves or joins a category, which changes its objectives."""
    with_objective = {objective.category for objective in base.slo} - {None}
    kept = {fixture.id: fixture.category for fixture in head.fixtures}
    for fixture in base.fixtures:
        before, now = fixture.category, kept.get(fixture.id, fixture.category)
        if before != now and with_objective & {before, now}:
            change = f"from {before or 'none'} to {now or 'none'}"
            yield f"fixture `{fixture.id}`: category changed {change}"


def _gate(base: Contract, head: Contract) -> Iterator[str]:
    yield from _bound("gate.alpha", base.gate.alpha, head.gate.alpha, up=False)
    yield from _bound("gate.margin", base.gate.margin, head.gate.margin, up=True)
    yield from _bound("gate.tolerance", base.gate.tolerance, head.gate.tolerance, up=False)
    kept = {limit.name: limit for limit in head.gate.limits}
    for before in base.gate.limits:
        now = kept.get(before.name)
        if now is None:
            yield f"gate.{before.name} removed, was {before}"
        elif now.most > before.most:
            yield f"gate.{before.name} raised from {before} to {now}"


def _sampling(base: Contract, head: Contract) -> Iterator[str]:
    before, now = base.sampling, head.sampling
    yield from _bound("sampling.samples", before.samples, now.samples, up=False)
    if before.aggregate == now.aggregate:
        return
    change = f"from {before.aggregate} to {now.aggregate}"
    if "first" in (before.aggregate, now.aggregate):
        yield f"sampling.aggregate changed {change}"
    elif _AGGREGATES.index(now.aggregate) > _AGGREGATES.index(before.aggregate):
        yield f"sampling.aggregate weakened {change}"


def _repair(base: Contract, head: Contract) -> Iterator[str]:
    before, now = base.repair.steps, head.repair.steps
    for step in now:
        if step not in before:
            yield f"repair step `{step}` added"
    if [step for step in before if step in now] != [step for step in now if step in before]:
        yield f"repair steps reordered from {', '.join(before)} to {', '.join(now)}"
    if now:
        yield from _bound("repair.max_steps", base.repair.max_steps, head.repair.max_steps, up=True)
    # `enforce` also asks the model for another form of output; the others only repair.
    if base.mode != head.mode and (now or "enforce" in (base.mode, head.mode)):
        yield f"mode changed from {base.mode} to {head.mode}"


def _bound(what: str, before: float | None, now: float | None, *, up: bool) -> Iterator[str]:
    """Yield a changed bound; `up` says that a higher number is weaker."""
    if before is None or before == now:
        return
    if now is None:
        yield f"{what} removed, was {before:g}"
    elif (now > before) is up:
        yield f"{what} {'raised' if up else 'lowered'} from {before:g} to {now:g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
