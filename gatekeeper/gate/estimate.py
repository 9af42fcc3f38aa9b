"""Estimates what a check would run, why, how many calls that is and what they may cost. Calls no
model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from gatekeeper import numbers
from gatekeeper.contract.change import AffectedBy, Change
from gatekeeper.contract.models.faults import FindFault, find_faults, no_fault, with_recordings
from gatekeeper.contract.models.params import advise_shorter_answers
from gatekeeper.contract.policy import POLICY_PATH, Policy
from gatekeeper.gate.alpha import comparison_alpha
from gatekeeper.gate.must_pass import must_pass_units
from gatekeeper.gate.plan import Evaluation, Job, levels
from gatekeeper.gate.power import Foresight, Price, foresee, unpriced_warnings
from gatekeeper.gate.spending_limits import refusal
from gatekeeper.gate.work import Work, plan_check
from gatekeeper.sampling.calls import distinct_requests


@dataclass(frozen=True, slots=True)
class ContractForecast:
    """One affected contract. `calls` is the most that will be made, and fewer are where it
    `may_stop_early`; `removed` says that head no longer has the contract.

    `cost_usd` is what that many calls cost with answers of an expected length, `worst_cost_usd`
    with the longest ones that are possible, which limits go by. Each is None if a price is not
    known, `worst_cost_usd` also if nothing bounds it.

    What is compared has a `margin` and a `level`; `minimum_detectable_effect`, `fixtures_needed`
    and `warning` are those of `foresight.Foresight`. All are None if nothing is compared.
    """

    name: str
    path: str
    affected_by: tuple[AffectedBy, ...]
    model: str | None
    fixtures: int
    calls: int
    cost_usd: float | None
    worst_cost_usd: float | None
    minimum_detectable_effect: float | None
    removed: bool = False
    may_stop_early: bool = False
    margin: float | None = None
    level: float | None = None
    fixtures_needed: int | None = None
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """All that a check of this change would do."""

    base_sha: str
    head_sha: str
    contracts: tuple[ContractForecast, ...]
    uncovered: tuple[str, ...]
    unaffected: int
    notices: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    """Models that the base policy does not allow, if the most that may be spent is more than it
    allows, and limits that can never be judged."""

    @property
    def calls(self) -> int:
        return sum(contract.calls for contract in self.contracts)

    @property
    def cost_usd(self) -> float | None:
        return _sum([contract.cost_usd for contract in self.contracts])

    @property
    def worst_cost_usd(self) -> float | None:
        return _sum([contract.worst_cost_usd for contract in self.contracts])

    def document(self) -> dict[str, Any]:
        """Return the estimate as plain data for JSON."""
        sums = {name: getattr(self, name) for name in ("calls", "cost_usd", "worst_cost_usd")}
        return {**asdict(self), **sums}


def forecast(
    change: Change,
    policy: Policy,
    names: Sequence[str],
    expected: Price,
    worst: Price,
    find_fault: FindFault = no_fault,
) -> Forecast:
    """Estimate the check of a change. `expected` gives the approximate cost of a request, `worst`
    the most that it can cost; `find_fault` says what is wrong with a model's name.

    All comparisons of the run share the level, so each is forecast at alpha divided by their
    number: what it has when Holm's procedure tests it first, and what sampling goes by. Raises
    ContractError and UsageError as the check itself would.
    """
    work = plan_check(change, policy, names)
    shared = _Shared(work.jobs)
    found = Forecast(
        base_sha=change.base.sha,
        head_sha=change.head.sha,
        contracts=(
            *(_forecast_job(job, expected, worst, shared) for job in work.jobs),
            *(
                ContractForecast(
                    c.name, c.path, c.affected_by, None, 0, 0, 0.0, 0.0, None, removed=True
                )
                for c in work.removed
            ),
        ),
        uncovered=work.affected.uncovered,
        unaffected=work.affected.unaffected,
        notices=work.affected.notices,
    )
    revisions = (change.base, change.head)
    faults = find_faults(work.models, with_recordings(find_fault, revisions))
    refused = tuple(
        f"A check would be refused: {problem}"
        for problem in faults.with_refused(work.model_problems)
    )
    beyond = _beyond_limits(found, work, worst)
    never = (w for job in work.jobs if job.paired for w in _never_judged(job, expected))
    return replace(found, warnings=(*refused, *beyond, *never, *faults.notices))


def _never_judged(job: Job, price: Price) -> tuple[str, ...]:
    """Limits that no run can judge; one that head and base share is named once."""
    found = (w for evaluation in job.evaluations for w in unpriced_warnings(evaluation, price))
    return tuple(dict.fromkeys(found))


def _beyond_limits(found: Forecast, work: Work, worst: Price) -> tuple[str, ...]:
    limits = work.policy.limits
    refused = refusal(work, worst, trusted=True)
    if refused:
        return (refused,)
    known = sum(contract.worst_cost_usd or 0.0 for contract in found.contracts)
    beyond = []
    if limits.calls is not None and found.calls > limits.calls:
        beyond.append((f"take {found.calls:,} calls", f"limits.calls is {limits.calls:,}"))
    if limits.cost_usd is not None and known > limits.cost_usd:
        limit = f"limits.cost_usd is {numbers.dollars(limits.cost_usd)}"
        beyond.append((f"cost {numbers.dollars(known)} at worst", limit))
    shorter = advise_shorter_answers(trial.request.params for trial in work.trials)
    return tuple(
        f"It may {forecast}, and {limit} in {POLICY_PATH}: a check that is not sure before "
        f"ends there, and could not measure. Use fewer fixtures or samples, {shorter}, or raise "
        "the limit"
        for forecast, limit in beyond
    )


class _Shared:
    """Who shares alpha with whom."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._levels = levels(jobs)
        self._contracts = Counter(
            trusted
            for job in jobs
            for trusted in {e.trusted for e in job.evaluations if e.base is not None}
        )

    def foresee(self, evaluation: Evaluation) -> Foresight | None:
        """Return what the evaluation could detect; None if it compares nothing."""
        contract = evaluation.contract
        level = self._levels.get((contract.name, evaluation.by))
        if level is None:
            return None
        together = round(comparison_alpha(contract) / level)
        return foresee(evaluation, together, self._contracts[evaluation.trusted])


