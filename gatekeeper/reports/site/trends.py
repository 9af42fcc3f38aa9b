"""Values over the runs of a contract, for its charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from gatekeeper.contract.objectives import Objective
from gatekeeper.history.drift import ContractDrift
from gatekeeper.history.record import Count, Record
from gatekeeper.stats.objective import parse_window


def budget_left(
    records: Sequence[Record], counted: Sequence[Mapping[str, Count]], objective: Objective
) -> list[float | None]:
    """Return the share of the error budget that was left after each run; below 0 if overspent.

    The values are those of `stats.error_budget`, for all runs in one pass. None if the window had
    no event, or the objective allows no failure. `records` are oldest first; `counted` are their
    `objective_counts`.
    """
    good = objective.good_share
    if good is None or good >= 1:
        return [None] * len(records)
    allowed, length = float(1 - good), parse_window(objective.window)
    counts = [count.get(objective.name, (0, 0)) for count in counted]
    left: list[float | None] = []
    events = failed = oldest = 0
    for number, record in enumerate(records):
        events += counts[number][0]
        failed += counts[number][1]
        while records[oldest].time <= record.time - length:
            events -= counts[oldest][0]
            failed -= counts[oldest][1]
            oldest += 1
        left.append(1 - failed / (allowed * events) if events else None)
    return left


def changes(records: Sequence[Record]) -> list[int]:
    """Return the numbers of the runs whose prompt, contract or model is not that of the run
    before."""
    keys = [(r.prompt_digest, r.contract_digest, r.model) for r in records]
    return [at for at in range(1, len(keys)) if keys[at] != keys[at - 1]]


def first_run_of_drift(records: Sequence[Record], drift: ContractDrift | None) -> int | None:
    """Return the number of the run with which a certain change began; None if there is none."""
    since: datetime | None = drift.change.since if drift and drift.change else None
    if since is None:
        return None
    return next((at for at, record in enumerate(records) if record.time >= since), None)
