"""Computes what a comparison could detect before any sample, from its number of inputs alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

from gatekeeper import numbers
from gatekeeper.contract.values.objectives import label_of
from gatekeeper.gate.comparison.resource_limits import fewest_inputs
from gatekeeper.gate.measuring.monitor import OBJECTIVE_ERROR
from gatekeeper.gate.objectives.objectives import count_units, inputs_to_prove
from gatekeeper.gate.plan.alpha import (
    claims_fixtures,
    comparison_alpha,
    gates_repairs,
    repair_level,
)
from gatekeeper.gate.plan.plan import Evaluation
from gatekeeper.sampling.limits import Price
from gatekeeper.stats.paired.power import fixtures_needed, minimum_detectable_effect
from gatekeeper.stats.paired.sequential import looks

FAIR = 0.05
"""How often a harmless change may end inconclusive where that blocks it."""
RARE_FAILURES = 0.1


@dataclass(frozen=True, slots=True)
class ComparisonPower:
    """`inputs` distinct inputs, or clusters of them, are compared at `level`. `contracts` says how
    many contracts share it; 1 is the contract alone. They have `together` comparisons, more than
    one a contract if the base contract also applies. Shares in [0, 1].

    `minimum_detectable_effect` is the smallest drop found with probability 0.8 if fixtures break
    outright and do not flicker; more samples do not reduce it, but they do reduce the drop that is
    found if all fixtures pass a little less often. None if no drop can be found. `fixtures_needed`
    is how many fixtures find one of `margin`; None if no number does.
    """

    name: str
    inputs: int
    level: float
    margin: float
    minimum_detectable_effect: float | None
    fixtures_needed: int | None
    together: int = 1
    contracts: int = 1
    clustered_fixtures: int | None = None
    """How many fixtures the clusters hold; None if related fixtures do not count as one."""
    finds_broken: bool = False
    """Whether fresh samples find a single fixture that always fails."""

    @property
    def warning(self) -> str | None:
        """Return what to do if the contract cannot detect the drop that it wants to block."""
        effect = self.minimum_detectable_effect
        if effect is not None and effect <= self.margin:
            return None
        # Rounded up: what is advised must be enough.
        percent = None if effect is None else math.ceil(round(effect * 100, 6))
        shown = "cannot show a drop"
        if percent is not None:
            shown = f"can only show a drop of {numbers.size_in_points(percent / 100)} or more"
            shown += " over all inputs" if self.finds_broken else ""
        return (
            f"{self.name}, {self.comparisons_text}: {self.units_text} {shown}, but "
            f"`gate.margin` is {numbers.size_in_points(self.margin)}; {self._what_helps}"
        )

    @property
    def _what_helps(self) -> str:
        """Return what shows a smaller drop. A wider margin does not: it hides larger ones."""
        needed = self.fixtures_needed
        more = f"add {self._noun}s" if needed is None else f"use {needed:,} {self._noun}s"
        if self.minimum_detectable_effect is None:
            return more
        breaks = f"if a change breaks {self._noun}s outright, {more}"
        if self.finds_broken:
            breaks = f"a fixture that always fails is found; to see a smaller drop, {more}"
        return f"{breaks}; if answers to the same {self._noun} vary, take more samples"

    @property
    def note(self) -> str | None:
        """Return the same in short, for a contract that does not rely on the comparison."""
        if self.warning is None:
            return None
        effect = self.minimum_detectable_effect
        shown = "cannot show a drop"
        if effect is not None:
            size = math.ceil(round(effect * 100, 6)) / 100
            shown = f"can only show a drop of {numbers.size_in_points(size)} or more"
        enough = ""
        if self.fixtures_needed is not None:
            needed = f"{self.fixtures_needed:,} {self._noun}s"
            enough = f"; {needed} can show a drop of {numbers.size_in_points(self.margin)}"
        return f"{self.units_text} {shown} against the base branch{enough}"

    @property
    def _noun(self) -> str:
        return "fixture" if self.clustered_fixtures is None else "cluster"

    @property
    def units_text(self) -> str:
        """Return how many inputs or clusters are compared."""
        if self.clustered_fixtures is None:
            return numbers.count(self.inputs, "distinct fixture")
        clusters = numbers.count(self.inputs, "cluster")
        return f"{self.clustered_fixtures:,} fixtures in {clusters}"

    @property
    def comparisons_text(self) -> str:
        """Return the words for the number of comparisons: the more there are, the less each can
        show."""
        others = self.contracts - 1
        text = f"compared together with {numbers.count(others, 'other contract')}"
        if not others:
            text = "compared alone"
        if self.together == self.contracts:
            return text
        return f"{text}, with {self.together:,} comparisons in total"


def compute_power(evaluation: Evaluation, together: int = 1, contracts: int = 1) -> ComparisonPower:
    """Return what the evaluation could detect if this many comparisons of this many contracts share
    alpha."""
    gate = evaluation.contract.gate
    units = evaluation.units()
    inputs = len(units)
    level = comparison_alpha(evaluation.contract) / together
    return ComparisonPower(
        name=evaluation.contract.name,
        inputs=inputs,
        level=level,
        margin=gate.margin,
        minimum_detectable_effect=minimum_detectable_effect(inputs, level),
        fixtures_needed=fixtures_needed(gate.margin, level) if gate.margin > 0 else None,
        together=together,
        contracts=contracts,
        clustered_fixtures=sum(map(len, units.values())) if evaluation.clustered else None,
        finds_broken=claims_fixtures(evaluation.contract) and not evaluation.may_repeat,
    )


def rarely_open(evaluation: Evaluation) -> bool:
    """Return whether a harmless change surely ends inconclusive in at most 5 % of runs, if every
    fixture passes in at least 90 % of its samples.

    It does if chance alone lowers the pass rate by more than the margin that rarely. How often an
    objective stays open is not known before a run, so a contract with one has no answer.
    """
    contract, power = evaluation.contract, compute_power(evaluation)
    if contract.slo or contract.gate.on == "score" or power.minimum_detectable_effect is None:
        return False
    sampling = contract.sampling
    pairs = power.inputs * (sampling.samples if sampling.aggregate == "majority" else 1)
    spread = math.sqrt(2 * RARE_FAILURES * (1 - RARE_FAILURES) / pairs)
    return NormalDist().inv_cdf(1 - FAIR) * spread <= contract.gate.margin


@dataclass(frozen=True, slots=True)
class ObjectiveNeed:
    """An objective that takes more inputs, or clusters of them, than the contract has."""

    label: str
    needed: int
    have: int
    noun: str

    def __str__(self) -> str:
        return (
            f"at least {self.needed:,} {self.noun} are needed to show that the objective "
            f"{self.label} is met, but the contract has {self.have:,}; with so few {self.noun}, "
            "the objective can be missed, but never shown to be met"
        )


def objective_needs(evaluation: Evaluation) -> tuple[ObjectiveNeed, ...]:
    """Return each objective that the contract has too few inputs to prove, whatever the number of
    samples and even if all of them are good."""
    contract = evaluation.contract
    if not contract.slo:
        return ()
    sampling = contract.sampling
    every = looks(sampling.samples, early=sampling.mode == "adaptive")
    confidence = 1 - OBJECTIVE_ERROR * every[-1].own / len(contract.slo)
    found = []
    noun = "clusters" if evaluation.clustered else "distinct inputs"
    for objective in contract.slo:
        needed = inputs_to_prove(objective, confidence)
        have = count_units(contract, objective, evaluation.counts_with)
        if needed is not None and have < needed:
            found.append(ObjectiveNeed(label_of(objective.name), needed, have, noun))
    return tuple(found)


def objective_summary(evaluation: Evaluation) -> str | None:
    """Return one sentence for all objectives that the contract has too few inputs to prove; None
    if there are none."""
    needs = objective_needs(evaluation)
    if len(needs) < 2:
        return str(needs[0]) if needs else None
    names = ", ".join(need.label for need in needs)
    fewest, most = (pick(need.needed for need in needs) for pick in (min, max))
    span = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return (
        f"at least {span} {needs[0].noun} are needed to show that the {len(needs):,} objectives "
        f"{names} are met, but the contract has {min(need.have for need in needs):,}; with so "
        f"few {needs[0].noun}, these objectives can be missed, but never shown to be met"
    )


def limit_notes(evaluation: Evaluation) -> tuple[str, ...]:
    """Return a sentence for each limit of `gate`, and each category, that the contract has too few
    inputs to find exceeded."""
    return tuple(_limit_notes(evaluation))


def _limit_notes(evaluation: Evaluation) -> Iterator[str]:
    contract, units = evaluation.contract, evaluation.counts_with
    have = len(contract.fixtures) - len(units)
    noun = "clusters" if evaluation.clustered else "distinct inputs"
    for limit in contract.gate.limits:
        if have < (needed := fewest_inputs(limit)):
            yield (
                f"the limit `gate.{limit.name}` can never give the verdict `fail`, because at "
                f"least {needed:,} {noun} are needed to show a rise above {limit}, but the "
                f"contract has only {have:,}"
            )
    alpha = comparison_alpha(contract)
    needed = _fewest_alike(repair_level(contract, alpha))
    if gates_repairs(contract) and have < needed:
        yield (
            f"`gate.repairs: fail` has no effect, because the gate fails only if at least "
            f"{needed:,} {noun} newly need a repair, and the contract has only {have:,}"
        )
    for name in contract.slices:
        members = {units.get(f.id, f.id) for f in contract.fixtures if f.category == name}
        if len(members) < (needed := _fewest_alike(alpha)):
            yield (
                f"the category `{name}` can never fail by itself, because at least {needed:,} "
                f"fixtures are needed, but it has only {len(members):,}"
            )


def _fewest_alike(level: float) -> int:
    """Return how many units that all change in one way reach the level of the sign-flip test."""
    return math.ceil(-math.log2(level))


def unpriced_warnings(evaluation: Evaluation, price: Price) -> tuple[str, ...]:
    """Return a sentence for a limit on cost that can never be evaluated, because a model has no
    price."""
    contract = evaluation.contract
    limits = [limit for limit in contract.gate.limits if limit.name == "cost"]
    requests = {trial.request.model: trial.request for trial in evaluation.trials if limits}
    unpriced = sorted(model for model, request in requests.items() if price(request) is None)
    return tuple(
        f"{contract.name}: the limit `gate.cost: {limit}` can never be evaluated, because no price "
        f"is known for {' and '.join(unpriced)}; use `gate.tokens` instead, or a model with a "
        "known price"
        for limit in limits
        if unpriced
    )
