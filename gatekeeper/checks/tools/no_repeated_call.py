"""The model does not repeat a call that gets the same answer again, as one caught in a loop does.

Calls of one tool with equal arguments are the same. A repetition that gets another answer, such as
one after an error or a change of the state, does not count.
"""

from __future__ import annotations

from collections import Counter

from gatekeeper import numbers
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
from gatekeeper.checks.reading.canonical_json import canonical_json
from gatekeeper.checks.reading.output import NotJson, quote
from gatekeeper.checks.tools.tool_call import calling, read_arguments
from gatekeeper.contract.calls.trajectory import AnsweredCall, trajectory
from gatekeeper.contract.values.trial import Sample


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    most = params.get("max", 1)

    def evaluate(sample: Sample) -> Finding:
        counted = Counter(map(_same, trajectory(sample).calls))
        for (name, arguments, _), times in counted.most_common(1):
            if times > most:
                return failed(
                    f"expected the same call at most {numbers.count(most, 'time')}; got "
                    f"{quote(name)} with {quote(arguments)} and the same answer {times} times"
                )
        return PASSED

    return evaluate


def _same(answered: AnsweredCall) -> tuple[str, str, str | None]:
    """Return what is equal for calls that are the same and get the same answer."""
    call, result = answered.call, answered.result
    given = read_arguments(call)
    arguments = call.arguments if isinstance(given, NotJson) else canonical_json(given)
    return call.name, arguments, result.text if result else None


CHECK = Check(
    parameters(
        max={
            "x-looser": "up",
            "type": "integer",
            "minimum": 1,
            "default": 1,
            "description": "How often the same call may get the same answer.",
        },
    ),
    _prepare,
    group="tools",
    examples=(
        Example(
            "{type: no_repeated_call}",
            calling(("find_order", '{"id": 7}'), ("find_order", '{"id": 8}')),
            calling(("find_order", '{"id": 7}'), ("find_order", '{"id": 7}')),
        ),
    ),
)
