"""Decides whether an objective is met, missed or open, and parses its window."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import Literal

Better = Literal["higher", "lower"]

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def decide(
    observed: float | None,
    low: float | None,
    high: float | None,
    target: float,
    better: Better,
) -> bool | None:
    """Decide whether an objective is met, by the interval `[low, high]` of the observed value.

    True when the interval's bad end still meets the target, False when its good end misses
    it, None while it straddles. An end that is not known (too few samples) decides nothing,
    and neither does an interval around nothing observed.
    """
    for name, value in {"observed": observed, "low": low, "high": high, "target": target}.items():
        if value is not None and math.isnan(value):
            raise ValueError(f"{name}: must be a number, got NaN")
    if low is not None and high is not None and low > high:
        raise ValueError(f"low: must not exceed `high` = {high}, got {low}")
    if better not in ("higher", "lower"):
        raise ValueError(f"better: must be 'higher' or 'lower', got {better!r}")
    if observed is None:
        return None
    bad, good = (low, high) if better == "higher" else (high, low)
    if bad is not None and _meets(bad, target, better):
        return True
    if good is not None and not _meets(good, target, better):
        return False
    return None


def parse_window(text: str) -> timedelta:
    """Parse `28d`, `12h` or `4w` as a duration.

    The number has five digits at most, so that a window never reaches back beyond the calendar.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,4})([hdw])", text)
    if match is None:
        raise ValueError(
            f"window: must be a whole number followed by h, d or w, such as 28d; got {text!r}"
        )
    return int(match[1]) * _UNITS[match[2]]


def _meets(value: float, target: float, better: Better) -> bool:
    return value >= target if better == "higher" else value <= target
