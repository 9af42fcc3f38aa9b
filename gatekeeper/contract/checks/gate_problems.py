"""Finds mistakes in `gate` that depend on the rest of the contract, and fixtures without a check
that can fail, which pass with any output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gatekeeper import numbers
from gatekeeper.contract.syntax.schema_errors import nearest
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.values.definition import CheckSpec, Fixture
from gatekeeper.errors import Problem

MOST_SLICES = 30
"""The largest number of categories with a comparison of their own: the more share the level, the
less each can show."""


def gate_problems(document: Document, fixtures: Sequence[Fixture]) -> Iterator[Problem]:
    """Yield each mistake in `gate` of a contract that is otherwise sound."""
    yield from _slice_problems(document, fixtures)
    gate, on = document.data.get("gate", {}), ("gate", "on")
    if gate.get("on") != "score":
        return
    if gate.get("claim") == "fixtures":
        what = "`gate.on: score` compares inputs, but `gate.claim: fixtures` does not gate on them"
        yield document.problem(on, what, "remove one of the two", at_key=True)
    rule = document.data.get("sampling", {}).get("aggregate")
    if rule in ("all", "any"):
        what = f"`gate.on: score` compares mean scores, but `aggregate: {rule}` counts passes"
        yield document.problem(on, what, "use `aggregate: majority`", at_key=True)


def _slice_problems(document: Document, fixtures: Sequence[Fixture]) -> Iterator[Problem]:
    gate = document.data.get("gate", {})
    slices, weights = ("gate", "slices"), ("gate", "weights")
    named = {fixture.category for fixture in fixtures if fixture.category}
    if "weights" in gate and "slices" not in gate:
        what, fix = "`gate.weights` needs `gate.slices`", "add `slices: category` to `gate`"
        yield document.problem(weights, what, fix, at_key=True)
    if "slices" not in gate:
        return
    if gate.get("claim") == "fixtures":
        what = "`gate.slices` compares inputs, but `gate.claim: fixtures` does not gate on inputs"
        yield document.problem(slices, what, "remove one of the two", at_key=True)
    if not named:
        what, fix = "no fixture has a `category`", "give fixtures a `category`, or remove `slices`"
        yield document.problem(slices, what, fix)
    if len(named) > MOST_SLICES:
        what = f"the fixtures have {len(named):,} categories, but at most {MOST_SLICES} can gate"
        fix = "use fewer categories, because each makes the level of the others stricter"
        yield document.problem(slices, what, fix)
    if "weights" in gate:
        yield from _weight_problems(document, fixtures, named)


def _weight_problems(
    document: Document, fixtures: Sequence[Fixture], named: set[str]
) -> Iterator[Problem]:
    given = {str(name) for name in document.data["gate"]["weights"]}
    for name in sorted(given - named):
        what = f"no fixture has the category `{name}`"
        key = ("gate", "weights", name)
        yield document.problem(key, what, nearest(name, named), at_key=True)
    without = [fixture.id for fixture in fixtures if not fixture.category]
    missing = sorted(named - given)
    if without:
        what = f"fixture `{without[0]}` has no `category`, so its weight is not known"
        yield document.problem(("gate", "weights"), what, "give every fixture a category")
    if missing:
        what = f"the category `{missing[0]}` has no weight"
        yield document.problem(("gate", "weights"), what, f"add `{missing[0]}: 1`, or its share")


def ungated_fixtures(
    document: Document, key: KeyPath, checks: Sequence[CheckSpec], fixtures: Sequence[Fixture]
) -> list[Problem]:
    """Return a problem at `key` if no check can fail some of the fixtures."""
    if _can_fail(spec for spec in checks if spec.when is None):
        return []
    names = [
        f"`{fixture.id}`"
        for fixture in fixtures
        if not _can_fail(s for s in (*checks, *fixture.checks) if s.name not in fixture.left_out)
    ]
    if not names:
        return []
    shown = f"fixture{'s' if len(names) > 1 else ''} {numbers.some(names, 3)}"
    what = f"no check with `severity: error` applies to the {shown}, so every output passes"
    fix = "write `severity: error` in a check, or add a check"
    return [document.problem(key, what, fix)]


def _can_fail(checks: Iterable[CheckSpec]) -> bool:
    return any(spec.severity == "error" for spec in checks)
