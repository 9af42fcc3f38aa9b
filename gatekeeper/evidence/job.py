"""One contract's work in a run: which trials, judged by what, and what they then show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gatekeeper.checks.judge import Judge, prepare
from gatekeeper.contract.affected import AffectedContract
from gatekeeper.contract.change import AffectedBy
from gatekeeper.contract.identity import target_digest
from gatekeeper.contract.model import Contract
from gatekeeper.contract.policy import Policy
from gatekeeper.contract.trial import Outcome, Sample, Trial
from gatekeeper.contract.weakening import loosenings
from gatekeeper.evidence.collect import ContractWatch, judged_by
from gatekeeper.evidence.objectives import slo_results
from gatekeeper.evidence.outcomes import arm_result, by_fixture, duplicates, fixture_results
from gatekeeper.evidence.pairs import Pairs, count_pairs
from gatekeeper.result import ArmResult, FixtureResult, SloResult
from gatekeeper.sampling.plan import plan_trials


@dataclass(frozen=True, slots=True)
class Job:
    """A contract that runs. `base` is the contract at the base revision.

    `paired` says that the arms differ, so that both are sampled. `base_judge` is there
    when head loosened the contract and the policy does not allow it: then the outputs,
    those of removed fixtures included, must satisfy the base contract too.
    """

    contract: Contract
    base: Contract | None
    affected_by: tuple[AffectedBy, ...]
    paired: bool
    trials: tuple[Trial, ...]
    unpaired: tuple[str, ...]
    same_input: dict[str, str]
    weakened: tuple[str, ...]
    judge: Judge
    base_judge: Judge | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one contract, judging one set of samples, makes of them."""

    contract: Contract
    base: ArmResult | None
    head: ArmResult
    pairs: Pairs | None
    slo: tuple[SloResult, ...]
    fixtures: tuple[FixtureResult, ...]


def plan_job(affected: AffectedContract, policy: Policy) -> Job:
    """Plan an affected contract that exists at head.

    Raises ContractError where a prompt does not render or a check cannot be prepared:
    before any model is called.
    """
    head, base = affected.head, affected.base
    if head is None:
        raise ValueError("affected.head: a removed contract has nothing to run")
    before = (
        base.target if base and target_digest(base.target) != target_digest(head.target) else None
    )
    fixtures = {fixture.id: fixture for fixture in base.fixtures} if base else {}
    plan = plan_trials(head, before, fixtures)
    trials, unpaired = plan.trials, plan.unpaired
    weakened = loosenings(base, head) if base else ()
    judged_by_base = base if weakened and not policy.allow.weakening else None
    if judged_by_base:
        kept = {fixture.id for fixture in head.fixtures}
        removed = tuple(f for f in judged_by_base.fixtures if f.id not in kept)
        extra = plan_trials(
            replace(judged_by_base, fixtures=removed, target=head.target), before, fixtures
        )
        trials, unpaired = (*trials, *extra.trials), (*unpaired, *extra.unpaired)
    return Job(
        contract=head,
        base=base,
        affected_by=affected.affected_by,
        paired=before is not None,
        trials=trials,
        unpaired=unpaired,
        same_input=duplicates(trials),
        weakened=weakened,
        judge=prepare(head),
        base_judge=prepare(judged_by_base) if judged_by_base else None,
    )


def watches_of(jobs: Sequence[Job]) -> dict[str, ContractWatch]:
    """One watch a contract, each at the level that Holm's first step would test it at."""
    pairs = sum(job.paired for job in jobs)
    return {
        job.contract.name: ContractWatch(
            job.contract,
            job.judge,
            job.same_input,
            paired=job.paired,
            alpha=job.contract.gate.alpha / max(pairs, 1),
        )
        for job in jobs
    }


def weigh(job: Job, contract: Contract, outcomes: Sequence[Outcome]) -> Evidence:
    """The evidence of outcomes under the contract that judged them."""
    groups = by_fixture(outcomes)
    fixtures = fixture_results(contract, groups, job.same_input, paired=job.paired)
    base = job.base.target if job.base and job.paired else None
    # A fixture that has no base arm is new at head: it can be judged, but not compared.
    comparable = [fixture for fixture in fixtures if fixture.id not in job.unpaired]
    return Evidence(
        contract=contract,
        base=arm_result(base, "base", outcomes, fixtures) if base else None,
        head=arm_result(job.contract.target, "head", outcomes, fixtures),
        pairs=count_pairs(comparable) if job.paired else None,
        slo=slo_results(contract, [o for o in outcomes if o.sample.trial.arm == "head"]),
        fixtures=tuple(fixtures),
    )


def weigh_under_base(job: Job, samples: Sequence[Sample]) -> Evidence | None:
    """The evidence of the same samples under the base contract, where that is asked for."""
    if job.base is None or job.base_judge is None:
        return None
    return weigh(job, job.base, judged_by(job.base, job.base_judge, samples))
