"""The output is a number in a range, or near an expected number.

A JSON number counts, and a text that is only a number, like `-12.5`. With `in_text`, the text may
have other words, but only one number: `in_text: point` reads 1,234.50, and `in_text: comma`
1.234,50. An apostrophe or no-break space may group digits, too.

The number may differ from `expected` by `absolute`, or by `relative` times `expected`, whichever is
larger.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

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
from gatekeeper.checks.reading.numbers_in_text import NotANumber, as_number, only_number_in
from gatekeeper.checks.reading.output import FIELD, on_output


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    low, high, expected = (_limit(params, name) for name in ("min", "max", "expected"))
    absolute, relative = (_limit(params, name) or Decimal(0) for name in ("absolute", "relative"))
    _require_sense(params, low, high)
    read = _reader(params)
    most = max(absolute, relative * abs(expected or Decimal(0)))

    def inspect(value: Any) -> Finding:
        number = read(value)
        if isinstance(number, NotANumber):
            return failed(f"expected a number; {number.message}")
        if low is not None and number < low:
            return failed(f"expected at least {_shown(low)}; got {_shown(number)}")
        if high is not None and number > high:
            return failed(f"expected at most {_shown(high)}; got {_shown(number)}")
        if expected is not None and abs(number - expected) > most:
            within = f" with a difference of at most {_shown(most)}" if most else ""
            apart = _shown(abs(number - expected))
            return failed(
                f"expected {_shown(expected)}{within}; got {_shown(number)}, "
                f"which differs by {apart}"
            )
        return PASSED

    return on_output(params, inspect)


def _reader(params: Parameters) -> Callable[[Any], Decimal | NotANumber]:
    style = params.get("in_text")
    return as_number if style is None else lambda value: only_number_in(value, style)


def _limit(params: Parameters, name: str) -> Decimal | None:
    if name not in params:
        return None
    number = as_number(params[name])
    if isinstance(number, NotANumber):
        raise ParameterError(f"{name}: {number.message}", "write a number such as 12.5")
    return number


def _require_sense(params: Parameters, low: Decimal | None, high: Decimal | None) -> None:
    if not {"min", "max", "expected"} & params.keys():
        raise ParameterError(
            "none of `min`, `max` and `expected` is set", "set `min`, `max` or `expected`"
        )
    require_range(low, high)
    for name in ("absolute", "relative"):
        if name in params and "expected" not in params:
            raise ParameterError(
                f"`{name}` needs `expected`",
                f"add `expected`, or use `min` and `max` instead of `{name}`",
            )
        if (_limit(params, name) or 0) < 0:
            raise ParameterError(f"`{name}` is below 0", "write 0 or more")


def _shown(number: Decimal) -> str:
    """Return the number with at most 12 digits, which no rounding turns into the limit."""
    text = f"{number:.12g}"
    if len(text) > 24:
        return f"{number:.6e}"
    return f"{number.normalize():f}" if Decimal(text) == number and abs(number) < 10**12 else text


_NUMBER = {"type": ["number", "string"]}

CHECK = Check(
    parameters(
        min={**_NUMBER, "x-looser": "down", "description": "The smallest number that passes."},
        max={**_NUMBER, "x-looser": "up", "description": "The largest number that passes."},
        expected={**_NUMBER, "x-looser": "change", "description": "The expected number."},
        absolute={
            "x-looser": "up",
            **_NUMBER,
            "default": 0,
            "description": "The largest difference from `expected` that passes, such as 0.01.",
        },
        relative={
            "x-looser": "up",
            **_NUMBER,
            "default": 0,
            "description": "The largest difference that passes, as a share of `expected`, such as "
            "0.05 for 5 %.",
        },
        in_text={
            "enum": ["point", "comma"],
            "description": (
                "The decimal separator, `point` or `comma`, of a number within a text, "
                "like `1,234.50 EUR` or `1.234,50 EUR`."
            ),
        },
        field=FIELD,
    ),
    _prepare,
    group="values",
    examples=(
        Example(
            '{type: number, field: total, expected: "{{ expected }}", relative: 0.01}',
            '{"total": 99.5}',
            '{"total": 101.5}',
            expected=100,
        ),
        Example(
            "{type: number, min: 0, max: 2000, in_text: point}",
            "The invoice is over 1,234.50 EUR.",
            "The invoice is over 12,345.00 EUR.",
        ),
        Example(
            '{type: number, field: "$.items[*].price", min: 0.01}',
            '{"items": [{"price": 3}, {"price": 4.5}]}',
            '{"items": [{"price": 3}, {"price": 0}]}',
        ),
    ),
)
