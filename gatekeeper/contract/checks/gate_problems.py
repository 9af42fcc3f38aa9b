"""Finds mistakes in `gate` that depend on the rest of the contract, and fixtures without a check
that can fail, which pass with any output. And what a contract sets without any effect, which is
usually a mistake."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gatekeeper import numbers
from gatekeeper.contract.checks.judge_settings import ASKING
from gatekeeper.contract.meaning.constraints import output_schema
from gatekeeper.contract.meaning.repair_policy import STEPS_ON_WORDS
from gatekeeper.contract.syntax.schema_errors import nearest
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.values.definition import CheckSpec, Contract, Fixture, Position
from gatekeeper.errors import ContractError, Problem

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


_RECORDED = "recorded/"
_NEEDS_CALLS = ("tool", "order")


def without_effect(
    contract: Contract, document: Document, *, is_foreign: bool = False
) -> Iterator[Problem]:
    """Yield what has no effect, each with its place in the contract's file.

    `document` is the contract as it is written. In the file of another tool, weights only count in
    a score that its own reports show, so they are no mistake.
    """
    if contract.mode == "observe" and contract.repair.steps:
        what = "`repair` has no effect, because `mode: observe` repairs no output"
        yield document.problem(
            ("repair",), what, "remove `repair`, or choose another `mode`", at_key=True
        )
    elif contract.repair.similar and not set(STEPS_ON_WORDS) & set(contract.repair.steps):
        what = (
            "`similar` has no effect, because no repair step changes words of outputs that are not "
            "JSON"
        )
        fix = f"remove `similar`, or add one of the steps {', '.join(STEPS_ON_WORDS)}"
        yield document.problem(("repair", "similar"), what, fix, at_key=True)
    yield from _empty_enforcement(contract, document)
    yield from _unused_judge(contract, document)
    for part in contract.parts:
        for spec in part.own_checks if not is_foreign else ():
            yield from _idle_weight(part, spec)
        for spec in part.every_check():
            yield from _idle_check(part, spec)


def _empty_enforcement(contract: Contract, document: Document) -> Iterator[Problem]:
    if contract.mode != "enforce":
        return
    try:
        schema = output_schema(contract)
    except ContractError:
        return  # planning the contract says so
    if schema is not None and not schema and "response_format" not in contract.target.params:
        what = (
            "`mode: enforce` asks the model for any JSON, because no check describes the "
            "form of the JSON"
        )
        fix = "add a check such as `json_schema` or `json_required`"
        yield document.problem(("mode",), what, fix)


def _unused_judge(contract: Contract, document: Document) -> Iterator[Problem]:
    data: Mapping[str, Any] = document.data if isinstance(document.data, dict) else {}
    if "judge" not in data:
        return
    if not any(spec.type in ASKING for part in contract.parts for spec in part.every_check()):
        what = "no check uses the settings in `judge`"
        yield document.problem(
            ("judge",), what, ("remove `judge`, or add a `judge` check"), at_key=True
        )


def _idle_weight(part: Contract, spec: CheckSpec) -> Iterator[Problem]:
    """Yield the problem of a weight that nothing reads. Inside another check,
    every weight counts."""
    scored = any(objective.name.endswith("judge_score") for objective in part.slo)
    if spec.weight != 1 and part.pass_score is None and not scored:
        what = f"the weight of check `{spec.name}` has no effect without `pass_score`"
        yield _at(part, spec, what, "add `pass_score: 0.8` to the contract, or remove `weight`")


def _idle_check(part: Contract, spec: CheckSpec) -> Iterator[Problem]:
    if spec.type == "citation" and not {"context", "ids"} & spec.params.keys():
        what = (
            f"check `{spec.name}` accepts every citation, because it has no sources to compare with"
        )
        yield _at(part, spec, what, 'add `context: "{{ documents }}"` or `ids` to the check')
    # A recording answers as the model did, whatever was offered to it.
    model = part.target.model
    if "tools" in part.target.params or model.startswith(_RECORDED) or not _requires_a_call(spec):
        return
    what = (
        f"check `{spec.name}` fails on every output, because the contract offers the model no tools"
    )
    yield _at(part, spec, what, "add `tools` to `params`")


def _at(part: Contract, spec: CheckSpec, what: str, fix: str) -> Problem:
    return (spec.position or Position(part.path)).problem(what, fix)


def _requires_a_call(spec: CheckSpec) -> bool:
    required = any(name in spec.params for name in _NEEDS_CALLS)
    return spec.type == "tool_call" and required and not spec.negated
