"""Finds the ways in which a pull request weakens a contract, each as a sentence, and changes to how
outputs are made of which it is not clear whether they weaken it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

from gatekeeper import numbers
from gatekeeper.contract.calls.calls import reached_steps
from gatekeeper.contract.changes.renaming import Renaming, find_renaming, is_renamed
from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.fixtures.quarantine import quarantine_weakenings
from gatekeeper.contract.meaning.digests import (
    canonical,
    check_meaning,
    checks_named,
    file_meaning,
    prompt_digest,
)
from gatekeeper.contract.meaning.modes import SENDING
from gatekeeper.contract.meaning.repair_policy import repair_weakenings
from gatekeeper.contract.simulated_user.settings import user_weakenings
from gatekeeper.contract.syntax.schema import is_number
from gatekeeper.contract.syntax.schema_errors import shown
from gatekeeper.contract.values.clusters import cluster_weakenings
from gatekeeper.contract.values.definition import CheckSpec, Contract, Fixture
from gatekeeper.contract.values.objectives import Objective, similar_weakening
from gatekeeper.contract.values.trial import Request
from gatekeeper.contract.weakening.tool_weakening import tool_changes, tool_weakenings

Requests = Mapping[str, Request]
"""The requests of an arm by the fixture."""


def step_weakenings(base: Contract, head: Contract, requests: Sequence[Requests]) -> Iterator[str]:
    """Yield each step with checks that head does not have, and each whose output no longer reaches
    the last prompt of a fixture: its checks then say nothing of the last output. `requests`
    are base's and head's, if they are known."""
    checked = {spec.step for spec in base.checks}
    steps = [step.name for step in head.target.steps if step.name in checked]
    for step in base.target.steps:
        if step.name in checked and step.name not in steps:
            yield f"step `{step.name}` removed"
    if not steps or len(requests) != 2:
        return
    before, now = requests
    lost = {
        fixture: reached_steps(request) - reached_steps(now[fixture])
        for fixture, request in before.items()
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
    base: Contract, head: Contract, requests: Sequence[Requests] = ()
) -> tuple[str, ...]:
    """Return a sentence for each way in which `head` is weaker than `base`, or may be: answers from
    a recording, other outputs by `enforce`, repairs in another order. Nothing for what is stricter.
    `requests` are those of each arm to head's fixtures, if they are known."""
    inputs = [{name: prompt_digest(r) for name, r in each.items()} for each in requests]
    return (
        *_model(base, head),
        *step_weakenings(base, head, requests),
        *_fixtures(base, head),
        *quarantine_weakenings(base, head),
        *user_weakenings(base.fixtures, head.fixtures),
        *tool_weakenings(base, head),
        *cluster_weakenings(base, head, inputs),
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
        if MISSING not in (before, now) and canonical(before) == canonical(now):
            continue
        if name == "tools" and MISSING not in (before, now):
            changes.append(f"tools changed: {tool_changes(before, now)}")
        else:
            changes += _param(f"params.{name}", "change", before, now)
    styles = (base.target.prompt.style, head.target.prompt.style)
    if styles[0] != styles[1] and base.template != head.template:
        changes.append(f"template changed from {styles[0]} to {styles[1]}")
    tasks = [each.target.task.content if each.target.task else None for each in (base, head)]
    if tasks[0] != tasks[1] and None not in tasks:
        changes.append("task changed")
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
    if base.contents != head.contents:
        yield f"fixture `{base.id}`: the files changed"
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
    for name, up in (("alpha", False), ("margin", True), ("tolerance", False)):
        bounds = getattr(base.gate, name), getattr(head.gate, name)
        yield from bound_weakenings(f"gate.{name}", *bounds, up=up)
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


MISSING = object()
"""The value of a setting that a contract does not have."""

_MOST_NAMES = 3

Pairs = Sequence[tuple[Fixture, Fixture]]


def check_weakenings(
    where: str, base: Sequence[CheckSpec], head: Sequence[CheckSpec], fixtures: Pairs = ()
) -> Iterator[str]:
    """Compare two lists of checks. Checks of the same meaning, else of the same name, else of the
    same type count as one check. `fixtures` are those to which the lists apply, at base and at
    head; `where` starts each sentence."""
    for spec, other in _paired(base, head):
        what = f"{where}check `{spec.name}`"
        if other is None:
            yield f"{what} removed"
            continue
        if check_meaning(spec) != check_meaning(other):
            yield from _check(what, spec, other)
        lost = [
            before.id
            for before, now in fixtures
            if spec.name not in before.left_out and other.name in now.left_out
        ]
        if lost:
            yield f"{what} no longer applies to {some_fixtures(lost)}"


def score_weakenings(base: Contract, head: Contract) -> Iterator[str]:
    """Yield what may weaken a mean of scores: the contract's pass score, the comparison of scores,
    or the objective `judge_score`."""
    before, now = base.pass_score, head.pass_score
    kept = {fixture.id for fixture in base.fixtures}
    if before is None:
        if now is not None and now < 1:
            yield f"pass_score {now:g} added; on base, every check must pass"
    else:
        yield from bound_weakenings("pass_score", before, now, up=False)
    graded = base.gate.on == head.gate.on == "score"
    means = {"pass_score": None not in (before, now), "gate.on: score": graded}
    if counts_in := next((name for name, counts in means.items() if counts), None):
        yield from _added(_gating(base, kept), _gating(head, kept), counts_in)
        yield from _applied_anew(base, head, counts_in)
    scored = any(objective.measure.unit == "score" for objective in base.slo)
    if scored:
        yield from _added(_scoring(base, kept), _scoring(head, kept), "slo.judge_score")
    if scored or graded or now is not None:
        yield from _weights(base, head, kept)


def bound_weakenings(
    what: str, before: float | None, now: float | None, *, up: bool
) -> Iterator[str]:
    """Yield a changed bound; `up` says that a higher number is weaker."""
    if before is None or before == now:
        return
    if now is None:
        yield f"{what} removed; the value was {before:g}"
    elif (now > before) is up:
        yield f"{what} {'raised' if up else 'lowered'} from {before:g} to {now:g}"


def _paired(
    base: Sequence[CheckSpec], head: Sequence[CheckSpec]
) -> list[tuple[CheckSpec, CheckSpec | None]]:
    """Return each check of base with that of head which stands for it, those of the same meaning
    first."""
    left, waiting = list(head), list(base)
    found: list[tuple[CheckSpec, CheckSpec | None]] = []
    ranks: tuple[Callable[[CheckSpec], Any], ...] = (
        check_meaning,
        lambda spec: spec.name,
        lambda spec: spec.type,
    )
    for rank in ranks:
        still = []
        for spec in waiting:
            same = (o for o in left if o.type == spec.type and rank(o) == rank(spec))
            other = next(same, None)
            if other is None:
                still.append(spec)
            else:
                left.remove(other)
                found.append((spec, other))
        waiting = still
    return [*found, *((spec, None) for spec in waiting)]


def _check(what: str, base: CheckSpec, head: CheckSpec) -> Iterator[str]:
    if base.severity == "error" and head.severity == "warn":
        yield f"{what}: severity lowered from error to warn"
    if base.must_pass and not head.must_pass:
        yield f"{what}: `must_pass` removed"
    if base.negated != head.negated:
        yield f"{what}: `not` {'added' if head.negated else 'removed'}"
    if base.step != head.step:
        yield f"{what}: `step` changed from {_step(base)} to {_step(head)}"
    if base.turn != head.turn:
        yield f"{what}: `turn` changed from {_turn(base)} to {_turn(head)}"
    for name in dict.fromkeys((*base.params, *head.params)):
        before, now = _value(base, name), _value(head, name)
        if _content(base, before) == _content(head, now):
            continue
        if isinstance(now, str) and before == now:
            yield f"{what}: `{name}`: the file `{now}` changed"
        else:
            direction = "change" if base.negated else base.shape.looser(name)
            yield from _param(f"{what}: `{name}`", direction, before, now)
    if base.shape.code is not None:
        yield from _code(what, base, head)
    elif base.params.keys() == head.params.keys() and _files_of_files(base) != _files_of_files(
        head
    ):
        yield f"{what}: the change edits a file that the schema refers to"
    yield from _parts(what, base, head)


def _step(spec: CheckSpec) -> str:
    return spec.step or "the last step"


def _turn(spec: CheckSpec) -> str:
    return str(spec.turn or "the last answer")


def _code(what: str, base: CheckSpec, head: CheckSpec) -> Iterator[str]:
    """Yield each file of code that changed under its name."""
    for path, text in head.files.items():
        if base.files.get(path, text) != text:
            yield (
                f"{what}: `{path}` changed; until the merge, gatekeeper runs the base branch's "
                "version of the file"
            )


def _parts(what: str, base: CheckSpec, head: CheckSpec) -> Iterator[str]:
    """Compare the checks that two checks of the same type are composed of."""
    before, now = (Counter(canonical(check_meaning(p)) for p in s.parts) for s in (base, head))
    if before == now:
        return
    if base.negated:
        yield f"{what}: the inner checks of the check changed"
    elif base.type != "any_of":
        yield from check_weakenings(f"{what}: ", base.parts, head.parts)
    else:
        pairs = _paired(base.parts, head.parts)
        yield from (
            sentence
            for spec, other in pairs
            if other is not None and check_meaning(spec) != check_meaning(other)
            for sentence in _check(f"{what}: check `{spec.name}`", spec, other)
        )
        known = [other for _, other in pairs if other is not None]
        for part in head.parts:
            if not any(part is other for other in known):
                yield (
                    f"{what}: alternative `{part.name}` added; an output that passes only this "
                    "alternative now passes the whole check"
                )


def _value(spec: CheckSpec, name: str) -> Any:
    """Return the value as written, or its default."""
    default = spec.shape.default(name)
    return spec.params.get(name, MISSING if default is None else default)


def _param(what: str, direction: str, before: Any, now: Any) -> Iterator[str]:
    """Yield a changed parameter. What makes a negated check stricter is not worked out."""
    looser = _is_looser(direction, before, now)
    if looser is False:
        return
    if now is MISSING:
        yield f"{what} removed; the value was {shown(before)}"
    elif before is MISSING:
        yield f"{what} added: {shown(now)}"
    else:
        verb = "changed" if looser is None else "weakened"
        yield f"{what} {verb} from {shown(before)} to {shown(now)}"


def _is_looser(direction: str, before: Any, now: Any) -> bool | None:
    """Return whether the check is weaker with the new value; None if only its author can know."""
    if direction == "change":
        return None
    if MISSING in (before, now):
        return None if direction.endswith("if written") else now is MISSING
    if direction == "subset":
        lists = isinstance(before, list) and isinstance(now, list)
        return not {*map(canonical, before)} <= {*map(canonical, now)} if lists else None
    if not is_number(before) or not is_number(now):
        return None
    return bool(now > before) is direction.startswith("up")


def _content(spec: CheckSpec, value: Any) -> Any:
    if isinstance(value, str) and value in spec.files:
        return canonical(file_meaning(value, spec.files[value]))
    return value if value is MISSING else canonical(value)


def _files_of_files(spec: CheckSpec) -> list[str]:
    """Return the contents of the files that only other files refer to."""
    named = {value for value in spec.params.values() if isinstance(value, str)}
    return sorted(
        canonical(file_meaning(path, text))
        for path, text in spec.files.items()
        if path not in named
    )


def _added(before: Sequence[CheckSpec], now: Sequence[CheckSpec], counts_in: str) -> Iterator[str]:
    """Yield each check that was added to a mean of scores, in which the others then count less."""
    known = {canonical(check_meaning(spec)) for spec in before}
    if len(now) > len(before):
        for spec in now:
            if canonical(check_meaning(spec)) not in known:
                yield (
                    f"check `{spec.name}` added; the score of the check counts in "
                    f"`{counts_in}`, so other checks count less"
                )


def _applied_anew(base: Contract, head: Contract, counts_in: str) -> Iterator[str]:
    """Yield each check that now applies to more fixtures of base, and so counts in their mean."""
    kept = {fixture.id: fixture for fixture in head.fixtures}
    for spec, other in _paired(base.checks, head.checks):
        if other is None or spec.severity == "warn":
            continue
        gained = [
            fixture.id
            for fixture in base.fixtures
            if spec.name in fixture.left_out
            and fixture.id in kept
            and other.name not in kept[fixture.id].left_out
        ]
        if gained:
            where = some_fixtures(gained)
            yield (
                f"check `{spec.name}` now applies to {where}; the score of the check "
                f"counts in `{counts_in}`, so other checks count less"
            )


def _weights(base: Contract, head: Contract, kept: Set[str]) -> Iterator[str]:
    lists = [("", base.checks, head.checks)]
    now = {fixture.id: fixture.checks for fixture in head.fixtures}
    lists += [
        (f"fixture `{f.id}`: ", f.checks, now[f.id])
        for f in base.fixtures
        if f.id in now.keys() & kept
    ]
    for where, before, after in lists:
        for spec, other in _paired(before, after):
            if other is not None and other.weight != spec.weight:
                change = f"from {spec.weight:g} to {other.weight:g}"
                yield f"{where}check `{spec.name}`: weight changed {change}"


def _gating(contract: Contract, fixtures: Set[str]) -> list[CheckSpec]:
    return [spec for spec in _all_checks(contract, fixtures) if spec.severity == "error"]


def _scoring(contract: Contract, fixtures: Set[str]) -> list[CheckSpec]:
    return [spec for spec in _all_checks(contract, fixtures) if spec.shape.scores]


def _all_checks(contract: Contract, fixtures: Set[str]) -> list[CheckSpec]:
    """Return the contract's checks and those of the fixtures with these ids."""
    own = (spec for f in contract.fixtures if f.id in fixtures for spec in f.checks)
    return [*contract.checks, *own]


def some_fixtures(fixtures: Sequence[str]) -> str:
    """Name the first fixtures, and count the others."""
    named = numbers.some([f"`{fixture}`" for fixture in fixtures], _MOST_NAMES)
    return f"fixture{'s' if len(fixtures) > 1 else ''} {named}"
