"""Measures the errors of the gate on a suite from the samples of its nights (gate/selftest.py).

Each night that is added to a history makes some runs of every change, with the samples of all
nights of the same prompt, contract and model, and adds their counts to those of the night before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from gatekeeper.gate.plan.plan import Job
from gatekeeper.gate.selftest import (
    Pools,
    against_itself,
    missing_samples,
    pools_of_counts,
    selftest,
)
from gatekeeper.history.base_nights import told_by
from gatekeeper.history.drift import stretch
from gatekeeper.history.record import Count, Record, fixture_key

MOST_NIGHTS = 30
RUNS_A_NIGHT = 10


def pools_of_nights(job: Job, nights: Sequence[Record]) -> Pools:
    """Return the samples of the latest nights that are alike, by fixture. `nights` are those of the
    job's contract, oldest first."""
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for night in stretch(nights)[-MOST_NIGHTS:] if nights else ():
        for key, (samples, failed) in night.fixtures.items():
            totals[key][0] += samples
            totals[key][1] += failed
    fixtures = {trial.fixture for trial in job.evaluations[0].trials}
    known: dict[str, Count] = {}
    for fixture in sorted(fixtures):
        samples, failed = totals.get(fixture_key(fixture), (0, 0))
        known[fixture] = samples, failed
    return pools_of_counts(job, known)


def with_selftest(record: Record, job: Job, past: Sequence[Record]) -> Record:
    """Return the record with what was measured so far; unchanged if there are too few samples."""
    paired = against_itself(job)
    nights = stretch([*(r for r in past if r.contract == record.contract), record])
    if paired is None:
        return record
    pools = pools_of_nights(paired, nights)
    if missing_samples(paired, pools):
        return record
    tonight = selftest(told_by(paired, job.contract, nights), pools, RUNS_A_NIGHT, record.id).counts
    before = nights[-2].selftest if len(nights) > 1 else {}
    added = {name: _sum(before.get(name, (0, 0)), count) for name, count in tonight.items()}
    return replace(record, selftest=added)


def _sum(a: Count, b: Count) -> Count:
    return a[0] + b[0], a[1] + b[1]
