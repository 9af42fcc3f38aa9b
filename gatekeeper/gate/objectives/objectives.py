"""Decides service-level objectives from the head arm's outcomes. Pure.

An objective is met or missed only if its whole interval is on one side of the target, and only if
the unmeasured samples could not change that.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gatekeeper.contract.models.params import written_limits
from gatekeeper.contract.values.calibration_record import (
    NOT_CALIBRATED,
    Calibrations,
    CheckCalibration,
)
from gatekeeper.contract.values.definition import CheckSpec, Contract
from gatekeeper.contract.values.events import each_answer_once, flag_of, is_good, time_of
from gatekeeper.contract.values.objectives import Objective, measure_of
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.gate.objectives.judge_correction import correct_score, judge_behind, rests_on_judges
from gatekeeper.gate.results.result import SloResult
from gatekeeper.gate.samples.consistency import pairs_of_units
from gatekeeper.gate.samples.outcomes import quantile
from gatekeeper.stats.estimate import Estimate
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.gaffke import gaffke_interval, inputs_needed, proven_side
from gatekeeper.stats.intervals.intervals import clustered_mean_interval
from gatekeeper.stats.judges.label_shift import corrected_rate
from gatekeeper.stats.objectives.attempts import all_of, any_of
from gatekeeper.stats.objectives.objective import decide

# The tokens and US dollars that a call takes, and the most that one could take. Pure.


LONGER = 10
"""How many times longer than the longest observed prompt the prompt of an input outside the suite
may be."""


def cost_of(outcome: Outcome) -> float | None:
    """Return the price of a call in US dollars; None if it is not known."""
    return outcome.sample.completion.cost_usd if outcome.sample.completion else None


def tokens_of(outcome: Outcome) -> int | None:
    """Return the tokens of a call's prompt and answer; None if one of them is not known."""
    split = _split(outcome)
    return None if split is None else sum(split)


def most_tokens(outcomes: Sequence[Outcome]) -> float | None:
    """Return the largest number of tokens that a call could take: a prompt `LONGER` times the
    longest, and the longest answer that the parameters allow. None if they limit none, or tokens
    are not known."""
    most = _most(outcomes)
    return None if most is None else float(sum(most))


def most_cost(outcomes: Sequence[Outcome]) -> float | None:
    """Return the largest cost of a call in US dollars, as `most_tokens` does for tokens.

    A call costs at least as much as each of its tokens, which bounds the price of one.
    """
    most = _most(outcomes)
    if most is None:
        return None
    price: list[float | None] = [None, None]
    for outcome in outcomes:
        cost, split = cost_of(outcome), _split(outcome)
        if cost is None or split is None:
            continue
        for kind, tokens in enumerate(split):
            if tokens:
                known = price[kind]
                price[kind] = cost / tokens if known is None else min(known, cost / tokens)
    each = [p * tokens for p, tokens in zip(price, most, strict=True) if p is not None]
    return sum(each) if len(each) == len(price) else None


def _most(outcomes: Sequence[Outcome]) -> tuple[int, int] | None:
    """Return the longest prompt and the longest answer that are possible, in tokens."""
    longest = limit = 0
    for outcome in outcomes:
        if outcome.sample.completion is None:
            continue
        split, own = _split(outcome), _limit(outcome)
        if split is None or own is None:
            return None
        longest, limit = max(longest, split[0]), max(limit, own)
    return (LONGER * longest, limit) if limit else None


def _split(outcome: Outcome) -> tuple[int, int] | None:
    completion = outcome.sample.completion
    if completion is None or completion.prompt_tokens is None:
        return None
    if completion.completion_tokens is None:
        return None
    return completion.prompt_tokens, completion.completion_tokens


def _limit(outcome: Outcome) -> int | None:
    return max(written_limits(outcome.sample.trial.request.params), default=None)


