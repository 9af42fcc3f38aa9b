"""Adds up what the runs of the history cost, by calendar month (UTC) and model."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from gatekeeper.history.record import Record
from gatekeeper.providers.models.cost_estimate import FREE


@dataclass(frozen=True, slots=True)
class Cost:
    """What some records cost: `usd` is what is known of it, in US dollars; None if nothing is.

    `unpriced` records made calls at a price that is not known. `runs` counts records. Tokens are
    None if no record has them.
    """

    runs: int
    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    usd: float | None
    unpriced: int


def monthly_costs(records: Iterable[Record]) -> dict[str, dict[str, Cost]]:
    """Return the costs by month, such as `2026-11`, the latest first, and by model."""
    groups: dict[str, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        groups[month_of(record.time)][record.model].append(record)
    return {
        month: {model: cost_of(mine) for model, mine in sorted(groups[month].items())}
        for month in sorted(groups, reverse=True)
    }


def cost_of(records: Iterable[Record]) -> Cost:
    """Add up the cost of the records. Models that cost nothing are known to cost nothing, whatever
    a recording says of its answers."""
    runs = calls = unpriced = 0
    known: list[float] = []
    prompt: list[int] = []
    completion: list[int] = []
    for record in records:
        runs += 1
        calls += record.calls
        if record.prompt_tokens is not None:
            prompt.append(record.prompt_tokens)
        if record.completion_tokens is not None:
            completion.append(record.completion_tokens)
        price = price_of(record)
        if price is not None:
            known.append(price)
        elif record.calls:
            unpriced += 1
    return Cost(
        runs,
        calls,
        sum(prompt) if prompt else None,
        sum(completion) if completion else None,
        math.fsum(known) if known else None,
        unpriced,
    )


def price_of(record: Record) -> float | None:
    """Return what the calls of a record cost in US dollars; None if it is not known."""
    return 0.0 if record.model.startswith(FREE) else record.cost_usd


def month_of(time: datetime) -> str:
    """Return the calendar month of a time in UTC, such as `2026-11`."""
    day = time.astimezone(UTC)
    return f"{day.year}-{day.month:02}"


def total(costs: Iterable[Cost]) -> Cost:
    """Add up costs that are added up already."""
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
