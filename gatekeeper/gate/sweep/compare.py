"""Compares every two settings, and recommends one with the reason. Pure.

Every two settings are compared on the same fixtures by the exact two-sided sign-flip test. All
p-values are adjusted together by Holm, because the best setting is chosen after looking at the
results, which only a family of all pairs accounts for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from gatekeeper import numbers
from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.values.clusters import clusters_of, count_as_one
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.gate.results.result import ArmResult
from gatekeeper.gate.samples.outcomes import arm_result, by_fixture, duplicates, fixture_results
from gatekeeper.gate.sweep.grid import Setting
from gatekeeper.gate.sweep.lift import Lift, lifts_of
from gatekeeper.gate.sweep.measure import Measured
from gatekeeper.gate.sweep.suitability import (
    PairOfSettings,
    Suitability,
    compare_pairs,
    passes_of,
    summarise_suitability,
)
from gatekeeper.stats.intervals.relative_change import relative_change
from gatekeeper.stats.paired.power import minimum_detectable_effect

# One setting of a sweep with its measurements.


@dataclass(frozen=True, slots=True)
class Cell:
    """A setting and its measurements. `tokens_per_call` counts prompt and answer. `seeds` are those
    of the requests, in order; empty if no seed was sent."""

    setting: Setting
    arm: ArmResult
    tokens_per_call: float | None
    seeds: tuple[int, ...] = ()


# Compares the price of a call between settings: is one significantly and materially lower?
# Pure.


CONFIDENCE = 0.99
MATERIAL = 0.1
"""The share of its price that another setting must save before it is recommended."""
_SEED = 42
_VERBS = {"cost": "costs", "tokens": "takes", "latency": "answers in"}


@dataclass(frozen=True, slots=True)
class Price:
    """`measure` is `cost`, `tokens` or `latency`, whichever is known of all settings first; empty
    if none is. `amounts` has that of each setting, `units` what each fixture took, by its id."""

    measure: str
    amounts: Mapping[int, float]
    units: Mapping[int, Mapping[str, Sequence[float]]]

    @property
    def verb(self) -> str:
        """Return the verb that stands before `less`: what a setting does with the amount."""
        return _VERBS[self.measure]

    def is_less(self, one: int, other: int) -> bool:
        """Return whether the first takes less than the other: by `MATERIAL` or more, and by the
        paired bootstrap over fixtures that both answered."""
        if not self.measure or one == other:
            return False
        if self.amounts[one] > (1 - MATERIAL) * self.amounts[other]:
            return False
        shared = sorted(self.units[one].keys() & self.units[other].keys())
        import numpy as np

        found = relative_change(
            [self.units[other][fixture] for fixture in shared],
            [self.units[one][fixture] for fixture in shared],
            CONFIDENCE,
            np.random.default_rng(_SEED),
            0.95 if self.measure == "latency" else None,
        )
        return found is not None and found.interval is not None and found.interval.high < 0


def price_of(
    cells: Sequence[Cell], outcomes: Sequence[Sequence[Outcome]], near: Sequence[int]
) -> Price:
    """Return how settings are compared by price: by cost if it is known for all, else by tokens,
    else by latency."""
    for measure, of_cell, of_answer in _WAYS:
        known = {i: value for i in near if (value := of_cell(cells[i])) is not None}
        if len(known) == len(near):
            return Price(measure, known, {i: _units(outcomes[i], of_answer) for i in near})
    return Price("", dict.fromkeys(near, 0.0), {})


_Of = Callable[[Any], float | None]
_WAYS: tuple[tuple[str, _Of, _Of], ...] = (
    ("cost", attrgetter("arm.cost_per_call_usd"), attrgetter("cost_usd")),
    ("tokens", attrgetter("tokens_per_call"), attrgetter("tokens")),
    ("latency", attrgetter("arm.latency_p95_ms"), attrgetter("latency_ms")),
)
"""How settings can be compared by price, with what it is of a setting and of an answer."""


def _units(outcomes: Sequence[Outcome], of_answer: _Of) -> Mapping[str, Sequence[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        completion = outcome.sample.completion
        value = of_answer(completion) if completion else None
        if value is not None:
            found[outcome.sample.trial.fixture].append(value)
    return found


__all__ = ["Cell", "PairOfSettings", "Recommendation", "SweepResult", "summarise_sweep"]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The number of the setting, and the reason in a sentence. None if nothing was measured."""

    setting: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What a sweep found. `inputs` is the number of distinct inputs that any two settings have both
    answered, or of clusters of them if `clustered`; 0 if there are none. `visible` is the smallest
    drop between two settings that it could have found with 80 % power, as a share; None if it could
    find none. `suitability` is None if no fixture was made from a rule of the prompt. `lifts` say
    how much the instructions help, if these are what varies."""

    contract: str
    cells: tuple[Cell, ...]
    pairs: tuple[PairOfSettings, ...]
    recommendation: Recommendation
    alpha: float
    visible: float | None
    inputs: int
    samples: int
    measured: Measured
    clustered: bool = False
    suitability: Suitability | None = None
    lifts: tuple[Lift, ...] = ()


def summarise_sweep(
    contract: Contract, settings: Sequence[Setting], measured: Measured
) -> SweepResult:
    """Compare every two settings and recommend one."""
    same_input = duplicates(o.sample.trial for outcomes in measured.outcomes for o in outcomes)
    counts_with = count_as_one(same_input, clusters_of(contract.fixtures))
    cells = tuple(
        _cell(contract, setting, outcomes)
        for setting, outcomes in zip(settings, measured.outcomes, strict=True)
    )
    passes = [passes_of(outcomes) for outcomes in measured.outcomes]
    pairs = compare_pairs(passes, counts_with)
    alpha, margin = contract.gate.alpha, contract.gate.margin
    inputs = min((pair.inputs for pair in pairs if pair.inputs), default=0)
    return SweepResult(
        contract=contract.name,
        cells=cells,
        pairs=pairs,
        recommendation=_recommended(cells, pairs, alpha, margin, measured),
        alpha=alpha,
        visible=minimum_detectable_effect(inputs, alpha / (2 * max(1, len(pairs)))),
        inputs=inputs,
        samples=contract.sampling.samples,
        measured=measured,
        clustered=len(counts_with) > len(same_input),
        suitability=summarise_suitability(contract, passes, counts_with),
        lifts=lifts_of(settings, measured.outcomes, passes, pairs, counts_with),
    )


def _cell(contract: Contract, setting: Setting, outcomes: Sequence[Outcome]) -> Cell:
    groups = by_fixture(outcomes)
    fixtures = fixture_results(
        contract, groups, {}, contract.sampling.samples, paired=False, copies=True
    )
    answered = [o.sample.completion for o in outcomes if o.sample.completion]
    tokens = [c.tokens for c in answered if c.tokens is not None]
    known = answered and len(tokens) == len(answered)
    return Cell(
        setting,
        arm_result(setting.target, "head", outcomes, fixtures),
        sum(tokens) / len(tokens) if known else None,
        _seeds(outcomes),
    )


def _seeds(outcomes: Sequence[Outcome]) -> tuple[int, ...]:
    """Return the seeds that were sent. A setting or the contract's `params` can set one instead of
    the contract's `sampling`."""
    from gatekeeper.providers.call_advice import takes_no_seed

    requests = [outcome.sample.trial.request for outcome in outcomes]
    seeds = {
        r.params.get("seed", r.seed)
        for r in requests
        if recording_path(r.model) is None and not takes_no_seed(r.model)
    }
    return tuple(sorted(seed for seed in seeds if seed is not None))


