"""The answer calls the required tools, with the required arguments and in the required order, or
calls no tool.

All parameters that you set must hold. With `tool` and `arguments` or `schema`, one call of the tool
must have these arguments; arguments that you do not name may be anything. If `allowed` is a
mapping, the arguments of every call must be valid under the JSON Schema for its tool. Malformed or
cut-off arguments never pass. An answer with calls needs no text.

The model can only call what [`params.tools`](models.md#tool-calls) offers. For several calls, write
several checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

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
)
from gatekeeper.checks.reading.output import NotJson, parse_json, quote, same_json
from gatekeeper.checks.values import json_schema
from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.trial import Completion, Sample

_SHOWN = 5

_Calls = Sequence[ToolCall]
_Requirement = Callable[[Sample, _Calls], Finding]


def _prepare(params: Parameters, files: Files) -> SampleEvaluator:
    _require_sense(params)
    requirements = list(_requirements(params, files))

    def evaluate(sample: Sample) -> Finding:
        calls = sample.completion.tool_calls if sample.completion else ()
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
    for name in ("arguments", "schema"):
        if name in params and "tool" not in params:
            raise ParameterError(f"`{name}` needs `tool`", "name the tool in `tool`")


def _requirements(params: Parameters, files: Files) -> list[_Requirement]:
    found: list[_Requirement] = []
    if params.get("none"):
        found.append(_none)
    if "tool" in params:
        tests = []
        if "arguments" in params:
            tests.append(_has_arguments(params["arguments"]))
        if "schema" in params:
            validate = json_schema.CHECK.prepare({"schema": params["schema"]}, files)
            tests.append(_conforms(validate))
        found.append(_called(params["tool"], tests))
    if "order" in params:
        found.append(_in_order(params["order"]))
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
        found.append(_parallel if params["parallel"] else _at_most_one)
    return found


def _none(_sample: Sample, calls: _Calls) -> Finding:
    return failed(f"expected no tool call; got {_names(calls)}") if calls else PASSED


def _parallel(_sample: Sample, calls: _Calls) -> Finding:
    if len(calls) > 1:
        return PASSED
    return failed(f"expected several tool calls in one answer; got {_names(calls)}")


def _at_most_one(_sample: Sample, calls: _Calls) -> Finding:
    if len(calls) < 2:
        return PASSED
    return failed(f"expected at most one tool call in an answer; got {_names(calls)}")


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


def _in_order(names: Sequence[str]) -> _Requirement:
    def requirement(_sample: Sample, calls: _Calls) -> Finding:
        left = iter(call.name for call in calls)
        # Each name is looked for after the one before.
        if all(name in left for name in names):
            return PASSED
        wanted = ", ".join(f"`{name}`" for name in names)
        return failed(f"expected calls of {wanted} in this order; got {_names(calls)}")

    return requirement


def _called(name: str, tests: Sequence[Callable[[Sample, ToolCall], Finding]]) -> _Requirement:
    def requirement(sample: Sample, calls: _Calls) -> Finding:
        candidates = [call for call in calls if call.name == name]
        if not candidates:
            said = "" if calls or not sample.output.strip() else f" and {quote(sample.output)}"
            return failed(f"expected a call of `{name}`; got {_names(calls)}{said}")
        worst = PASSED
        for call in candidates:
            findings = [test(sample, call) for test in tests]
            wrong = next((finding for finding in findings if not finding.passed), None)
            if wrong is None:
                return PASSED
            # A call that could not be examined may be the right one.
            worst = wrong if worst.passed or wrong.passed is None else worst
        return replace(worst, message=f"`{name}`: {worst.message}")

    return requirement


def _has_arguments(wanted: Parameters) -> Callable[[Sample, ToolCall], Finding]:
    def test(_sample: Sample, call: ToolCall) -> Finding:
        given = parse_json(_written(call))
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


def _written(call: ToolCall) -> str:
    """Return the arguments as JSON: some providers write nothing if there are none."""
    return call.arguments if call.arguments.strip() else "{}"


def _names(calls: _Calls) -> str:
    return numbers.some([quote(call.name, 60) for call in calls], _SHOWN) or "no tool call"


def _answer(*calls: tuple[str, str]) -> Completion:
    return Completion("", tool_calls=tuple(ToolCall(*call) for call in calls))


_NAMES: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "minItems": 1}

CHECK = Check(
    parameters(
        tool={
            "type": "string",
            "minLength": 1,
            "description": "The name of a tool that must be called.",
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
            "description": "True if several calls are required, false if at most one is allowed.",
        },
        none={
            "type": "boolean",
            "description": "True if the answer must not contain a tool call.",
        },
    ),
    _prepare,
    paths=("schema",),
    group="tools",
    examples=(
        Example(
            '{type: tool_call, tool: get_weather, arguments: {city: "{{ city }}"}}',
            _answer(("get_weather", '{"city": "Paris", "unit": "C"}')),
            _answer(("get_weather", '{"city": "London"}')),
            vars={"city": "Paris"},
        ),
        Example(
            "{type: tool_call, tool: refund, schema: "
            "{required: [amount], properties: {amount: {type: number, maximum: 100}}}}",
            _answer(("refund", '{"amount": 20}')),
            _answer(("refund", '{"amount": 2000}')),
        ),
        Example(
            "{type: tool_call, order: [find_order, refund], allowed: [find_order, refund]}",
            _answer(("find_order", '{"id": 7}'), ("refund", '{"id": 7}')),
            _answer(("refund", '{"id": 7}'), ("find_order", '{"id": 7}')),
        ),
        Example(
            "{type: tool_call, allowed: {refund: {required: [amount]}, stop: true}}",
            _answer(("refund", '{"amount": 20}'), ("stop", "{}")),
            _answer(("refund", '{"amount": 20}'), ("refund", "{}")),
        ),
        Example(
            "{type: tool_call, none: true}",
            "Which city do you mean?",
            _answer(("get_weather", "{}")),
        ),
    ),
)
