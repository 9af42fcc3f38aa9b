"""After each error of a tool, a later call succeeds, and the model still gives an answer.

Without an error, the check passes. To require that a tool is called, add [tool_call](#tool_call).
"""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper.checks.check import (
    PASSED,
    Check,
    Example,
    Files,
    Finding,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
)
from gatekeeper.checks.reading.output import quote
from gatekeeper.contract.calls.trajectory import AnsweredCall, trajectory
from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.trial import Completion, Sample, ToolResult, Turn


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    same_tool = params.get("by", "same_tool") == "same_tool"

    def evaluate(sample: Sample) -> Finding:
        found = trajectory(sample)
        errors = [one for one in found.calls if one.result and one.result.is_error]
        for error in errors:
            if not _succeeds_later(error, found.calls, same_tool=same_tool):
                tool = quote(error.call.name, 60)
                of = f" of {tool}" if same_tool else ""
                said = quote(error.result.text) if error.result else ""
                return failed(
                    f"expected a later call{of} to succeed; in step {error.step + 1}, {tool} "
                    f"answered {said}"
                )
        if errors and found.ended != "answered":
            return failed("expected an answer after the error of a tool; the model gave none")
        return PASSED

    return evaluate


def _succeeds_later(error: AnsweredCall, calls: Sequence[AnsweredCall], *, same_tool: bool) -> bool:
    return any(
        one.step > error.step
        and one.result is not None
        and not one.result.is_error
        and (not same_tool or one.call.name == error.call.name)
        for one in calls
    )


def _after(*results: ToolResult) -> Completion:
    call = (ToolCall("find_order", "{}"),)
    calling = (Turn("", Completion("", tool_calls=call), (result,)) for result in results)
    last = Completion("It arrives on Friday.")
    return Completion(last.text, turns=(*calling, Turn("", last)))


_ERROR = ToolResult("timeout", is_error=True)

CHECK = Check(
    parameters(
        by={
            "enum": ["same_tool", "any_tool"],
            "default": "same_tool",
            "description": "Which later call counts: one of the `same_tool`, or of `any_tool`.",
        },
    ),
    _prepare,
    group="tools",
    examples=(
        Example("{type: recovers_from_error}", _after(_ERROR, ToolResult("ok")), _after(_ERROR)),
    ),
)
