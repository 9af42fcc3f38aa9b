"""Finds what a contract sets without any effect, which is usually a mistake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gatekeeper.contract.checks.judge_settings import ASKING
from gatekeeper.contract.meaning.constraints import output_schema
from gatekeeper.contract.meaning.repair_policy import STEPS_ON_WORDS
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.contract.values.definition import CheckSpec, Contract, Position
from gatekeeper.errors import ContractError, Problem

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
    for part in (contract, *contract.groups):
        own = (spec for fixture in part.fixtures for spec in fixture.checks)
        for spec in (*part.checks, *own) if not is_foreign else ():
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
    parts = (contract, *contract.groups)
    if not any(spec.type in ASKING for part in parts for spec in part.every_check()):
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
