"""Estimates what a check would run, why, how many calls that is and what they may cost. Calls no
model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from gatekeeper import numbers
from gatekeeper.contract.models.faults import FindFault, find_faults, no_fault, with_recordings
from gatekeeper.contract.models.params import advise_shorter_answers
from gatekeeper.contract.policies.policy import POLICY_PATH, Policy
from gatekeeper.contract.values.change import AffectedBy, Change
from gatekeeper.contract.values.trial import Request
from gatekeeper.gate.forecast.forecast import (
    Amounts,
    JobForecast,
    forecast_jobs,
    live_questions,
    share_made,
)
from gatekeeper.gate.forecast.power import ComparisonPower, compute_power, unpriced_warnings
from gatekeeper.gate.forecast.spending_limits import refusal
from gatekeeper.gate.plan.alpha import ALL, claim_levels, comparison_alpha, family_of, levels
from gatekeeper.gate.plan.plan import Job
from gatekeeper.gate.plan.questions import Questions
from gatekeeper.gate.work import Work, plan_check
from gatekeeper.sampling.calls import distinct_requests
from gatekeeper.sampling.limits import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCalls:
    """Calls and what they take, of one contract or of a run. Tokens and costs are None if they are
    not known, or if nothing bounds them."""

    calls: int = 0
    """The highest possible number of calls, with the fresh samples of fixtures that seem to have
    broken."""
    fewest_calls: int = 0
    """The calls if the result is certain as soon as it can be."""
    expected_calls: int = 0
    """The calls of a harmless change (forecast.py)."""
    judge_calls: int = 0
    """Of `calls`, those to judges."""
    expected_judge_calls: int = 0
    user_calls: int = 0
    """Of `calls`, those to simulated users."""
    expected_user_calls: int = 0
    tokens: int | None = 0
    """The tokens of the expected calls, with answers of an expected length."""
    most_tokens: int | None = 0
    """The tokens of all calls, with the longest answers that are possible; limits go by this."""
    cost_usd: float | None = 0.0
    worst_cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractEstimate(PlannedCalls):
    """One affected contract; `removed` says that head no longer has it.

    What is compared has a `margin` and a `level`; `minimum_detectable_effect`, `fixtures_needed`
    and `warning` are those of `power.ComparisonPower`. All are None if nothing is compared.
    """

    name: str
    path: str
    affected_by: tuple[AffectedBy, ...]
    model: str | None = None
    fixtures: int = 0
    minimum_detectable_effect: float | None = None
    removed: bool = False
    may_stop_early: bool = False
    margin: float | None = None
    level: float | None = None
    fixtures_needed: int | None = None
    warning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEstimate(PlannedCalls):
    """All that a check of this change would do."""

    base_sha: str
    head_sha: str
    contracts: tuple[ContractEstimate, ...]
    uncovered: tuple[str, ...]
    unaffected: int
    notices: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    """Models that the base policy does not allow, a possible cost above its limits, and limits that
    can never be evaluated."""

    def document(self) -> dict[str, Any]:
        """Return the estimate as plain data for JSON."""
        return asdict(self)


def _planned_together(contracts: Sequence[ContractEstimate]) -> dict[str, Any]:
    """Return the fields of `PlannedCalls` for all contracts together."""
    names = [each.name for each in fields(PlannedCalls)]
    return {name: _sum([getattr(contract, name) for contract in contracts]) for name in names}


def estimate_change(
    change: Change,
    policy: Policy,
    names: Sequence[str],
    amounts: Amounts,
    find_fault: FindFault = no_fault,
) -> RunEstimate:
    """Estimate the check of a change. `amounts` says what a request takes; `find_fault` says what
    is wrong with a model's name.

    All comparisons of the run share the level, so each is estimated at alpha divided by their
    number: what it has when Holm's procedure tests it first, and what sampling goes by. Raises
    ContractError and UsageError as the check itself would.
    """
    work = plan_check(change, policy, names)
    prices = _once(amounts.expected), _once(amounts.worst)
    amounts = Amounts(*prices, _once(amounts.tokens))
    shared, forecasts = _Shared(work.jobs), forecast_jobs(work, amounts)
    of_jobs = zip(work.jobs, forecasts, work.judging_of_jobs, work.users_of_jobs, strict=True)
    contracts = (
        *(_estimate_job(*of_job, shared) for of_job in of_jobs),
        *(
            ContractEstimate(name=c.name, path=c.path, affected_by=c.affected_by, removed=True)
            for c in work.removed
        ),
    )
    found = RunEstimate(
        **_planned_together(contracts),
        base_sha=change.base.sha,
        head_sha=change.head.sha,
        contracts=contracts,
        uncovered=work.affected.uncovered,
        unaffected=work.affected.unaffected,
        notices=(
            *work.affected.notices,
            *(f"{job.contract.name}: {notice}" for job in work.jobs for notice in job.notices),
        ),
    )
    revisions = (change.base, change.head)
    faults = find_faults(work.models, with_recordings(find_fault, revisions))
    refused = tuple(
        f"A check cannot start: {problem}" for problem in faults.with_refused(work.model_problems)
    )
    beyond = _beyond_limits(work, amounts.worst)
    never = (w for job in work.jobs if job.paired for w in _never_evaluated(job, amounts.expected))
    return replace(found, warnings=(*refused, *beyond, *never, *faults.notices))


def _once(compute: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """Return the function with its results remembered, because limits and contracts ask for those
    of the same requests."""
    known: dict[int, tuple[Request, Any]] = {}

    def remembered(request: Request) -> Any:
        if id(request) not in known:
            known[id(request)] = request, compute(request)  # kept, so that its id stays its own
        return known[id(request)][1]

    return remembered


def _never_evaluated(job: Job, price: Price) -> tuple[str, ...]:
    """Name limits that no run can evaluate; one that head and base share is named once."""
    found = (w for evaluation in job.evaluations for w in unpriced_warnings(evaluation, price))
    return tuple(dict.fromkeys(found))


def _beyond_limits(work: Work, worst: Price) -> tuple[str, ...]:
    """Say which limits the planned calls may exceed. Fresh samples are left out: few changes break
    enough fixtures to need nearly all of them."""
    limits = work.policy.limits
    refused = refusal(work, worst, trusted=True)
    if refused:
        return (refused,)
    requests = (*distinct_requests(work.trials), *work.questions)
    known = math.fsum(worst(request) or 0.0 for request in requests)
    beyond = []
    if limits.calls is not None and len(requests) > limits.calls:
        beyond.append((f"take {len(requests):,} calls", f"`limits.calls` is {limits.calls:,}"))
    if limits.cost_usd is not None and known > limits.cost_usd:
        limit = f"`limits.cost_usd` is {numbers.dollars(limits.cost_usd)}"
        beyond.append((f"cost {numbers.dollars(known)} at worst", limit))
    shorter = advise_shorter_answers(trial.request.params for trial in work.trials)
    return tuple(
        f"The planned samples may {amount}, but {limit} in {POLICY_PATH}. If the result is still "
        "unclear when the run reaches this limit, the run ends with `error`. Use fewer fixtures or "
        f"samples, {shorter}, or raise the limit"
        for amount, limit in beyond
    )


class _Shared:
    """Who shares alpha with whom."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.levels = levels(jobs)
        self._contracts = Counter(
            family
            for job in jobs
            for family in {family_of(job, e) for e in job.evaluations if e.base is not None}
        )

    def compute_power(self, job: Job) -> ComparisonPower | None:
        """Return what head's evaluation could detect; None if it compares nothing."""
        evaluation = job.evaluations[0]
        contract = evaluation.contract
        level = self.levels.get((contract.name, evaluation.contract_from))
        if level is None or contract.gate.on == "score":
            return None  # how much scores vary is not known before
        together = round(comparison_alpha(contract) / claim_levels(evaluation, level)[ALL])
        return compute_power(evaluation, together, self._contracts[family_of(job, evaluation)])


