"""Prices by the hour of the day, which DeepSeek has: the price list names the cheaper hours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, time
from types import MappingProxyType
from typing import Any

_NONE: Mapping[str, Any] = MappingProxyType({})


def off_peak_prices(entry: Mapping[str, Any], moment: datetime) -> Mapping[str, Any]:
    """Return the prices that replace a model's usual ones at the moment; none outside those hours.

    Args:
        entry: The model's entry in the price list.
        moment: When the call is billed, with a time zone.
    """
    block = entry.get("off_peak_pricing")
    if not isinstance(block, Mapping):
        return _NONE
    now = moment.astimezone(UTC)
    return block if any(_contains(window, now.time()) for window in _windows(block, now)) else _NONE


def knows_off_peak(entry: Mapping[str, Any]) -> bool:
    """Return whether the hours have a known form: in UTC, by numbered weekdays."""
    block = entry.get("off_peak_pricing")
    return block is None or (isinstance(block, Mapping) and "weekday_timezone" not in block)


def _windows(block: Mapping[str, Any], now: datetime) -> Iterator[str]:
    """Return the hours of the day, such as `16:30-00:30`."""
    rules = [{"hours_utc": block.get("hours_utc")}, *(block.get("windows") or ())]
    for rule in rules:
        hours, days = rule.get("hours_utc"), rule.get("weekdays")
        if days is None or now.isoweekday() in days:
            yield from ([hours] if isinstance(hours, str) else hours or ())


def _contains(window: str, now: time) -> bool:
    """Return whether the hours include the time. They may go past midnight; equal ends are the
    whole day."""
    start, end = (time.fromisoformat(part.strip()) for part in window.split("-"))
    return start <= now < end if start < end else now >= start or now < end