def _forecast_job(job: Job, expected: Price, worst: Price, shared: _Shared) -> ContractForecast:
    requests = distinct_requests(job.trials)
    contract = job.contract
    seen = shared.foresee(job.evaluations[0])
    return ContractForecast(
        name=contract.name,
        path=contract.path,
        affected_by=job.affected_by,
        model=contract.target.model,
        fixtures=len(contract.fixtures),
        calls=len(requests),
        cost_usd=_sum([expected(request) for request in requests]),
        worst_cost_usd=_sum([worst(request) for request in requests]),
        minimum_detectable_effect=seen.minimum_detectable_effect if seen else None,
        may_stop_early=_may_stop_early(job),
        margin=seen.margin if seen else None,
        level=seen.level if seen else None,
        fixtures_needed=seen.fixtures_needed if seen else None,
        warning=seen.warning if seen else None,
    )


def _may_stop_early(job: Job) -> bool:
    """Fixtures that count by all or any of their samples are compared when all are drawn; a
    single arm is done early where its objectives are."""
    contract = job.contract
    whole = must_pass_units(contract) or (job.paired and contract.gate.limits)
    if contract.sampling.mode != "adaptive" or whole:
        return False
    if job.paired:
        return contract.sampling.aggregate not in ("all", "any")
    return bool(contract.slo) and contract.gate.tolerance is None and contract.sampling.samples > 1


def _sum(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None and cost < math.inf]
    return sum(known) if len(known) == len(costs) else None
