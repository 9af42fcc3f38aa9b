"""Reads from past runs which checks gated in each."""

from __future__ import annotations

from collections.abc import Iterable

from gatekeeper.gate.decision.lowered_checks import GatingChecks, GatingHistory
from gatekeeper.history.record import Record


def gating_history(records: Iterable[Record]) -> GatingHistory:
    """Return the checks that gated in each run.

    Records from before severities were kept have none.
    """
    found: dict[str, tuple[GatingChecks, ...]] = {}
    for record in records:
        if record.error_checks is not None:
            run = GatingChecks(record.time, record.sha, record.error_checks)
            found[record.contract] = (*found.get(record.contract, ()), run)
    return found