def slo_results(
    contract: Contract,
    head: Sequence[Outcome],
    planned: Mapping[str, int],
    confidence: float = 0.95,
    counts_with: Mapping[str, str] | None = None,
    *,
    same_input: Mapping[str, str] | None = None,
    calibrations: Calibrations = NOT_CALIBRATED,
) -> tuple[SloResult, ...]:
    """Return the result of each objective that the contract sets, in its order.

    `head` holds the head arm's outcomes, those of failed calls included; `planned` how many each
    input should have, by fixture: a missing outcome could have been anything. `confidence` applies
    to all decisions together: the objectives share `1 - confidence` in equal parts (Bonferroni). A
    caller that looks several times must pass a higher value. `counts_with` maps a fixture to the
    one that stands for its unit, its input or its cluster; `same_input` only to the one with the
    same input, whose answers it shares, if units may be clusters of several inputs. Rates that rest
    on a judge are corrected by its `calibrations`.
    """
    if not contract.slo:
        return ()
    each = 1 - (1 - confidence) / len(contract.slo)
    units = counts_with or {}
    inputs = units if same_input is None else same_input
    clustered = len(units) > len(inputs)
    results = []
    for objective in contract.slo:
        about = _fixtures(contract, objective)
        mine = each_answer_once((o for o in head if o.sample.trial.fixture in about), inputs)
        data = _ObjectiveData(
            mine,
            {inputs.get(f, f): count for f, count in planned.items() if f in about},
            units,
            each,
            clustered,
            judge_behind(objective, mine, calibrations),
        )
        found = replace(_result(objective, data), default=objective.default, clustered=clustered)
        as_judged = found.judged is None and rests_on_judges(objective, mine)
        results.append(replace(found, as_judged=as_judged, similar=objective.similar))
    return tuple(results)


def undecided(results: Sequence[SloResult]) -> tuple[SloResult, ...]:
    """Return the same results as open, because the samples themselves determined the time of the
    stop."""
    return tuple(replace(result, met=None, unmeasured=False) for result in results)


def in_doubt(result: SloResult) -> bool:
    """Return whether the objective is worth more samples: it is open, and not on the right side of
    its target."""
    return result.unmeasured or objective_status(result) == "unlikely"


def objective_status(result: SloResult) -> str:
    """Return `met`, `missed`, or for an open objective the side of the measured value:

    `likely`, `unlikely`; `unknown` if nothing was measured.
    """
    if result.met is not None:
        return "met" if result.met else "missed"
    if result.observed is None:
        return "unknown"
    higher = measure_of(result.objective).better == "higher"
    good = result.observed >= result.target if higher else result.observed <= result.target
    return "likely" if good else "unlikely"


def concerned(
    contract: Contract, objective: Objective, outcomes: Sequence[Outcome]
) -> list[Outcome]:
    """Return the outcomes that the objective is about: those of its category, and of its check."""
    about = _fixtures(contract, objective)
    return [o for o in outcomes if o.sample.trial.fixture in about]


def count_units(contract: Contract, objective: Objective, counts_with: Mapping[str, str]) -> int:
    """Return how many units the objective is about: different inputs, or clusters of them."""
    about = _fixtures(contract, objective)
    return len({counts_with.get(fixture, fixture) for fixture in about})


@dataclass(frozen=True, slots=True)
class _ObjectiveData:
    """The samples of the fixtures that an objective is about, and the confidence that its decision
    needs. `planned` is by fixture."""

    outcomes: Sequence[Outcome]
    planned: Mapping[str, int]
    counts_with: Mapping[str, str]
    confidence: float
    clustered: bool = False
    judge: CheckCalibration | None = None

    def inputs(self, amount: Callable[[Outcome], float | None]) -> list[tuple[float, int, int]]:
        """Return, for each unit, the sum of the known amounts, their number, and how many there
        should be. More samples of an input say nothing new about the others, and neither does a
        related input."""
        total: dict[str, float] = defaultdict(float)
        known: Counter[str] = Counter()
        wanted: Counter[str] = Counter()
        for fixture, count in self.planned.items():
            wanted[self.counts_with.get(fixture, fixture)] += count
        for outcome in self.outcomes:
            value = amount(outcome)
            if value is not None:
                fixture = outcome.sample.trial.fixture
                key = self.counts_with.get(fixture, fixture)
                total[key] += value
                known[key] += 1
        return [(total[key], known[key], max(wanted[key], known[key])) for key in wanted]


