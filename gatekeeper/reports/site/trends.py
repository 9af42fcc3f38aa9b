"""Values over the runs of a contract, for its charts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gatekeeper.contract.values.objectives import Objective
from gatekeeper.history.drift import ContractDrift
from gatekeeper.history.record import Count, Record, objective_counts
from gatekeeper.stats.objectives.objective import parse_window


def budget_left(records: Sequence[Record], objective: Objective) -> list[float | None]:
    """Return the share of the error budget that was left after each run; below 0 if overspent.

    The values are those of `stats.error_budget`, for all runs in one pass. None if the window had
    no event, or the objective allows no failure. `records` are oldest first.
    """
    good = objective.good_share
    if good is None or good >= 1:
        return [None] * len(records)
    allowed, length = float(1 - good), parse_window(objective.window)
    counts = [_events(record, objective.name) for record in records]
    left: list[float | None] = []
    events = failed = oldest = 0
    for record, (more, more_failed) in zip(records, counts, strict=True):
        events += more
        failed += more_failed
        while records[oldest].time <= record.time - length:
            events -= counts[oldest][0]
            failed -= counts[oldest][1]
            oldest += 1
        left.append(1 - failed / (allowed * events) if events else None)
    return left


def _events(record: Record, objective: str) -> Count:
    """Return the events of one objective, which the record of its run has counted."""
    counted = record.objectives.get(objective)
    return counted or objective_counts(record).get(objective, (0, 0))


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
