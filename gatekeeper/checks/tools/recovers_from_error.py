"""After each error of a tool, a later call succeeds.

Without an error, the check passes. To require that a tool is called, add [tool_call](#tool_call).
"""

from __future__ import annotations

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
from gatekeeper.contract.calls.trajectory import trajectory
from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.trial import Completion, Sample, ToolResult, Turn


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    same_tool = params.get("by", "same_tool") == "same_tool"

    def evaluate(sample: Sample) -> Finding:
        found = trajectory(sample)
        done = [(one, one.result) for one in found.calls if one.result is not None]
        for error, result in done:
            later = [
                one
                for one, got in done
                if one.step > error.step
                and not got.is_error
                and (not same_tool or one.call.name == error.call.name)
            ]
            if result.is_error and not later:
                tool = quote(error.call.name, 60)
                return failed(
                    f"expected a later call{f' of {tool}' if same_tool else ''} to succeed; in "
                    f"step {error.step + 1}, {tool} answered {quote(result.text)}"
                )
        return PASSED

    return evaluate


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
