"""Adds up what the runs of the history cost, by calendar month (UTC) and model."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gatekeeper.gate.forecast.forecast import EarlierCalls
from gatekeeper.gate.results.parts import ModelUse, price_if_all_known
from gatekeeper.history.record import Record
from gatekeeper.providers.models.cost_estimate import FREE


@dataclass(frozen=True, slots=True)
class Cost:
    """What some records cost: `usd` is what is known of it, in US dollars; None if nothing is.

    `unpriced` records made calls at a price that is not known. `runs` counts records of the model,
    none for a model that was only a judge or a simulated user. Tokens are None if no record has
    them.
    """

    runs: int
    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    usd: float | None
    unpriced: int


def monthly_costs(records: Iterable[Record]) -> dict[str, dict[str, Cost]]:
    """Return the costs by month, such as `2026-11`, the latest first, and by model."""
    groups: dict[str, dict[str, list[Cost]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        for model, cost in _parts(record):
            groups[month_of(record.time)][model].append(cost)
    return {
        month: {model: total(mine) for model, mine in sorted(groups[month].items())}
        for month in sorted(groups, reverse=True)
    }


def cost_of(records: Iterable[Record]) -> Cost:
    """Add up the cost of the records. Models that cost nothing are known to cost nothing, whatever
    a recording says of its answers."""
    return total(map(_cost, records))


def _cost(record: Record) -> Cost:
    found = total(cost for _, cost in _parts(record))
    return replace(found, unpriced=min(found.unpriced, 1))


def _parts(record: Record) -> Iterator[tuple[str, Cost]]:
    """Yield what each model of a record cost, first its own, then its judges and simulated
    users."""
    own = record.calls, record.prompt_tokens, record.completion_tokens, record.cost_usd
    for runs, model, used in (
        (1, record.model, own),
        *((0, *each) for each in record.asked.items()),
    ):
        calls, prompt, completion, usd = used
        price = 0.0 if model.startswith(FREE) else usd
        yield model, Cost(runs, calls, prompt, completion, price, int(price is None and calls > 0))


def price_of(record: Record) -> float | None:
    """Return what the calls of a record cost in US dollars, also those to judges and simulated
    users; None if a part of it is not known."""
    return price_if_all_known(cost.usd for _, cost in _parts(record))


def earlier_calls(records: Iterable[Record]) -> dict[str, EarlierCalls]:
    """Return what calls took in the last run of each contract."""
    return {
        record.contract: EarlierCalls(
            {record.model: ModelUse(record.calls, None, record.completion_tokens, None)}
            if record.calls
            else {},
            {model: ModelUse(*used) for model, used in record.asked.items() if used.calls},
        )
        for record in records
    }


def month_of(time: datetime) -> str:
    """Return the calendar month of a time in UTC, such as `2026-11`."""
    day = time.astimezone(UTC)
    return f"{day.year}-{day.month:02}"


def total(costs: Iterable[Cost]) -> Cost:
    """Add up costs; what is not known of some is left out."""
    parts = list(costs)
    prompt = [part.prompt_tokens for part in parts if part.prompt_tokens is not None]
    completion = [part.completion_tokens for part in parts if part.completion_tokens is not None]
    known = [part.usd for part in parts if part.usd is not None]
    return Cost(
        sum(part.runs for part in parts),
        sum(part.calls for part in parts),
        sum(prompt) if prompt else None,
        sum(completion) if completion else None,
        math.fsum(known) if known else None,
        sum(part.unpriced for part in parts),
    )


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
    month = month_of(now)
    found = cost_of(r for r in records if month_of(r.time) == month and r.time <= now)
    return MonthSpending(found.usd or 0.0, found.unpriced, _next_month(now))


def _next_month(now: datetime) -> datetime:
    year, month = (now.year + 1, 1) if now.month == 12 else (now.year, now.month + 1)
    return datetime(year, month, 1, tzinfo=UTC)
