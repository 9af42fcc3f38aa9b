"""The length of the output, or of one field of it, is at least `min` and at most `max`.

Set `min`, `max` or both. White space around the output does not count. Words are separated by white
space; Chinese, Japanese, Thai, Lao, Khmer and Burmese need the [extra `text`](#limits). `unit:
tokens` counts the tokens that the provider reported, and cannot have a `field`. For items of a
list, use [count](#count).
"""

from __future__ import annotations

from collections.abc import Callable

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
    undetermined,
)
from gatekeeper.checks.reading.output import FIELD, as_text, on_output
from gatekeeper.checks.text.words import spaced_words
from gatekeeper.contract.values.trial import Completion, Sample


def _characters(text: str) -> int:
    return len(text.strip())


def _words(text: str) -> int:
    return len(spaced_words(text, "length"))


_COUNTS = {"characters": _characters, "words": _words}
_TOKENS = "tokens"


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    low, high = params.get("min"), params.get("max")
    _require_range(low, high)
    unit = params.get("unit", "characters")

    def compare(counted: int) -> Finding:
        if low is not None and counted < low:
            return failed(f"expected at least {low} {unit}; got {counted}")
        if high is not None and counted > high:
            return failed(f"expected at most {high} {unit}; got {counted}")
        return PASSED

    if unit != _TOKENS:
        return on_output(params, lambda part: _counted(as_text(part), unit, compare))
    if "field" in params:
        what = "gatekeeper cannot count the tokens of a `field`"
        raise ParameterError(what, "use another `unit`, or remove `field`")

    def evaluate(sample: Sample) -> Finding:
        counted = sample.completion.completion_tokens if sample.completion else None
        if counted is None:
            return undetermined("the provider did not report the number of tokens")
        return compare(counted)

    return evaluate


def _counted(text: str, unit: str, compare: Callable[[int], Finding]) -> Finding:
    try:
        return compare(_COUNTS[unit](text))
    except ParameterError as missing:
        return undetermined(str(missing))


def _require_range(low: int | None, high: int | None) -> None:
    if low is None and high is None:
        raise ParameterError("neither `min` nor `max` is set", "set `min`, `max` or both")
    require_range(low, high)


CHECK = Check(
    parameters(
        min={
            "x-looser": "down",
            "type": "integer",
            "minimum": 0,
            "description": "The smallest length that passes.",
        },
        max={
            "x-looser": "up",
            "type": "integer",
            "minimum": 0,
            "description": "The largest length that passes.",
        },
        unit={
            "enum": [*_COUNTS, _TOKENS],
            "default": "characters",
            "description": "The unit of `min` and `max`: characters, words or tokens.",
        },
        field=FIELD,
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
        Example(
            "{type: length, field: title, max: 20}",
            '{"title": "Refund for A-17", "body": "Your refund is on its way."}',
            '{"title": "Refund for the order A-17"}',
        ),
    ),
)
