"""Finds what earlier runs of base tell: the fixtures that flicker, and how much each counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import is_

from gatekeeper.contract.fixtures.quarantine import without_quarantine
from gatekeeper.contract.meaning.digests import contract_digest
from gatekeeper.contract.values.clusters import members_of
from gatekeeper.contract.values.definition import Contract
from gatekeeper.gate.plan.plan import Evaluation, Job, as_evaluated, evaluates_differently
from gatekeeper.gate.results.result import RunKind
from gatekeeper.gate.work import Work
from gatekeeper.history.flickering import MOST_RUNS, flickering_fixtures
from gatekeeper.history.record import Record, fixture_key
from gatekeeper.stats.paired.fixture_weights import LEAST_RUNS, fixture_weights


def with_nights(work: Work, records: Iterable[Record]) -> Work:
    """Return the work with what the latest runs with base's prompt, contract and model tell: which
    fixtures flicker, and the weights of fixtures in each comparison. A comparison by other rules
    than base's has none: what head's author wrote has no past."""
    past: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if not record.judge_drifted:
            past[record.contract].append(record)
    jobs = tuple(_told(job, work.kind, past) for job in work.jobs)
    return work if all(map(is_, jobs, work.jobs)) else replace(work, jobs=jobs)


def _told(job: Job, kind: RunKind, past: Mapping[str, Sequence[Record]]) -> Job:
    base = job.contract if kind == "run" else job.base
    return told_by(job, base, past.get(base.name, ())) if base else job


def told_by(job: Job, base: Contract, records: Sequence[Record]) -> Job:
    """Return the job with what the runs of its contract at base tell."""
    if len(records) < LEAST_RUNS:
        return job
    digest = contract_digest(without_quarantine(base))
    nights = [record for record in records if record.contract_digest == digest][-MOST_RUNS:]
    if len(nights) < LEAST_RUNS:
        return job
    found = flickering_fixtures(nights, (fixture.id for fixture in base.fixtures))
    flickering = tuple(fixture.id for fixture in found if fixture.id is not None)
    rules = as_evaluated(base)
    evaluations = tuple(
        each
        if each.base is None or evaluates_differently(rules, each.contract)
        else replace(each, weights=_weights(each, nights))
        for each in job.evaluations
    )
    return replace(job, evaluations=evaluations, flickering=flickering)


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
