"""The length of the output is within these limits.

Set `min`, `max` or both. Characters are Unicode code points, without white space around the output.
Words are separated by white space. Tokens are the number that the provider reported for the answer;
if it reported none, the check is undetermined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
    undetermined,
)
from gatekeeper.contract.trial import Completion, Sample


def _characters(sample: Sample) -> int:
    return len(sample.output.strip())


def _words(sample: Sample) -> int:
    return len(sample.output.split())


def _tokens(sample: Sample) -> int | None:
    return sample.completion.completion_tokens if sample.completion else None


_COUNTS: Mapping[str, Callable[[Sample], int | None]] = {
    "characters": _characters,
    "words": _words,
    "tokens": _tokens,
}


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    low, high = params.get("min"), params.get("max")
    _require_range(low, high)
    unit = params.get("unit", "characters")
    count = _COUNTS[unit]

    def evaluate(sample: Sample) -> Finding:
        counted = count(sample)
        if counted is None:
            return undetermined(f"the provider did not report the number of {unit}")
        if low is not None and counted < low:
            return failed(f"expected at least {low} {unit}; got {counted}")
        if high is not None and counted > high:
            return failed(f"expected at most {high} {unit}; got {counted}")
        return PASSED

    return evaluate


def _require_range(low: int | None, high: int | None) -> None:
    if low is None and high is None:
        raise ParameterError("neither `min` nor `max` is set", "set one of them or both")
    if low is not None and high is not None and low > high:
        raise ParameterError(f"`min` {low} is more than `max` {high}", "swap them")


CHECK = Check(
    parameters(
        min={"type": "integer", "minimum": 0, "description": "A whole number, 0 or more."},
        max={"type": "integer", "minimum": 0, "description": "A whole number, 0 or more."},
        unit={
            "enum": list(_COUNTS),
            "default": "characters",
            "description": "The unit of `min` and `max`: characters, words or tokens.",
        },
    ),
    _prepare,
    group="measures",
    examples=(
        Example("{type: length, max: 20}", "Refund for A-17", "Refund for the order A-17"),
        Example("{type: length, min: 1, max: 3, unit: words}", "very good", "it is very good"),
        Example(
            "{type: length, max: 16, unit: tokens}",
            Completion("Yes.", completion_tokens=2),
            Completion("Yes, and more.", completion_tokens=17),
        ),
    ),
)