def _recommended(
    cells: Sequence[Cell],
    pairs: Sequence[PairOfSettings],
    alpha: float,
    margin: float,
    measured: Measured,
) -> Recommendation:
    """Return the recommended setting.

    Candidates are neither significantly worse than the best one, nor worse by more than the
    contract's margin. Among these, today's setting comes first, then the best one; but one that is
    significantly and materially cheaper comes before both. A call without an answer counts as
    failed, so a setting that mostly does not answer is never recommended.
    """
    if measured.ended is not None:
        return Recommendation(None, f"the sweep ended early: {measured.ended}")
    rates = {
        i: c.arm.passed / (c.arm.samples + c.arm.failed_calls)
        for i, c in enumerate(cells)
        if c.arm.samples
    }
    if not rates:
        return Recommendation(None, "no sample could be measured")
    best = max(rates, key=lambda i: (rates[i], _tie_break(cells[i])))
    worse = {
        pair.second if pair.first == best else pair.first
        for pair in pairs
        if best in (pair.first, pair.second) and pair.adjusted <= alpha
    }
    near = [i for i in rates if i not in worse and rates[best] - rates[i] <= margin]
    price = price_of(cells, measured.outcomes, near)
    kept = next((i for i in near if cells[i].setting.current), best)
    cheaper = [i for i in near if price.is_less(i, kept)]
    chosen = kept
    if cheaper:
        least = min(cheaper, key=lambda i: (price.amounts[i], -rates[i]))
        alike = [i for i in cheaper if not price.is_less(least, i)]
        chosen = max(alike, key=lambda i: (rates[i], -price.amounts[i]))
    return Recommendation(chosen, _reason(cells, rates, best, kept, chosen, price, near))


def _tie_break(cell: Cell) -> tuple[bool, float]:
    """Return the order among equally good settings: the one in use first, then the cheaper."""
    return cell.setting.current, -(cell.arm.cost_per_call_usd or 0.0)


def _reason(
    cells: Sequence[Cell],
    rates: Mapping[int, float],
    best: int,
    kept: int,
    chosen: int,
    price: Price,
    near: Sequence[int],
) -> str:
    others = len(near) - 1
    rate = f"{numbers.percent(rates[chosen])} of its samples pass"
    if chosen == best and not others:
        return (
            f"{rate}; every other setting is significantly worse, or worse by more than the margin"
        )
    why = ""
    if chosen != kept:
        than = "the current setting" if cells[kept].setting.current else cells[kept].setting.name
        less = 1 - price.amounts[chosen] / price.amounts[kept]
        saved = numbers.percent(less)
        why = (
            f"; the recommended setting {price.verb} significantly less than {than} ({saved} less)"
        )
    elif cells[chosen].setting.current:
        why = "; this setting is in use, and no other good setting costs significantly less"
    if rates[chosen] == rates[best]:
        have = "has" if others == 1 else "have"
        count = numbers.count(others, "other setting")
        return f"{rate}, the highest rate{why}; {count} {have} no significantly lower rate"
    named = cells[best].setting.name
    highest = numbers.percent(rates[best])
    return (
        f"{rate}, not significantly fewer than with the setting that has the highest rate "
        f"({named}, {highest}){why}"
    )
