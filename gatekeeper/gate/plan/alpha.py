"""Divides one contract's alpha among the comparison of the suite, the confirmation of broken
fixtures, and the limits of cost, tokens, latency and repairs. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import ContractFrom
from gatekeeper.gate.plan.plan import Evaluation, Job
from gatekeeper.stats.multiple import holm_levels

FIXTURES = 0.02
"""The share of alpha for all broken fixtures together, those that must pass among them. It is
small, because fresh samples of a fixture are cheap evidence: a stricter level costs one or two
pairs of them. The comparison of the suite keeps enough to fail at 5 % if five of five fixtures
break, also if there are limits."""

LIMITS = 0.1
"""The share of alpha for all limits together. A rise of cost shows on nearly every fixture, so that
a stricter level costs them few fixtures."""


PREFERENCE, PREFERENCE_ALONE = 0.5, 0.9
"""The share of what is left for the comparison in pairs by judges (`judge: prefer`), if other
checks gate too and if they do not."""


class AlphaShares(NamedTuple):
    """The part of a contract's alpha that each test has; 0 for tests that the contract does not
    need. If broken fixtures alone gate, `comparison` is only what its result is shown with."""

    comparison: float
    fixtures: float
    limits: float
    preference: float = 0.0


def alpha_shares(contract: Contract) -> AlphaShares:
    """Divide a contract's alpha among its tests."""
    fixtures = FIXTURES if confirms_fixtures(contract) else 0.0
    limits = LIMITS if contract.gate.limits or gates_repairs(contract) else 0.0
    preference = (1 - fixtures - limits) * _preference(contract)
    return AlphaShares(1 - fixtures - limits - preference, fixtures, limits, preference)


def confirms_fixtures(contract: Contract) -> bool:
    """Return whether a fixture that seems to have broken is sampled again, and can then fail the
    contract."""
    return claims_fixtures(contract) or _must_pass(contract)


def claims_fixtures(contract: Contract) -> bool:
    """Return whether any broken fixture can fail the contract, and not only one that must pass."""
    return contract.gate.claim != "inputs" and not compares_pairs_alone(contract)


def comparison_alpha(contract: Contract) -> float:
    """Return the part of the contract's alpha for the comparison of the whole suite."""
    return contract.gate.alpha * alpha_shares(contract).comparison


def shared_level(
    contract: Contract, level: float, tests: Literal["fixtures", "limits", "preference"]
) -> float:
    """Return the level that all tests of a kind share if the comparison of the suite is tested at
    `level`."""
    shares = alpha_shares(contract)
    part: float = getattr(shares, tests)
    return level * part / shares.comparison


def limit_level(contract: Contract, level: float) -> float:
    """Return the level of each limit if the comparison of the suite is tested at `level`: all have
    equal parts, and so has the test of repairs if it can fail the contract (Bonferroni)."""
    tests = len(contract.gate.limits) + gates_repairs(contract)
    return shared_level(contract, level, "limits") / max(1, tests)


def repairs_apply(contract: Contract) -> bool:
    """Return whether an output can be repaired."""
    return contract.mode != "observe" and bool(contract.repair.steps and contract.repair.max_steps)


def gates_repairs(contract: Contract) -> bool:
    """Return whether the contract fails if head needs repairs more often than base."""
    return contract.gate.repairs == "fail" and repairs_apply(contract)


def repair_level(contract: Contract, level: float) -> float:
    """Return the level of the test of the repair rate if the comparison of the suite is tested at
    `level`. A warning costs the other tests nothing: its level is apart from theirs, and as
    strict."""
    if gates_repairs(contract):
        return limit_level(contract, level)
    return contract.gate.alpha * LIMITS


def compares_pairs_alone(contract: Contract) -> bool:
    """Return whether nothing gates but comparisons in pairs, which pass every single output."""
    return _preference(contract) == PREFERENCE_ALONE


def _preference(contract: Contract) -> float:
    gating = (spec for spec in contract.own_checks if spec.severity == "error")
    prefers = [spec.params.get("judge") == "prefer" for spec in gating]
    if not any(prefers):
        return 0.0
    return PREFERENCE_ALONE if all(prefers) else PREFERENCE


def _must_pass(contract: Contract) -> bool:
    checks = contract.own_checks
    return any(f.must_pass for f in contract.fixtures) or any(spec.must_pass for spec in checks)


# Which comparisons of a run share alpha, and the strictest level of each.
#
# Contracts share it first. The share of a contract with slices is then divided among its claims:
# the comparison of all inputs, and that of each category.


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
