"""How many calls a contract takes: at least, expected if the change is harmless, and at most.

Failed calls are tried again and are not counted; a run that a limit or an outage ends takes fewer.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from gatekeeper.contract.values.trial import ContractFrom
from gatekeeper.gate.comparison.must_pass import must_pass_units
from gatekeeper.gate.comparison.paired_comparison import Comparison
from gatekeeper.gate.plan.alpha import alpha_shares, confirms_fixtures
from gatekeeper.gate.plan.families import ALL, claim_levels
from gatekeeper.gate.plan.plan import Evaluation, Job
from gatekeeper.sampling.calls import distinct_calls
from gatekeeper.stats.paired.sequential import looks
from gatekeeper.stats.paired.stopping_time import stopping_time


class CallEstimate(NamedTuple):
    """Numbers of calls, the smallest first."""

    fewest: int
    expected: int
    most: int


class _Pairs(NamedTuple):
    """How many pairs of one evaluation, or samples of a single arm, are taken. A regression needs
    at least `regressed`; None if there can be none before the end."""

    regressed: int | None
    fewest: int
    expected: float
    most: int


def estimate_calls(
    job: Job, levels: Mapping[tuple[str, ContractFrom], float], most: int, concurrency: int
) -> CallEstimate:
    """Estimate the calls of a contract.

    Args:
        job: The contract.
        levels: The level of each comparison of the run, as `gate.families.levels` returns them.
        most: How many distinct requests its trials have.
        concurrency: How many calls are under way when the result is certain. They are made too.
    """
    each = [
        (e, _pairs(e, levels.get((job.contract.name, e.contract_from)))) for e in job.evaluations
    ]
    if not each or not most:
        return CallEstimate(most, most, most)
    # One regression ends the whole contract; otherwise every evaluation must be certain.
    certain = [_calls_of(evaluation, pairs.fewest) for evaluation, pairs in each]
    settled = most if all(p.fewest == p.most for _, p in each) else max(certain)
    regressed = [_calls_of(e, p.regressed) for e, p in each if p.regressed is not None]
    fewest = min([settled, *regressed])
    share = max(pairs.expected / pairs.most if pairs.most else 1.0 for _, pairs in each)
    expected = most if share >= 1 else min(most, math.ceil(share * most) + concurrency)
    return CallEstimate(min(fewest, expected), expected, most)


def _pairs(evaluation: Evaluation, level: float | None) -> _Pairs:
    contract, sampling = evaluation.contract, evaluation.contract.sampling
    early = sampling.mode == "adaptive"
    if level is None:
        units = len({trial.fixture for trial in evaluation.trials})
        most = units * sampling.samples
        ends = early and contract.slo and contract.gate.tolerance is None
        ends = ends and not must_pass_units(contract)
        first = looks(sampling.samples, early=early)[0].rounds if ends else sampling.samples
        # When its objectives are certain depends on the pass rate, which nobody knows before.
        return _Pairs(None, units * first, float(most), most)
    claims, parts = claim_levels(evaluation, level), evaluation.slices()
    test = Comparison(evaluation, claims.pop(ALL)).test
    most = test.fixtures * sampling.samples
    if not test.early:
        return _Pairs(None, most, float(most), most)
    looks_at_all = bool(contract.slo) or confirms_fixtures(contract)
    found = stopping_time(test, first_round=looks_at_all)
    if alpha_shares(contract).limits or contract.gate.tolerance is not None:
        return _Pairs(found.fewest_regressed, most, float(most), most)
    fewest, expected = found.fewest, found.expected
    for name, own in claims.items():
        # Sampling goes on until the last category is decided.
        of_slice = Comparison(parts[name], own).test
        if of_slice.fixtures:
            alone = stopping_time(of_slice, first_round=looks_at_all)
            scale = test.fixtures / of_slice.fixtures
            fewest = min(most, max(fewest, math.ceil(alone.fewest * scale)))
            expected = min(float(most), max(expected, alone.expected * scale))
    return _Pairs(found.fewest_regressed, fewest, expected, most)


def _calls_of(evaluation: Evaluation, pairs: int) -> int:
    """Return the fewest calls that so many pairs of the evaluation can take."""
    if evaluation.base is None:
        units = {trial.fixture: trial.fixture for trial in evaluation.trials}
    else:
        units = {f: unit for unit, members in evaluation.units().items() for f in members}
    first = [trial for trial in evaluation.trials if trial.repetition == 0]
    takes: dict[str, int] = defaultdict(int)
    for trial, _ in distinct_calls(first):
        unit = units.get(trial.fixture)
        if unit is not None:
            takes[unit] += 1
    if not takes:
        return 0
    rounds, rest = divmod(pairs, len(takes))
    return rounds * sum(takes.values()) + sum(sorted(takes.values())[:rest])
