"""Samples of settings -> every two compared -> the setting to recommend, and why. Pure.

Every two settings are compared on the same fixtures by the exact sign-flip test, two-sided, and
all these p-values are adjusted together by Holm: the setting that looks best was picked after
looking, and only a family of all pairs makes up for that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from gatekeeper.contract.model import Contract
from gatekeeper.contract.trial import Outcome
from gatekeeper.evidence.outcomes import arm_result, by_fixture, duplicates, fixture_results
from gatekeeper.result import ArmResult
from gatekeeper.stats.multiple import holm
from gatekeeper.stats.power import minimum_detectable_effect
from gatekeeper.stats.sign_flip import sign_flip_test
from gatekeeper.sweep.grid import Setting
from gatekeeper.sweep.measure import Measured

Passes = Mapping[tuple[str, int], bool]
"""Whether the sample passed, by fixture and repetition; unmeasured ones are left out."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A setting and what was measured of it. `tokens_per_call` counts prompt and answer."""

    setting: Setting
    arm: ArmResult
    tokens_per_call: float | None


@dataclass(frozen=True, slots=True)
class PairOfSettings:
    """Two settings by their number. `difference` is the second's pass rate less the first's, the
    mean over `inputs` distinct inputs measured under both; `p_value` is two-sided, `adjusted` by
    Holm over all pairs."""

    first: int
    second: int
    inputs: int
    difference: float | None
    p_value: float
    adjusted: float


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The number of the setting, and the reason in a sentence. None where nothing was measured."""

    setting: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What a sweep found. `inputs` is how many distinct ones any two settings have both answered,
    where they have any. `visible` is the smallest drop between two settings that it could have
    found with 80 % power, as a share; None where it could find none."""

    contract: str
    cells: tuple[Cell, ...]
    pairs: tuple[PairOfSettings, ...]
    recommendation: Recommendation
    alpha: float
    visible: float | None
    inputs: int
    samples: int
    measured: Measured


def weigh_sweep(contract: Contract, settings: Sequence[Setting], measured: Measured) -> SweepResult:
    """Compare every two settings and recommend one."""
    same_input = duplicates(o.sample.trial for outcomes in measured.outcomes for o in outcomes)
    cells = tuple(
        _cell(contract, setting, outcomes)
        for setting, outcomes in zip(settings, measured.outcomes, strict=True)
    )
    pairs = _pairs([_passes(outcomes) for outcomes in measured.outcomes], same_input)
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
    )


def _cell(contract: Contract, setting: Setting, outcomes: Sequence[Outcome]) -> Cell:
    groups = by_fixture(outcomes)
    fixtures = fixture_results(
        contract, groups, {}, contract.sampling.samples, paired=False, copies=True
    )
    answered = [o.sample.completion for o in outcomes if o.sample.completion]
    tokens = [
        c.prompt_tokens + c.completion_tokens
        for c in answered
        if c.prompt_tokens is not None and c.completion_tokens is not None
    ]
    known = answered and len(tokens) == len(answered)
    return Cell(
        setting,
        arm_result(setting.target, "head", outcomes, fixtures),
        sum(tokens) / len(tokens) if known else None,
    )


def _passes(outcomes: Sequence[Outcome]) -> Passes:
    return {
        (o.sample.trial.fixture, o.sample.trial.repetition): o.passed
        for o in outcomes
        if o.passed is not None
    }


def _pairs(passes: Sequence[Passes], same_input: Mapping[str, str]) -> tuple[PairOfSettings, ...]:
    found = [
        (first, second, *_compared(passes[first], passes[second], same_input))
        for first, second in combinations(range(len(passes)), 2)
    ]
    adjusted = holm([p for *_, p in found]).p_values if found else ()
    return tuple(
        PairOfSettings(first, second, inputs, difference, p, holms)
        for (first, second, inputs, difference, p), holms in zip(found, adjusted, strict=True)
    )


