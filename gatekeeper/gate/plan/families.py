"""Which comparisons of a run share alpha, and the strictest level of each.

Contracts share it first. The share of a contract with slices is then divided among its claims: the
comparison of all inputs, and that of each category.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gatekeeper.contract.values.trial import ContractFrom
from gatekeeper.gate.plan.alpha import comparison_alpha
from gatekeeper.gate.plan.plan import Evaluation, Job
from gatekeeper.stats.multiple import holm_levels

Family = tuple[bool, str]
ALL = ""
"""The claim about all inputs of a contract; those about a category have its name."""


def family_of(job: Job, evaluation: Evaluation) -> Family:
    """Return the family of a comparison: its comparisons share alpha by Holm's procedure.

    The contracts of each policy share alpha among themselves, so that the projects of a repository
    do not make each other's tests less certain. In each, the base's contracts are one family, and
    what head changed or added is another: nothing a pull request writes can make the base's
    contracts less certain of what they find.
    """
    return evaluation.trusted, job.folder


def levels(jobs: Sequence[Job]) -> dict[tuple[str, ContractFrom], float]:
    """Return the strictest level of each comparison of a run, the first of Holm's procedure, by
    contract and by evaluation."""
    compared = [
        (job, evaluation) for job in jobs for evaluation in job.evaluations if evaluation.base
    ]
    sizes = Counter(family_of(job, evaluation) for job, evaluation in compared)
    return {
        (job.contract.name, evaluation.contract_from): comparison_alpha(evaluation.contract)
        / sizes[family_of(job, evaluation)]
        for job, evaluation in compared
    }


def claim_levels(evaluation: Evaluation, level: float) -> dict[str, float]:
    """Return the strictest level of each claim of a contract that is tested at `level`: the first
    of Holm's procedure. A claim about so few units that it could never reach the level takes no
    part of it (Tarone)."""
    claims = {ALL: evaluation, **evaluation.slices()}
    units = {claim: _most_units(part) for claim, part in claims.items()}
    return holm_levels(
        dict.fromkeys(claims, level),
        lambda *_: False,
        attainable={claim: 0.5**count for claim, count in units.items()},
    )


def _most_units(evaluation: Evaluation) -> int:
    units = evaluation.counts_with
    return len({units.get(fixture.id, fixture.id) for fixture in evaluation.contract.fixtures})
