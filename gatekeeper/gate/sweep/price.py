"""Compares the price of a call between settings: is one significantly and materially lower?
Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gatekeeper.contract.values.trial import Completion, Outcome
from gatekeeper.gate.sweep.cell import Cell
from gatekeeper.stats.intervals.relative_change import relative_change

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
    ways: tuple[tuple[str, Mapping[int, float | None]], ...] = (
        ("cost", {i: cells[i].arm.cost_per_call_usd for i in near}),
        ("tokens", {i: cells[i].tokens_per_call for i in near}),
        ("latency", {i: cells[i].arm.latency_p95_ms for i in near}),
    )
    for measure, values in ways:
        known = {i: value for i, value in values.items() if value is not None}
        if len(known) == len(near):
            return Price(measure, known, {i: _units(outcomes[i], measure) for i in near})
    return Price("", dict.fromkeys(near, 0.0), {})


def _units(outcomes: Sequence[Outcome], measure: str) -> Mapping[str, Sequence[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        completion = outcome.sample.completion
        value = _amount(completion, measure) if completion else None
        if value is not None:
            found[outcome.sample.trial.fixture].append(value)
    return found


def _amount(completion: Completion, measure: str) -> float | None:
    if measure == "cost":
        return completion.cost_usd
    if measure == "latency":
        return completion.latency_ms
    prompt, answer = completion.prompt_tokens, completion.completion_tokens
    return None if prompt is None or answer is None else float(prompt + answer)