def _estimate_job(
    job: Job, found: JobForecast, judging: Questions, users: Questions, shared: _Shared
) -> ContractEstimate:
    contract = job.contract
    power = shared.compute_power(job)
    calls, (expected, most) = found.calls, (each.amounts() for each in found.amounts)
    judged, played = (len(live_questions(asked).most) for asked in (judging, users))
    return ContractEstimate(
        name=contract.name,
        path=contract.path,
        affected_by=job.affected_by,
        model=contract.target.model,
        fixtures=len(contract.fixtures),
        calls=most.calls,
        fewest_calls=calls.fewest + share_made(judged + played, calls.fewest, calls.most),
        expected_calls=expected.calls,
        user_calls=found.most_asked(played),
        expected_user_calls=share_made(played, calls.expected, calls.most),
        judge_calls=found.most_asked(judged),
        expected_judge_calls=share_made(judged, calls.expected, calls.most),
        tokens=expected.tokens,
        most_tokens=most.tokens,
        cost_usd=expected.cost_usd,
        worst_cost_usd=most.cost_usd,
        minimum_detectable_effect=power.minimum_detectable_effect if power else None,
        may_stop_early=calls.fewest < calls.most,
        margin=power.margin if power else None,
        level=power.level if power else None,
        fixtures_needed=power.fixtures_needed if power else None,
        warning=power.warning if power else None,
    )


def _sum(amounts: Sequence[float | None]) -> float | None:
    """Return the sum; None if one of the amounts is not known, or has no bound."""
    known = [amount for amount in amounts if amount is not None and amount < math.inf]
    return sum(known) if len(known) == len(amounts) else None
