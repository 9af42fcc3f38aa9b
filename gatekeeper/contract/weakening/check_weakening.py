"""Finds the ways in which a pull request weakens the checks of a contract, each as a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import Any

from gatekeeper import numbers
from gatekeeper.contract.meaning.digests import canonical, check_meaning, file_meaning
from gatekeeper.contract.syntax.schema import is_number
from gatekeeper.contract.syntax.schema_errors import shown
from gatekeeper.contract.values.definition import CheckSpec, Contract, Fixture

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
    for rank in (_mean_the_same, _have_one_name, _have_one_type):
        still = []
        for spec in waiting:
            other = next((o for o in left if rank(spec, o)), None)
            if other is None:
                still.append(spec)
            else:
                left.remove(other)
                found.append((spec, other))
        waiting = still
    return [*found, *((spec, None) for spec in waiting)]


def _mean_the_same(one: CheckSpec, other: CheckSpec) -> bool:
    return one.type == other.type and bool(check_meaning(one) == check_meaning(other))


def _have_one_name(one: CheckSpec, other: CheckSpec) -> bool:
    return one.type == other.type and one.name == other.name


def _have_one_type(one: CheckSpec, other: CheckSpec) -> bool:
    return one.type == other.type


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
        return now is MISSING if direction != "down if written" else None
    if direction == "subset":
        lists = isinstance(before, list) and isinstance(now, list)
        return not {*map(canonical, before)} <= {*map(canonical, now)} if lists else None
    if not is_number(before) or not is_number(now):
        return None
    return bool(now > before) is (direction == "up")


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
