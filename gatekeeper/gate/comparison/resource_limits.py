"""Decides whether head exceeds a limit of a contract's `gate` by more than chance explains.
Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from gatekeeper import numbers
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.objectives import LimitName, ResourceLimit
from gatekeeper.contract.values.trial import Arm, Completion, Outcome, Trial
from gatekeeper.gate.plan.alpha import limit_level
from gatekeeper.gate.results.parts import LimitResult, Resource, ResourceChange
from gatekeeper.gate.results.result import Reason
from gatekeeper.stats.intervals.relative_change import (
    UNEVEN_BELOW,
    Rise,
    relative_change,
    rise_beyond,
)

# Compares cost, tokens and latency of a call on head and base, paired by fixture or cluster of
# related ones. Pure.


CONFIDENCE = 0.99
"""The confidence of each interval; every comparison has four."""
_SEED = 42


@dataclass(frozen=True, slots=True)
class Measure:
    """A resource, and how it is summarised: as a quantile, or as a mean if `quantile` is None.

    `fixtures` is how many it takes before its bootstrap is worth an interval: with ten, arms
    that are alike differ in 5 % of runs and not in 1 %. `label` and `noun` name it in sentences."""

    resource: Resource
    amount: Amount
    quantile: float | None
    fixtures: int
    label: str
    noun: str


Amount = Callable[[Completion], float | None]
_COST, _TIME = attrgetter("cost_usd"), attrgetter("latency_ms")
_TOKENS, _COUNT = attrgetter("tokens"), "number of tokens"
MEASURES: Mapping[LimitName, Measure] = {
    "cost": Measure("cost_per_call_usd", _COST, None, 20, "cost of a call", "cost"),
    "tokens": Measure("tokens_per_call", _TOKENS, None, 20, f"{_COUNT} of a call", _COUNT),
    "latency_p50": Measure("latency_p50_ms", _TIME, 0.5, 20, "latency p50", "latency"),
    "latency_p95": Measure("latency_p95_ms", _TIME, 0.95, 40, "latency p95", "latency"),
}


def resource_changes(outcomes: Sequence[Outcome]) -> tuple[ResourceChange, ...]:
    """Return the change of each resource that is known for some fixture on both arms; too few
    fixtures give no interval."""
    import numpy as np

    found = []
    for measure in MEASURES.values():
        both = amounts_on_both(outcomes, measure.amount, _by_cluster)
        base, head = [arms["base"] for arms in both], [arms["head"] for arms in both]
        rng = np.random.default_rng(_SEED)
        change = relative_change(base, head, CONFIDENCE, rng, measure.quantile)
        if change is not None:
            interval = change.interval if len(base) >= measure.fixtures else None
            found.append(ResourceChange(measure.resource, change.base, change.head, interval))
    return tuple(found)


def _by_cluster(trial: Trial) -> Hashable:
    return trial.cluster is not None, trial.cluster or trial.fixture


def amounts_on_both(
    outcomes: Sequence[Outcome], amount: Amount, unit: Callable[[Trial], Hashable]
) -> list[dict[Arm, list[float]]]:
    """Return the known amounts of each unit that has some on both arms."""
    values: dict[Hashable, dict[Arm, list[float]]] = defaultdict(lambda: {"base": [], "head": []})
    for outcome in outcomes:
        value = _amount(outcome, amount)
        if value is not None:
            trial = outcome.sample.trial
            values[unit(trial)][trial.arm].append(value)
    return [arms for arms in values.values() if arms["base"] and arms["head"]]


def limit_results(
    contract: Contract,
    outcomes: Sequence[Outcome],
    level: float | None,
    counts_with: Mapping[str, str],
    *,
    complete: bool,
) -> tuple[LimitResult, ...]:
    """Return the result of each limit; nothing if nothing is compared.

    Args:
        level: That of the suite's comparison, of which the limits take their share of alpha.
        counts_with: The fixture that stands for the unit of another: its input, or its cluster.
        complete: Whether every sample is there that is planned. If the suite's answer ended
            sampling before, no limit is exceeded: the moment was chosen by the samples.
    """
    if level is None:
        return ()
    own = limit_level(contract, level)
    return tuple(
        _result(limit, outcomes, own, counts_with, complete=complete)
        for limit in contract.gate.limits
    )


def limit_reasons(results: Sequence[LimitResult]) -> list[Reason]:
    """Return the reasons of the limits.

    One that looks exceeded and may not be is `inconclusive`.
    """
    reasons = []
    for result in results:
        limit = ResourceLimit(result.name, result.limit)
        what = f"the limit `gate.{result.name}: {limit}`"
        rise = f"The {MEASURES[result.name].label} rose {_by(result)}"
        match result.found:
            case "exceeded":
                text = f"{rise}{_at_least(result)}, significantly more than {what} allows."
                reasons.append(Reason("resource_limit", text, "fail"))
            case "unknown":
                text = f"Samples are missing, so it is not known whether head exceeds {what}."
                reasons.append(Reason("resource_limit", text, "error"))
            case "open":
                text = f"{rise}, which is above {what}, but {_why_open(result)}."
                reasons.append(Reason("resource_limit", text, "inconclusive"))
            case "unmeasured":
                text = (
                    f"The {MEASURES[result.name].noun} of some calls is unknown, so "
                    f"`gate.{result.name}: {limit}` cannot be evaluated."
                )
                reasons.append(Reason("resource_limit", text, "inconclusive"))
    return reasons


def fewest_inputs(limit: ResourceLimit) -> int:
    """Return how many distinct inputs are needed before the limit can be found exceeded."""
    return MEASURES[limit.name].fixtures


def _by(result: LimitResult) -> str:
    return "from nothing" if result.relative is None else f"by {_percent(result.relative)}"


def _at_least(result: LimitResult) -> str:
    """Return the lower end of the interval, unless it is written like the increase itself."""
    if result.low is None or _percent(result.low) == _percent(result.relative):
        return ""
    return f" (at least {_percent(result.low)})"


def _percent(share: float | None) -> str:
    if share is None:
        return "an unknown share"
    return numbers.rise(share)


def _why_open(result: LimitResult) -> str:
    if result.inputs < result.inputs_needed:
        return (
            f"a decision needs {result.inputs_needed:,} independent inputs, and only "
            f"{result.inputs:,} {'was' if result.inputs == 1 else 'were'} measured"
        )
    if result.uneven:
        return (
            "base's amounts vary more than twice as much as head's, so a few large ones that base "
            f"happened not to have may explain it. {UNEVEN_BELOW} inputs decide it"
        )
    return "this rise can be chance"


@dataclass(frozen=True, slots=True)
class _Units:
    """The amounts of each unit, a distinct input or a cluster, on both arms.

    `inputs` are those that were sent to both arms, `lost` says that calls had no answer, `whole`
    that the amount is known of every answered call.
    """

    base: list[list[float]]
    head: list[list[float]]
    inputs: int
    lost: bool
    whole: bool


def _result(
    limit: ResourceLimit,
    outcomes: Sequence[Outcome],
    level: float,
    counts_with: Mapping[str, str],
    *,
    complete: bool,
) -> LimitResult:
    measure = MEASURES[limit.name]
    measured = _units(outcomes, measure, counts_with)
    needed = measure.fixtures
    result = LimitResult(
        limit.name, limit.most, None, None, None, None, level, measured.inputs, needed, "open"
    )
    # What the comparison of the suite cut short is not evaluated, and no report mentions it.
    rise = _rise(limit, measured, level, measure) if measured.whole else None
    if rise is None:
        return replace(result, found="unmeasured" if complete else "kept")
    result = replace(
        result,
        base=rise.base,
        head=rise.head,
        low=rise.low,
        p_value=rise.p_value,
        found="kept",
        uneven=rise.uneven,
    )
    if not complete:
        return result
    kindest = harshest = rise
    if measured.lost:
        kindest = _filled(limit, outcomes, level, counts_with, kindly=True) or rise
        harshest = _filled(limit, outcomes, level, counts_with, kindly=False) or rise
    enough = measured.inputs >= needed
    if enough and kindest.exceeds:
        return replace(result, low=kindest.low, p_value=kindest.p_value, found="exceeded")
    if enough and harshest.exceeds:
        return replace(result, found="unknown")
    above = rise.head > rise.base * (1 + limit.most) * (1 + 1e-9)
    return replace(result, found="open" if above else "kept")


def _rise(limit: ResourceLimit, units: _Units, level: float, measure: Measure) -> Rise | None:
    import numpy as np

    rng = np.random.default_rng(_SEED)
    return rise_beyond(limit.most, units.base, units.head, level, rng, measure.quantile)


def _filled(
    limit: ResourceLimit,
    outcomes: Sequence[Outcome],
    level: float,
    counts_with: Mapping[str, str],
    *,
    kindly: bool,
) -> Rise | None:
    """Return the amounts with lost calls as favourable to head as possible, or as unfavourable.
    Only their rank counts: a lost call was slower than all others, or faster."""
    measure = MEASURES[limit.name]
    known = [v for o in outcomes if (v := _amount(o, measure.amount)) is not None]
    if not known:
        return None
    quick, slow = min(known), 2 * max(known)
    lost: dict[Arm, float] = {
        "base": slow if kindly else quick,
        "head": quick if kindly else slow,
    }
    return _rise(limit, _units(outcomes, measure, counts_with, lost), level, measure)


def _units(
    outcomes: Sequence[Outcome],
    measure: Measure,
    counts_with: Mapping[str, str],
    lost: Mapping[Arm, float] | None = None,
) -> _Units:
    """Return the amounts of each unit. `lost` is what calls without an answer are assumed to have
    needed; None leaves them out.

    A mean has no largest value, so lost calls could produce any mean and are always left out. An
    answered call without a latency, from a recording without latencies, is not lost.
    """
    values: dict[str, dict[Arm, list[float]]] = defaultdict(lambda: {"base": [], "head": []})
    arms_of: dict[str, set[Arm]] = defaultdict(set)
    missing = unknown = False
    for outcome in outcomes:
        trial = outcome.sample.trial
        key = counts_with.get(trial.fixture, trial.fixture)
        value = _amount(outcome, measure.amount)
        is_lost = outcome.sample.completion is None
        if value is not None or (is_lost and measure.quantile is not None):
            arms_of[key].add(trial.arm)
        if value is None and is_lost and measure.quantile is not None:
            missing = True
            value = lost[trial.arm] if lost else None
        unknown = unknown or (value is None and not is_lost and measure.quantile is None)
        if value is not None:
            values[key][trial.arm].append(value)
    both = [arms for arms in values.values() if arms["base"] and arms["head"]]
    inputs = sum(len(arms) == 2 for arms in arms_of.values())
    return _Units(
        [a["base"] for a in both], [a["head"] for a in both], inputs, missing, not unknown
    )


def _amount(outcome: Outcome, amount: Amount) -> float | None:
    completion = outcome.sample.completion
    return amount(completion) if completion else None
