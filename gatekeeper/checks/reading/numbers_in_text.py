"""Reads numbers: those of JSON, and those that people write in text, such as `1,234.50 EUR`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from gatekeeper.checks.reading.output import quote

Style = Literal["point", "comma"]

_LONGEST = 400
"""Characters of a number."""
_LARGEST = Decimal("1e300")
_PLAIN = re.compile(r"[+-]?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,3})?", re.ASCII)

# A run of digits and what may stand between them or before them. The sign counts only if no part
# of a number stands before it: `10-20` holds two numbers.
_RUN = re.compile(r"(?:(?<![0-9.,'’)\]-])[+\-−])?[.,]?[0-9](?:[0-9.,'’\u00a0\u202f]*[0-9])?")
_AFTER_A_WORD = re.compile(r"[^\W\d_][-−]")
_SPACES = "\u00a0\u202f"
_GROUPED = {
    style: re.compile(
        rf"[+-]?(?:\d+|\d{{1,3}}(?P<by>[{group}])\d{{3}}(?:(?P=by)\d{{3}})*)"
        rf"(?:{point}\d+)?",
        re.ASCII,
    )
    for style, group, point in (
        ("point", f",'’{_SPACES}", r"\."),
        ("comma", f".'’{_SPACES}", ","),
    )
}


@dataclass(frozen=True, slots=True)
class NotANumber:
    """Why a value is not a number."""

    message: str


def as_number(value: Any) -> Decimal | NotANumber:
    """Return a number of JSON, or text that is nothing else than one, like ` -12.5 `. True and
    false are not numbers."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _bounded(str(value), value)
    if isinstance(value, str) and len(value) <= _LONGEST and _PLAIN.fullmatch(value.strip()):
        return _bounded(value.strip(), value)
    return NotANumber(f"{quote(value)} is not a number")


def only_number_in(value: Any, style: Style) -> Decimal | NotANumber:
    """Return the only number that is written in a text: `point` reads 1,234.50 and `comma` reads
    1.234,50. Digits may be grouped by threes, also with an apostrophe or a no-break space."""
    if not isinstance(value, str):
        return as_number(value)
    found = [run for run, _ in zip(_RUN.finditer(value), range(4), strict=False)]
    runs = [run.group() for run in found]
    if not runs:
        return NotANumber(f"{quote(value)} has no number")
    if len(runs) > 1:
        shown = ", ".join(runs[:3]) + (", …" if len(runs) > 3 else "")
        return NotANumber(f"the text has more than one number: {quote(shown)}")
    if _AFTER_A_WORD.match(value, max(0, found[0].start() - 1)):
        return NotANumber(
            f"the hyphen before {quote(runs[0].lstrip('-−'))} can be a minus sign or a dash"
        )
    run = runs[0].replace("−", "-")
    if len(run) > _LONGEST or not _GROUPED[style].fullmatch(run):
        form = "1,234.50" if style == "point" else "1.234,50"
        return NotANumber(f"{quote(run)} does not have the form {form}")
    group, point = (",", ".") if style == "point" else (".", ",")
    plain = re.sub(rf"['’{_SPACES}]", "", run.replace(group, "")).replace(point, ".")
    return _bounded(plain, value)


def _bounded(digits: str, value: Any) -> Decimal | NotANumber:
    try:
        number = Decimal(digits)
    except InvalidOperation:
        return NotANumber(f"{quote(value)} is not a number")
    if not number.is_finite() or abs(number) > _LARGEST:
        return NotANumber(f"{quote(value)} is out of range")
    return number
