"""Formats numbers for people, with sensible precision and never rounded to a false 0 or 100 %."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal

from gatekeeper.stats.interval import ConfidenceInterval

_JOINED = "\u00a0"  # a number and its unit stay on one line
UNKNOWN = "unknown"
NONE = "–"
_SMALLEST_P = 0.0001
_TRACE = 0.0005
_SMALLEST_SIZE = 0.001
_ROUNDING = 1e-9
"""In points, of a difference of two shares that are equal but for their last binary digits."""

Unit = Literal["share", "ms", "usd", "tokens", "score", "agreement"]
"""The unit of an objective."""


@lru_cache(maxsize=4096)  # the site of a year writes the same shares a hundred thousand times
def percent(share: float | None) -> str:
    """Format a share: `0.975` as `97.5 %`. Rounds to 0 % or 100 % only what is exactly that."""
    if share is None or not math.isfinite(share):
        return NONE
    if 0 < share < _TRACE:
        return f"<{_JOINED}0.1{_JOINED}%"
    if 0.9995 <= share < 1:
        return f">{_JOINED}99.9{_JOINED}%"
    return f"{_short(share * 100)}{_JOINED}%"


def points(difference: float | None) -> str:
    """Format a difference of two shares in percentage points, with its sign."""
    if difference is None or not math.isfinite(difference):
        return NONE
    number = _signed(difference)
    return f"{number}{_JOINED}{'point' if number in ('+1', '−1') else 'points'}"


def size_in_points(effect: float) -> str:
    """Format the size of a difference in percentage points, without a sign. Only what is 0 is shown
    as 0: `0.03 points`."""
    size = abs(effect) * 100
    number = _short(size)
    if number == "0" and size > _ROUNDING:
        number = f"{size:.1g}" if size >= _SMALLEST_SIZE else f"<{_JOINED}{_SMALLEST_SIZE}"
    return f"{number}{_JOINED}{'point' if number == '1' else 'points'}"


def percent_interval(interval: ConfidenceInterval | None) -> str:
    """Format an interval of shares: `91.2 % – 98.4 %`, empty if there is none."""
    return "" if interval is None else f"{percent(interval.low)} – {percent(interval.high)}"


def points_interval(interval: ConfidenceInterval | None) -> str:
    """Format an interval of differences: `[−29.1, −8.2]`, empty if there is none."""
    if interval is None or not all(map(math.isfinite, (interval.low, interval.high))):
        return ""
    return f"[{_signed(interval.low)},{_JOINED}{_signed(interval.high)}]"


def change(share: float | None) -> str:
    """Format a relative change: 3.3 as `+330 %`."""
    if share is None or not math.isfinite(share):
        return NONE
    return f"{_signed(share)}{_JOINED}%"


def rise(share: float) -> str:
    """Write by how much something rose, without a sign: `330 %`, and `< 0.1 %` for a trace."""
    return percent(share) if share < _TRACE else change(share).removeprefix("+")


def change_interval(interval: ConfidenceInterval | None) -> str:
    """Format an interval of relative changes: `[+318, +341]`, empty if there is none."""
    return points_interval(interval)


def p_value(
    p: float | None, alpha: float | None = None, *, at_most: bool = False, equals: str = "= "
) -> str:
    """Format a p-value: `= 0.031` or `< 0.0001`, with enough digits to lie on the right side of
    alpha.

    A value just above alpha is `> 0.05`: the sequential test knows no more of a result that is not
    significant. With `at_most` the value is a bound: `≤ 0.031`. A table whose heading says that it
    is p has no use for `equals`.
    """
    if p is None or not math.isfinite(p):
        return NONE
    if p < _SMALLEST_P:
        return f"< {_SMALLEST_P}"
    digits = 2 if p >= 0.1 else 3 if p >= 0.01 else 4
    while alpha is not None and digits < 9 and (round(p, digits) <= alpha) != (p <= alpha):
        digits += 1
    number = f"{p:.{digits}f}"
    if alpha is not None and not at_most and p > alpha and float(number) <= alpha:
        return f"> {alpha:g}"
    sign = "≤ " if at_most else equals
    return f"{sign}1" if float(number) == 1 else f"{sign}{number}"


def dollars(amount: float | None) -> str:
    """Format a cost in US dollars; `unknown` if a price is not known."""
    if amount is None or not math.isfinite(amount):
        return UNKNOWN
    if amount == 0:
        return "0 USD"
    if abs(amount) >= 1:
        return f"{amount:,.2f} USD"
    # Two significant digits: a call may cost millionths of a dollar.
    digits = min(12, 1 - math.floor(math.log10(abs(amount))))
    return f"{amount:.{max(digits, 2)}f} USD"


def plain_amount(amount: float) -> str:
    """Write an amount for programs: `0.00087`, with at most twelve decimals and no exponent."""
    return f"{amount:.12f}".rstrip("0").rstrip(".")


def milliseconds(latency: float | None) -> str:
    """Write a latency: `4,211 ms`, and `0.3 ms` below ten."""
    if latency is None or not math.isfinite(latency):
        return NONE
    return f"{latency:,.0f} ms" if latency >= 10 else f"{_short(latency)} ms"


def tokens(number: float | None) -> str:
    """Write a number of tokens, or a mean of such numbers, as a whole number: `1,204`."""
    return NONE if number is None or not math.isfinite(number) else f"{number:,.0f}"


def score(value: float | None) -> str:
    """Write a score from 0 to 1 with at most three decimals: `0.85`."""
    return NONE if value is None or not math.isfinite(value) else f"{round(value, 3):g}"


def signed_score(difference: float) -> str:
    """Write a difference of two scores with its sign: `−0.13`."""
    return f"{'−' if difference < 0 else '+'}{score(abs(difference))}"


def amount(value: float | None, unit: Unit) -> str:
    """Write a value in the unit of what an objective measures."""
    write: dict[Unit, Callable[[float | None], str]] = {
        "share": percent,
        "ms": milliseconds,
        "usd": dollars,
        "tokens": tokens,
        "score": score,
        "agreement": percent,
    }
    return write[unit](value)


def transition(before: float, after: float, unit: Unit) -> str:
    """Write what an amount was and what it is now, with its unit once: `0.0010 → 0.0043 USD`."""
    suffix = {"usd": " USD", "ms": " ms"}.get(unit, "")
    return f"{amount(before, unit).removesuffix(suffix)} → {amount(after, unit)}"


def duration(seconds: float) -> str:
    """Write how long something took: `0.2 s`, `42 s`, `2 min 5 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{_short(seconds)} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def moment(time: datetime) -> str:
    """Format a time to the minute, in UTC if the zone is known."""
    if time.tzinfo is None:
        return f"{time:%Y-%m-%d %H:%M}"
    return f"{time.astimezone(UTC).isoformat(' ')[:16]} UTC"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Format a count with its noun: `1 fixture`, `3,000 fixtures`."""
    word = noun if number == 1 else plural or f"{noun}s"
    return f"{number:,} {word}"


def some(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """Name the first of them, and count the others: `a, b, c and 2 more`."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return separator.join(names[:most]) + more


def lines(numbers: Sequence[int]) -> str:
    """Name lines by their numbers: `line 3`, `lines 3, 4`; "" for none."""
    listed = ", ".join(map(str, numbers))
    return listed and f"line{'s' if len(numbers) > 1 else ''} {listed}"


def number(value: float) -> str:
    """Format a count that need not be whole, such as what is left of an error budget."""
    return _short(value)


def _signed(share: float) -> str:
    short = _short(abs(share) * 100)
    if short == "0":
        return "0"
    return f"{'−' if share < 0 else '+'}{short}"


def _short(value: float) -> str:
    """Format with one decimal at most, and none from 1,000 on: `20,280`, `12.5`."""
    text = f"{value:,.0f}" if abs(value) >= 999.95 else f"{value:,.1f}".removesuffix(".0")
    return "0" if text == "-0" else text.replace("-", "−")