def _fixtures(contract: Contract, objective: Objective) -> set[str]:
    """Return the fixtures that the objective is about."""
    return {
        fixture.id
        for fixture in contract.fixtures
        if objective.category in (None, fixture.category)
        and _has_check_for(objective, contract.checks_for(fixture))
    }


def _has_check_for(objective: Objective, checks: Sequence[CheckSpec]) -> bool:
    """Return whether a fixture's checks can say anything about the objective."""
    if objective.measure.unit == "score":
        return any(spec.shape.scores for spec in checks)
    return objective.check is None or any(spec.name == objective.check for spec in checks)


def _result(objective: Objective, data: _ObjectiveData) -> SloResult:
    match objective.measure.unit:
        case "share":
            return _rate(objective, data)
        case "ms":
            return _latency(objective, data)
        case "score":
            rows = data.inputs(lambda outcome: outcome.score)
            return _bounded_mean(objective, data, _readings(rows))
        case "agreement" if objective.attempts is None:
            found = (data.outcomes, data.planned, data.counts_with)
            pairs = pairs_of_units(*found, objective.similar)
            return _bounded_mean(objective, data, _readings(pairs))
        case "agreement":
            return _bounded_mean(objective, data, _attempts(objective, data))
        case "usd":
            return _mean(objective, data, cost_of, most_cost(data.outcomes))
        case "tokens":
            return _mean(objective, data, tokens_of, most_tokens(data.outcomes))


def _rate(objective: Objective, data: _ObjectiveData) -> SloResult:
    """Return the rate with Gaffke's interval over units, which decides."""
    inputs = data.inputs(flag_of(objective))
    hits, samples, wanted, most = _counts(inputs)

    def result(hits: Sequence[int], samples: Sequence[int]) -> SloResult:
        n = sum(samples)
        observed = sum(hits) / n if n else None
        if data.judge and observed is not None:
            # A unit counts as one output, however many samples it has.
            units, judge = sum(count > 0 for count in samples), data.judge
            found = corrected_rate(observed, units, judge.confusion, data.confidence)
            return _as_people_would(objective, observed, found)
        shares = _shares(hits, samples)
        side = proven_side(shares, objective.target, data.confidence)
        met = None if side is None else (side == "above") == (objective.measure.better == "higher")
        met = _agreeing(met, observed, objective)
        shown = gaffke_interval(shares, 0.0, 1.0, data.confidence)
        return SloResult(objective.name, objective.target, observed, shown, met)

    measured = result(hits, samples)
    if list(samples) != list(wanted):
        measured = _agreed(measured, result(hits, wanted), result(most, wanted))
    return _with_inputs(measured, sum(n > 0 for n in samples), objective, data)


def _as_people_would(objective: Objective, judged: float, found: Estimate | None) -> SloResult:
    """Return a value that is corrected for the judge's errors, with the interval that decides. Not
    known if the labels say too little of the judge."""
    if found is None:
        return SloResult(objective.name, objective.target, None, None, None, judged=judged)
    met = _decide(objective, found.value, found.interval)
    return SloResult(
        objective.name, objective.target, found.value, found.interval, met, judged=judged
    )


def _shares(hits: Sequence[int], samples: Sequence[int]) -> list[float]:
    """Return the share of hits of each input. Each counts alike, however many samples it has."""
    return [k / n for k, n in zip(hits, samples, strict=True) if n]


def _with_inputs(
    found: SloResult, inputs: int, objective: Objective, data: _ObjectiveData
) -> SloResult:
    needed = inputs_to_prove(objective, data.confidence)
    return replace(found, inputs=inputs, inputs_needed=needed)


