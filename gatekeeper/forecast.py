"""What a check would run, why, how many calls that is and what they may cost. Calls no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from gatekeeper.contract.change import AffectedBy, Change
from gatekeeper.contract.policy import POLICY_PATH, Policy
from gatekeeper.contract.trial import Arm, Request
from gatekeeper.errors import MeasurementError
from gatekeeper.evidence.job import Job, levels
from gatekeeper.foresight import foresee
from gatekeeper.gate import Work, plan_check
from gatekeeper.sampling.run import distinct_requests

Price = Callable[[Request], float | None]


@dataclass(frozen=True, slots=True)
class ContractForecast:
    """One affected contract. `calls` is the most that will be made, and fewer are where it
    `may_stop_early`; `cost_usd` is None where a price is unknown; `removed` says that head no
    longer has the contract.

    What is compared has a `margin` and a `level`; `minimum_detectable_effect`, `fixtures_needed`
    and `warning` are those of `foresight.Foresight`. All are None where nothing is compared.
    """

    name: str
    path: str
    affected_by: tuple[AffectedBy, ...]
    model: str | None
    fixtures: int
    calls: int
    cost_usd: float | None
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
    """Where the most that may be spent is more than the base policy allows."""

    @property
    def calls(self) -> int:
        return sum(contract.calls for contract in self.contracts)

    @property
    def cost_usd(self) -> float | None:
        return _sum([contract.cost_usd for contract in self.contracts])

    def document(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {**asdict(self), "calls": self.calls, "cost_usd": self.cost_usd}


def forecast(change: Change, policy: Policy, names: Sequence[str], price: Price) -> Forecast:
    """Forecast the check of a change. `price` gives a request's estimated cost in US dollars.

    All comparisons of the run share the level, so each is forecast at alpha divided by their
    number: what it has when Holm's procedure tests it first, and what sampling goes by. Raises
    ContractError and UsageError as the check itself would.
    """
    work = plan_check(change, policy, names)
    strictest = levels(work.jobs)
    found = Forecast(
        base_sha=change.base.sha,
        head_sha=change.head.sha,
        contracts=(
            *(_forecast_job(job, price, strictest) for job in work.jobs),
            *(
                ContractForecast(c.name, c.path, c.affected_by, None, 0, 0, 0.0, None, removed=True)
                for c in work.removed
            ),
        ),
        uncovered=work.affected.uncovered,
        unaffected=work.affected.unaffected,
        notices=work.affected.notices,
    )
    return replace(found, warnings=_beyond_limits(found, policy))


def _beyond_limits(found: Forecast, policy: Policy) -> tuple[str, ...]:
    limits = policy.limits
    known = sum(contract.cost_usd or 0.0 for contract in found.contracts)
    beyond = []
    if limits.calls is not None and found.calls > limits.calls:
        beyond.append((f"{found.calls:,} calls", f"limits.calls is {limits.calls:,}"))
    if limits.cost_usd is not None and known > limits.cost_usd:
        beyond.append((f"${known:.4g}", f"limits.cost_usd is {limits.cost_usd:.4g}"))
    return tuple(
        f"It may take {forecast}, and {limit} in {POLICY_PATH}: a check that is not sure before "
        "ends there, and could not measure. Use fewer fixtures or samples, or raise the limit"
        for forecast, limit in beyond
    )


def require_within_limits(work: Work, price: Price) -> None:
    """Refuse work that could spend more than the base policy's limits, before any call.

    For heads of people who may not spend the repository's money: a trusted head spends up to
    the limit and ends in an error there, which is no use where anybody can push again. What
    has no known price counts as calls alone. Raises MeasurementError.
    """
    limits = work.policy.limits
    requests = distinct_requests(work.trials)
    if limits.calls is not None and len(requests) > limits.calls:
        raise _beyond(f"{len(requests):,} calls", f"{limits.calls:,}", "calls")
    if limits.cost_usd is None:
        return
    known = sum(cost for cost in map(price, requests) if cost is not None)
    if known > limits.cost_usd:
        raise _beyond(f"${known:.4g}", f"${limits.cost_usd:.4g}", "cost_usd")


def _beyond(forecast: str, limit: str, name: str) -> MeasurementError:
    return MeasurementError(
        f"judging this pull request may take {forecast}, and the base policy allows {limit}; it "
        "comes from a fork, so no model was called. Use fewer fixtures or samples, or ask a "
        f"maintainer to raise limits.{name} in {POLICY_PATH} of the base branch"
    )


def _forecast_job(
    job: Job, price: Price, strictest: Mapping[tuple[str, Arm], float]
) -> ContractForecast:
    requests = distinct_requests(job.trials)
    contract = job.contract
    level = strictest.get((contract.name, job.judgings[0].by))
    seen = None if level is None else foresee(job.judgings[0], round(contract.gate.alpha / level))
    return ContractForecast(
        name=contract.name,
        path=contract.path,
        affected_by=job.affected_by,
        model=contract.target.model,
        fixtures=len(contract.fixtures),
        calls=len(requests),
        cost_usd=_sum([price(request) for request in requests]),
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
    if contract.sampling.mode != "adaptive":
        return False
    if job.paired:
        return contract.sampling.aggregate not in ("all", "any")
    return bool(contract.slo) and contract.gate.tolerance is None and contract.sampling.samples > 1


def _sum(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
