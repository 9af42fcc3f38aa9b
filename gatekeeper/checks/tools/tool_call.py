"""The model calls the required tools, with the required arguments, so often and in this order, or
calls no tool.

The check sees all calls of the sample, also those of earlier steps if [tools are
answered](agents.md). All parameters that you set must hold. `tool` must be called once at least, or
from `min` to `max` times; `max: 0` forbids it. With `arguments` or `schema`, only calls with these
arguments count; arguments that you do not name may be anything. If `allowed` is a mapping, the
arguments of every call must be valid under the JSON Schema for its tool. Malformed or cut-off
arguments never pass. An answer with calls needs no text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from gatekeeper import numbers
from gatekeeper.checks.check import (
    PASSED,
    Check,
    Example,
    Files,
    Finding,
    ParameterError,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
    require_range,
)
from gatekeeper.checks.reading.output import NotJson, parse_json, quote
from gatekeeper.checks.values import json_schema
from gatekeeper.contract.calls.trajectory import trajectory
from gatekeeper.contract.reading.same_json import same_json
from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.trial import Completion, Sample

_SHOWN = 5

_Calls = Sequence[ToolCall]
_Requirement = Callable[[Sample, _Calls], Finding]


def _prepare(params: Parameters, files: Files) -> SampleEvaluator:
    _require_sense(params)
    requirements = list(_requirements(params, files))

    def evaluate(sample: Sample) -> Finding:
        calls = tuple(answered.call for answered in trajectory(sample).calls)
        findings = [requirement(sample, calls) for requirement in requirements]
        for passed in (False, None):
            for finding in findings:
                if finding.passed is passed:
                    return finding
        return PASSED

    return evaluate


def _require_sense(params: Parameters) -> None:
    if not params:
        raise ParameterError("no parameter is set", "write `tool: NAME`, or `none: true`")
    if params.get("none") and len(params) > 1:
        raise ParameterError(
            "`none` cannot be combined with another parameter",
            "remove `none`, or remove the other parameters",
        )
    if params.get("none") is False and len(params) == 1:
        raise ParameterError(
            "`none: false` requires nothing", "write `none: true`, or `tool: NAME`"
        )
    for name, needed in _NEEDS.items():
        if name in params and needed not in params:
            raise ParameterError(f"`{name}` needs `{needed}`", f"add `{needed}`")
    if params.get("min") == 0 and "max" not in params:
        raise ParameterError("`min: 0` without `max` requires nothing", "write `max`, or remove it")
    require_range(params.get("min"), params.get("max"))


_NEEDS = {"arguments": "tool", "schema": "tool", "match": "order"}


def _requirements(params: Parameters, files: Files) -> list[_Requirement]:
    found: list[_Requirement] = []
    if params.get("none"):
        found.append(_none)
    if params.keys() & {"tool", "min", "max"}:
        tests = []
        if "arguments" in params:
            tests.append(_has_arguments(params["arguments"]))
        if "schema" in params:
            validate = json_schema.CHECK.prepare({"schema": params["schema"]}, files)
            tests.append(_conforms(validate))
        most = params.get("max")
        least = params.get("min", 1 if most is None else 0)
        found.append(_called(_Wanted(params.get("tool"), tests), least, most))
    if "order" in params:
        found.append(_in_order(params["order"], params.get("match", "in_order")))
    if "allowed" in params:
        allowed = params["allowed"]
        found.append(_only(frozenset(allowed)))
        if isinstance(allowed, Mapping):
            validators = {
                name: json_schema.CHECK.prepare({"schema": schema}, files)
                for name, schema in allowed.items()
            }
            found.append(_all_conform(validators))
    if "parallel" in params:
        found.append(_at_once(several=params["parallel"]))
    return found


def _none(_sample: Sample, calls: _Calls) -> Finding:
    return failed(f"expected no tool call; got {_names(calls)}") if calls else PASSED


def _at_once(*, several: bool) -> _Requirement:
    wanted = "several tool calls in one answer" if several else "at most one tool call in an answer"

    def requirement(sample: Sample, calls: _Calls) -> Finding:
        steps = Counter(answered.step for answered in trajectory(sample).calls)
        if (max(steps.values(), default=0) > 1) is several:
            return PASSED
        return failed(f"expected {wanted}; got {_names(calls)}")

    return requirement


def _only(allowed: frozenset[str]) -> _Requirement:
    def requirement(_sample: Sample, calls: _Calls) -> Finding:
        others = [call for call in calls if call.name not in allowed]
        return (
            failed(f"calls {_names(others)}, which the check does not allow") if others else PASSED
        )

    return requirement


def _all_conform(validators: Mapping[str, SampleEvaluator]) -> _Requirement:
    def requirement(sample: Sample, calls: _Calls) -> Finding:
        worst = PASSED
        for call in calls:
            if call.name not in validators:
                continue
            found = _conforms(validators[call.name])(sample, call)
            if found.passed:
                continue
            worst = replace(found, message=f"`{call.name}`: {found.message}")
            if found.passed is False:
                break
        return worst

    return requirement


def _in_order(names: Sequence[str], match: str) -> _Requirement:
    wanted = ", ".join(f"`{name}`" for name in names)
    expected = _ORDERS[match].format(wanted)

    def requirement(_sample: Sample, calls: _Calls) -> Finding:
        called = [call.name for call in calls]
        left = iter(called)
        same = {
            "exact": called == list(names),
            # Each name is looked for after the one before.
            "in_order": all(name in left for name in names),
            "any_order": Counter(names) <= Counter(called),
        }[match]
        return PASSED if same else failed(f"expected {expected}; got {_names(calls)}")

    return requirement


_ORDERS = {
    "in_order": "calls of {} in this order",
    "exact": "exactly the calls {} in this order",
    "any_order": "calls of {} in any order",
}


class _Wanted(NamedTuple):
    """Calls that are counted: of the tool, if it is named, and those that pass the tests."""

    tool: str | None
    tests: Sequence[Callable[[Sample, ToolCall], Finding]]

    def __str__(self) -> str:
        of = f" of `{self.tool}`" if self.tool else ""
        return of + (" with these arguments" if self.tests else "")

    def examine(self, sample: Sample, call: ToolCall) -> Finding:
        findings = (test(sample, call) for test in self.tests)
        return next((finding for finding in findings if not finding.passed), PASSED)


def _called(wanted: _Wanted, least: int, most: int | None) -> _Requirement:
    def requirement(sample: Sample, calls: _Calls) -> Finding:
        candidates = [call for call in calls if wanted.tool in (None, call.name)]
        findings = [wanted.examine(sample, call) for call in candidates]
        passing = sum(finding.passed is True for finding in findings)
        unclear = [finding for finding in findings if finding.passed is None]
        # Nobody knows which arguments a malformed call would have had.
        forbidden = passing + sum(
            not finding.passed and not isinstance(read_arguments(call), dict)
            for call, finding in zip(candidates, findings, strict=True)
        )
        if most is not None and forbidden > most:
            limit = f"at most {numbers.count(most, 'call')}" if most else "no call"
            return failed(f"expected {limit}{wanted}; got {forbidden}")
        if passing + len(unclear) < least > 1:
            return failed(
                f"expected at least {numbers.count(least, 'call')}{wanted}; got {passing}"
            )
        if passing < least and not candidates:
            said = "" if calls or not sample.output.strip() else f" and {quote(sample.output)}"
            return failed(f"expected a call{wanted}; got {_names(calls)}{said}")
        if passing < least or (most is not None and passing + len(unclear) > most):
            wrong = (unclear or findings)[0]
            return replace(wrong, message=f"`{wanted.tool}`: {wrong.message}")
        return PASSED

    return requirement


def _has_arguments(wanted: Parameters) -> Callable[[Sample, ToolCall], Finding]:
    def test(_sample: Sample, call: ToolCall) -> Finding:
        given = read_arguments(call)
        if isinstance(given, NotJson):
            return failed(f"the arguments of the call are {given.message}")
        if not isinstance(given, dict):
            return failed(f"the arguments of the call are not a mapping: {quote(given)}")
        for key, value in wanted.items():
            if key not in given:
                return failed(f"expected the argument `{key}`; got {quote(given)}")
            if not same_json(given[key], value):
                return failed(f"`{key}`: expected {quote(value)}; got {quote(given[key])}")
        return PASSED

    return test


def _conforms(validate: SampleEvaluator) -> Callable[[Sample, ToolCall], Finding]:
    def test(sample: Sample, call: ToolCall) -> Finding:
        return validate(replace(sample, output=_written(call)))

    return test


def read_arguments(call: ToolCall) -> Any | NotJson:
    """Return the arguments of a call, which should be a mapping."""
    return parse_json(_written(call))


def _written(call: ToolCall) -> str:
    """Return the arguments as JSON: some providers write nothing if there are none."""
    return call.arguments if call.arguments.strip() else "{}"


def _names(calls: _Calls) -> str:
    return numbers.some([quote(call.name, 60) for call in calls], _SHOWN) or "no tool call"


def calling(*calls: tuple[str, str]) -> Completion:
    """Return an answer of an example, with these calls."""
    return Completion("", tool_calls=tuple(ToolCall(*call) for call in calls))


_NAMES: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "minItems": 1}

CHECK = Check(
    parameters(
        tool={
            "type": "string",
            "minLength": 1,
            "description": "The name of the tool whose calls count.",
        },
        min={
            "x-looser": "down",
            "type": "integer",
            "minimum": 0,
            "description": (
                "How many calls there must be at least: by default 1, and 0 if `max` is set."
            ),
        },
        max={
            "x-looser": "up if written",
            "type": "integer",
            "minimum": 0,
            "description": "How many calls there may be at most. Without `tool`, all calls count.",
        },
        arguments={
            "type": "object",
            "description": "A mapping from names of arguments to the required values.",
        },
        schema={
            "type": ["object", "string", "boolean"],
            "description": "A JSON Schema for all arguments, or the path of a file with one.",
        },
        order={
            **_NAMES,
            "description": (
                "A list of tools that must be called in this order; other calls may come "
                "between them."
            ),
        },
        match={
            "enum": [*_ORDERS],
            "default": "in_order",
            "description": (
                "How `order` is compared: `in_order`, `any_order`, or `exact` if there may be no "
                "other call."
            ),
        },
        allowed={
            "type": ["array", "object"],
            "items": {"type": "string"},
            "minItems": 1,
            "minProperties": 1,
            "additionalProperties": {"type": ["object", "boolean"]},
            "description": (
                "A list of the tools that may be called, or a mapping from their names to"
                " JSON Schemas for their arguments."
            ),
        },
        parallel={
            "type": "boolean",
            "description": (
                "True if one answer must have several calls, false if each may have one at most."
            ),
        },
        none={
            "type": "boolean",
            "description": "True if no tool may be called.",
        },
    ),
    _prepare,
    paths=("schema",),
    group="tools",
    examples=(
        Example(
            '{type: tool_call, tool: get_weather, arguments: {city: "{{ city }}"}}',
            calling(("get_weather", '{"city": "Paris", "unit": "C"}')),
            calling(("get_weather", '{"city": "London"}')),
            vars={"city": "Paris"},
        ),
        Example(
            "{type: tool_call, tool: refund, schema: "
            "{required: [amount], properties: {amount: {type: number, maximum: 100}}}}",
            calling(("refund", '{"amount": 20}')),
            calling(("refund", '{"amount": 2000}')),
        ),
        Example(
            "{type: tool_call, order: [find_order, refund], match: exact}",
            calling(("find_order", '{"id": 7}'), ("refund", '{"id": 7}')),
            calling(("refund", '{"id": 7}'), ("find_order", '{"id": 7}')),
        ),
        Example(
            "{type: tool_call, tool: refund, max: 1}",
            calling(("refund", '{"id": 7}')),
            calling(("refund", '{"id": 7}'), ("refund", '{"id": 8}')),
        ),
        Example(
            "{type: tool_call, allowed: {refund: {required: [amount]}, stop: true}}",
            calling(("refund", '{"amount": 20}'), ("stop", "{}")),
            calling(("refund", '{"amount": 20}'), ("refund", "{}")),
        ),
        Example(
            "{type: tool_call, none: true}",
            "Which city do you mean?",
            calling(("get_weather", "{}")),
        ),
    ),
)
