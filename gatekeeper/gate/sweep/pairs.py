"""Compares every two settings on the same fixtures by the exact two-sided sign-flip test. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from gatekeeper.contract.values.trial import Outcome
from gatekeeper.stats.multiple import holm
from gatekeeper.stats.paired.sign_flip import sign_flip_test

Passes = Mapping[tuple[str, int], bool]
"""Whether the sample passed, by fixture and repetition; unmeasured ones are left out."""

Compared = tuple[int, float | None, float]
"""The number of units measured under both settings, the mean difference of their pass rates, and
the two-sided p-value."""


@dataclass(frozen=True, slots=True)
class PairOfSettings:
    """Two settings by their number. `difference` is the second's pass rate less the first's, the
    mean over `inputs` distinct inputs, or clusters, measured under both; `p_value` is two-sided,
    `adjusted` by Holm over all pairs."""

    first: int
    second: int
    inputs: int
    difference: float | None
    p_value: float
    adjusted: float


def passes_of(outcomes: Sequence[Outcome]) -> Passes:
    """Return which samples passed, without those that could not be measured."""
    return {
        (o.sample.trial.fixture, o.sample.trial.repetition): o.passed
        for o in outcomes
        if o.passed is not None
    }


def compare_pairs(
    passes: Sequence[Passes], counts_with: Mapping[str, str]
) -> tuple[PairOfSettings, ...]:
    """Compare every two settings on the samples that both have, adjusted by Holm.

    `counts_with` maps a fixture to the one that stands for its unit.
    """
    numbered = combinations(range(len(passes)), 2)
    return with_adjusted(
        [(a, b, compare_two(passes[a], passes[b], counts_with)) for a, b in numbered]
    )


def with_adjusted(found: Sequence[tuple[int, int, Compared]]) -> tuple[PairOfSettings, ...]:
    """Adjust the p-values together by Holm: the best setting is chosen after a look at all."""
    adjusted = holm([p for *_, (_, _, p) in found]).p_values if found else ()
    return tuple(
        PairOfSettings(first, second, *compared, holms)
        for (first, second, compared), holms in zip(found, adjusted, strict=True)
    )


def compare_two(first: Passes, second: Passes, counts_with: Mapping[str, str]) -> Compared:
    """Compare two settings on the samples that both have."""
    units = _units(first, second, counts_with)
    if not units:
        return 0, None, 1.0
    difference = sum(more / sampled for more, sampled in units) / len(units)
    return len(units), difference, two_sided(*_one_sided(units))


def one_sided_p_values(
    first: Passes, second: Passes, counts_with: Mapping[str, str]
) -> tuple[float, float]:
    """Return the p-value that the second is worse, and the one that it is better, on the samples
    that both have."""
    return _one_sided(_units(first, second, counts_with))


def two_sided(worse: float, better: float) -> float:
    """Return the two-sided p-value of two one-sided ones."""
    return min(1.0, 2 * min(worse, better))


def _one_sided(units: Sequence[tuple[int, int]]) -> tuple[float, float]:
    more = [more for more, _ in units]
    return sign_flip_test([-d for d in more]), sign_flip_test(more)


def _units(
    first: Passes, second: Passes, counts_with: Mapping[str, str]
) -> Sequence[tuple[int, int]]:
    """Return of each unit how many more samples of the second passed, and how many both have."""
    more: dict[str, int] = defaultdict(int)
    sampled: dict[str, int] = defaultdict(int)
    for key in first.keys() & second.keys():
        fixture = counts_with.get(key[0], key[0])
        more[fixture] += second[key] - first[key]
        sampled[fixture] += 1
    return [(more[fixture], sampled[fixture]) for fixture in sampled]