def _compared(
    first: Passes, second: Passes, same_input: Mapping[str, str]
) -> tuple[int, float | None, float]:
    """How many inputs both have, the mean difference of their rates, the two-sided p-value."""
    more: dict[str, int] = defaultdict(int)
    drawn: dict[str, int] = defaultdict(int)
    for key in first.keys() & second.keys():
        fixture = same_input.get(key[0], key[0])
        more[fixture] += second[key] - first[key]
        drawn[fixture] += 1
    if not drawn:
        return 0, None, 1.0
    difference = sum(more[f] / drawn[f] for f in drawn) / len(drawn)
    worse = [-more[f] for f in drawn]
    one_sided = min(sign_flip_test(worse), sign_flip_test([-d for d in worse]))
    return len(drawn), difference, min(1.0, 2 * one_sided)


def _recommended(
    cells: Sequence[Cell],
    pairs: Sequence[PairOfSettings],
    alpha: float,
    margin: float,
    measured: Measured,
) -> Recommendation:
    """The cheapest of those that are neither surely worse than the best nor look worse than it
    by more than the contract's margin. A call without an answer counts as failed: a setting that
    mostly does not answer is no good one, however good the rest."""
    if measured.ended is not None:
        return Recommendation(None, f"the sweep ended early: {measured.ended}")
    rates = {
        i: c.arm.passed / (c.arm.samples + c.arm.failed_calls)
        for i, c in enumerate(cells)
        if c.arm.samples
    }
    if not rates:
        return Recommendation(None, "no sample could be measured")
    best = max(rates, key=lambda i: (rates[i], _standing(cells[i])))
    worse = {
        pair.second if pair.first == best else pair.first
        for pair in pairs
        if best in (pair.first, pair.second) and pair.adjusted <= alpha
    }
    near = [i for i in rates if i not in worse and rates[best] - rates[i] <= margin]
    measure, price = _price(cells, near)
    chosen = min(near, key=lambda i: (price[i], -rates[i], not cells[i].setting.current))
    return Recommendation(chosen, _reason(cells, rates, best, chosen, measure, price, near))


def _standing(cell: Cell) -> tuple[float, bool]:
    """Among equally good ones the cheaper, then the one in use."""
    return -(cell.arm.cost_per_call_usd or 0.0), cell.setting.current


def _price(cells: Sequence[Cell], near: Sequence[int]) -> tuple[str, Mapping[int, float]]:
    """By cost where it is known of all, else by tokens, else by latency; else all are equal."""
    ways: tuple[tuple[str, Mapping[int, float | None]], ...] = (
        ("cost", {i: cells[i].arm.cost_per_call_usd for i in near}),
        ("tokens", {i: cells[i].tokens_per_call for i in near}),
        ("latency", {i: cells[i].arm.latency_p95_ms for i in near}),
    )
    for name, values in ways:
        known = {i: value for i, value in values.items() if value is not None}
        if len(known) == len(near):
            # Where all cost the same, such as nothing, the price is no reason to change.
            return name if len(set(known.values())) > 1 else "", known
    return "", dict.fromkeys(near, 0.0)


def _reason(
    cells: Sequence[Cell],
    rates: Mapping[int, float],
    best: int,
    chosen: int,
    measure: str,
    price: Mapping[int, float],
    near: Sequence[int],
) -> str:
    others = len(near) - 1
    rate = f"{rates[chosen]:.1%} of its samples pass"
    if chosen == best and not others:
        return f"{rate}; every other setting is worse, surely or by more than the margin"
    least = {"cost": "costs least", "tokens": "takes the fewest tokens", "latency": "is quickest"}
    why = f" and {least[measure]}" if measure else ""
    if chosen == best:
        return f"{rate}, the most{why}; {others} more could not be told from it"
    saved = ""
    if measure and price[best]:
        saved = f" ({1 - price[chosen] / price[best]:.0%} less)"
    named = cells[best].setting.name
    return f"{rate}, which cannot be told from the best ({named}, {rates[best]:.1%}){why}{saved}"