def inputs_to_prove(objective: Objective, confidence: float) -> int | None:
    """Return how many distinct inputs prove the objective met if every sample is good.

    None for a mean, which depends on the amounts, and for a target that nothing proves.
    """
    share = objective.good_share if objective.attempts is None else objective.target
    return None if share is None else inputs_needed(float(share), confidence)


def _counts(
    inputs: Sequence[tuple[float, int, int]],
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return for each input the hits, the samples, the planned samples, and the most hits
    possible."""
    hits, samples = [int(total) for total, _, _ in inputs], [known for _, known, _ in inputs]
    wanted = [planned for _, _, planned in inputs]
    most = [k + w - n for k, w, n in zip(hits, wanted, samples, strict=True)]
    return hits, samples, wanted, most


def _latency(objective: Objective, data: _ObjectiveData) -> SloResult:
    """Return the latency that the share of fast calls over inputs decides: an input with a long
    answer is slow in every sample."""
    answered = [(o, o.sample.completion) for o in data.outcomes]
    times = [(o, time_of(objective, completion)) for o, completion in answered if completion]
    known = [time for _, time in times if time is not None]
    target, q = objective.target, objective.measure.quantile or 0.95
    # Nothing was lost with an answer whose latency is not known.
    untimed = Counter(o.sample.trial.fixture for o, time in times if time is None)
    planned = {fixture: count - untimed[fixture] for fixture, count in data.planned.items()}
    inputs = replace(data, planned=planned).inputs(lambda o: is_good(objective, o))
    hits, samples, wanted, most = _counts(inputs)

    def result(values: list[float], hits: Sequence[int], samples: Sequence[int]) -> SloResult:
        side = proven_side(_shares(hits, samples), q, data.confidence)
        met = None if side is None else side == "above"
        return SloResult(objective.name, target, quantile(values, q), None, met)

    # Only its place in the order counts: a lost call was slower than all others, or faster.
    lost, slowest = sum(wanted) - sum(samples), 2 * max([*known, target])
    measured = result(known, hits, samples)
    if lost:
        measured = _agreed(
            measured,
            result([*known, *[slowest] * lost], hits, wanted),
            result([*known, *[0.0] * lost], most, wanted),
        )
    measured = replace(measured, interval=_undecided_targets(times, q, data))
    return _with_inputs(measured, sum(n > 0 for n in samples), objective, data)


def _undecided_targets(
    times: Sequence[tuple[Outcome, float | None]], q: float, data: _ObjectiveData
) -> ConfidenceInterval | None:
    """Return the range of targets that these times neither meet nor miss; None if one of its ends
    needs more inputs."""
    units: dict[str, list[float]] = defaultdict(list)
    for outcome, time in times:
        if time is not None:
            fixture = outcome.sample.trial.fixture
            units[data.counts_with.get(fixture, fixture)].append(time)

    def side(target: float) -> Literal["above", "below"] | None:
        fast = [sum(time <= target for time in own) / len(own) for own in units.values()]
        return proven_side(fast, q, data.confidence)

    ordered = sorted({time for own in units.values() for time in own})
    if not ordered or side(-math.inf) != "below":
        return None
    low = bisect_left(ordered, True, key=lambda target: side(target) != "below")
    high = bisect_left(ordered, True, lo=low, key=lambda target: side(target) == "above")
    return ConfidenceInterval(ordered[low], ordered[high]) if high < len(ordered) else None


_Rows = Sequence[tuple[float, int]]
"""For each unit, the sum of its amounts and their number."""


def _readings(inputs: Sequence[tuple[float, int, int]]) -> tuple[_Rows, _Rows, _Rows]:
    """Return the known amounts, and these with all unknown ones as 0, and as 1."""
    return (
        [(total, known) for total, known, _ in inputs],
        [(total, wanted) for total, _, wanted in inputs],
        [(total + wanted - known, wanted) for total, known, wanted in inputs],
    )


def _attempts(objective: Objective, data: _ObjectiveData) -> tuple[_Rows, _Rows, _Rows]:
    """Return for each unit how often `attempts` samples succeed, as the sum over its inputs, and
    their number: of inputs with enough known samples, and of all, with each lost sample as failed,
    and as passed."""
    k, flag = objective.attempts or 1, flag_of(objective)
    share = all_of if objective.needs_all else any_of
    passed: Counter[str] = Counter()
    known: Counter[str] = Counter()
    for outcome in data.outcomes:
        if (found := flag(outcome)) is not None:
            passed[outcome.sample.trial.fixture] += found
            known[outcome.sample.trial.fixture] += 1

    def rows(lost: int | None) -> _Rows:
        units: dict[str, list[float]] = defaultdict(list)
        for fixture, count in data.planned.items():
            own = known[fixture]
            n = own if lost is None else max(count, own)
            if n >= k:
                value = share(k, passed[fixture] + (lost or 0) * (n - own), n)
                units[data.counts_with.get(fixture, fixture)].append(value)
        return [(math.fsum(values), len(values)) for values in units.values()]

    return rows(None), rows(0), rows(1)


def _bounded_mean(
    objective: Objective, data: _ObjectiveData, readings: tuple[_Rows, _Rows, _Rows]
) -> SloResult:
    """Return the mean over inputs of amounts from 0 to 1, those that are unknown too."""

    def result(rows: _Rows) -> SloResult:
        means = [min(1.0, total / known) for total, known in rows if known]
        observed = math.fsum(means) / len(means) if means else None
        if data.judge and observed is not None:
            found = correct_score(means, data.judge, data.confidence)
            return _as_people_would(objective, observed, found)
        interval = gaffke_interval(means, 0.0, 1.0, data.confidence)
        met = _decide(objective, observed, interval)
        return SloResult(objective.name, objective.target, observed, interval, met)

    agreed = _agreed(*map(result, readings))
    return _with_inputs(agreed, sum(known > 0 for _, known in readings[0]), objective, data)


def _mean(
    objective: Objective,
    data: _ObjectiveData,
    amount: Callable[[Outcome], float | None],
    most: float | None,
) -> SloResult:
    """Return the mean over calls, decided by that over inputs; `most` is what a call could take."""
    answered = sum(o.sample.completion is not None for o in data.outcomes)
    rows = [(total, known) for total, known, _ in data.inputs(amount) if known]
    # A mean over the calls whose price happens to be known would be a mean of something else.
    if sum(known for _, known in rows) < answered:
        rows = []
    totals, samples = [total for total, _ in rows], [known for _, known in rows]
    n = sum(samples)
    observed = math.fsum(totals) / n if n else None
    interval = clustered_mean_interval(totals, samples, data.confidence, most)
    met = _decide(objective, observed, interval)
    found = SloResult(objective.name, objective.target, observed, interval, met)
    return _with_inputs(found, len(rows), objective, data)


def _decide(
    objective: Objective, observed: float | None, interval: ConfidenceInterval | None
) -> bool | None:
    if observed is None or interval is None:
        return None
    better, target = objective.measure.better, objective.target
    met = decide(observed, interval.low, interval.high, target, better)
    return _agreeing(met, observed, objective)


def _agreeing(met: bool | None, observed: float | None, objective: Objective) -> bool | None:
    """Return the decision if inputs and samples agree about the target, else None: the inputs
    decide and count alike, and the observed value counts samples."""
    seen = decide(observed, observed, observed, objective.target, objective.measure.better)
    return met if met == seen else None


def _agreed(measured: SloResult, one: SloResult, other: SloResult) -> SloResult:
    """Return the measured result, unless the unmeasured samples could have changed its verdict, if
    all of them had been like `one` or like `other`."""
    calls_for = {"met": 0, "likely": 0, "unlikely": 1, "missed": 2, "unknown": 3}
    if calls_for[objective_status(one)] != calls_for[objective_status(other)]:
        return replace(measured, met=None, unmeasured=True)
    return replace(measured, met=one.met if one.met == other.met else None)
