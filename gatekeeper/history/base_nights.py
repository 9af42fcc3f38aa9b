"""Finds what earlier runs of base tell the comparisons of a run: the weights of fixtures. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gatekeeper.contract.clusters import members_of
from gatekeeper.contract.digests import contract_digest
from gatekeeper.gate.as_sent import as_evaluated
from gatekeeper.gate.plan import Evaluation, Job, evaluates_differently
from gatekeeper.gate.work import Work
from gatekeeper.history.counts import fixture_key
from gatekeeper.history.flickering import MOST_RUNS
from gatekeeper.history.record import Record
from gatekeeper.stats.fixture_weights import LEAST_RUNS, fixture_weights


def with_weights(work: Work, records: Iterable[Record]) -> Work:
    """Return the work with the weights of fixtures in each comparison, from the latest runs with
    base's prompt, contract and model. A comparison by other rules than base's has none: what head's
    author wrote has no past."""
    past: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if not record.judge_drifted:
            past[record.contract].append(record)
    jobs = tuple(
        weighted(job, past.get(job.base.name, [])) if job.base else job for job in work.jobs
    )
    return work if jobs == work.jobs else replace(work, jobs=jobs)


def weighted(job: Job, records: Sequence[Record]) -> Job:
    """Return the job with the weights of fixtures, from the runs of its contract."""
    if job.base is None or not job.paired or len(records) < LEAST_RUNS:
        return job
    digest = contract_digest(job.base)
    nights = [record for record in records if record.contract_digest == digest][-MOST_RUNS:]
    if len(nights) < LEAST_RUNS:
        return job
    rules = as_evaluated(job.base)
    evaluations = tuple(
        each
        if each.base is None or evaluates_differently(rules, each.contract)
        else replace(each, weights=_weights(each, nights))
        for each in job.evaluations
    )
    return replace(job, evaluations=evaluations)


def _weights(evaluation: Evaluation, nights: Sequence[Record]) -> Mapping[str, int]:
    contract = evaluation.contract
    compared = [f.id for f in contract.fixtures if f.id not in evaluation.unpaired]
    units = members_of(evaluation.counts_with, compared)
    keys = [[fixture_key(fixture) for fixture in fixtures] for fixtures in units.values()]
    counts = [
        [night.fixtures.get(key, (0, 0)) for night in nights for key in unit] for unit in keys
    ]
    totals = [(sum(n for n, _ in each), sum(failed for _, failed in each)) for each in counts]
    sampling = contract.sampling
    rounds = sampling.samples if sampling.aggregate == "majority" else 1
    weights = fixture_weights(totals, rounds)
    return dict(zip(units, weights, strict=True)) if weights else {}
