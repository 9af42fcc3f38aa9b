"""Draws the pass rates of the last nights as a line of text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gatekeeper import numbers
from gatekeeper.gate.results.result import PastRun

NIGHTS = 30
_BARS = "▁▂▃▄▅▆▇█"
_NO_RUN = "·"
_LEAST_SPAN = 0.1
"""The rates that the heights of the bars cover at least, so that chance does not look like a
change."""


def last_nights(past: Sequence[PastRun], now: datetime) -> str:
    """Return a bar for each of the last days, by the share of samples that passed on the default
    branch, with the lowest and the highest share; empty for fewer than two days with a run."""
    days: dict[int, list[int]] = {}
    for run in past:
        ago = (now.date() - run.time.date()).days
        if 0 <= ago < NIGHTS and run.samples:
            totals = days.setdefault(ago, [0, 0])
            totals[0] += run.failed
            totals[1] += run.samples
    rates = {ago: 1 - failed / samples for ago, (failed, samples) in days.items()}
    if len(rates) < 2:
        return ""
    low, high = min(rates.values()), max(rates.values())
    bottom = min(low, max(0.0, high - _LEAST_SPAN))
    bars = "".join(
        _NO_RUN if ago not in rates else _bar(rates[ago], bottom, max(high, bottom + _LEAST_SPAN))
        for ago in range(max(rates), -1, -1)
    )
    between = f"{numbers.percent(low)} to {numbers.percent(high)}"
    return f"`{bars}` {between} passed, {numbers.percent(rates[min(rates)])} at last"


def _bar(rate: float, bottom: float, top: float) -> str:
    return _BARS[round((rate - bottom) / (top - bottom) * (len(_BARS) - 1))]
