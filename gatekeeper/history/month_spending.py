"""Sums the cost of the runs of a calendar month, in UTC, as far as the history has them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from gatekeeper.history.record import Record
from gatekeeper.providers.models.cost_estimate import FREE

WARNING_SHARE = 0.8
"""The share of the month's limit at which users get a warning."""


@dataclass(frozen=True, slots=True)
class MonthSpending:
    """The `usd` that are known, in US dollars, and how many records are `unpriced`: they cost
    something that is not known. The month ends at `ends`."""

    usd: float
    unpriced: int
    ends: datetime

    def reached(self, limit: float) -> float | None:
        """Return the share of the limit that is reached: 1, `WARNING_SHARE`, or None."""
        # Sums of prices are not exact; a limit of 0 is reached before anything is spent.
        for share in (1.0, WARNING_SHARE):
            if self.usd >= share * limit - 1e-9:
                return share
        return None


def month_spending(records: Iterable[Record], now: datetime) -> MonthSpending:
    """Add up the records of the calendar month in which `now` is."""
    now = now.astimezone(UTC)
    known, unpriced = [], 0
    for record in records:
        time = record.time.astimezone(UTC)
        if (time.year, time.month) != (now.year, now.month) or time > now:
            continue
        if record.model.startswith(FREE):
            continue  # what a recording says of its answers was paid when it was made
        if record.cost_usd is not None:
            known.append(record.cost_usd)
        elif record.calls:
            unpriced += 1
    return MonthSpending(math.fsum(known), unpriced, _next_month(now))


def _next_month(now: datetime) -> datetime:
    year, month = (now.year + 1, 1) if now.month == 12 else (now.year, now.month + 1)
    return datetime(year, month, 1, tzinfo=UTC)
