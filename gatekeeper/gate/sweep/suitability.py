"""How often each setting breaks the rules of the prompt: by tests of rules, of their opposites, and
by baseline tests. Pure.

The tests are fixtures whose `category` says how they were made: from a rule that the prompt states
(`rule`), from its opposite (`inverse_rule`), or without the rules (`baseline`). An output complies
if it passes the contract. These are the tables of the PromptPex paper: Sharma, R. K., de Halleux,
J., Barke, S. and Zorn, B. (2025), PromptPex: Automatic Test Generation for Language Model Prompts.

An output that could not be measured is unknown, and never compliant or non-compliant. Intervals
and tests hold whatever it would have been.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from gatekeeper.contract.values.definition import Contract, Fixture
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.intervals import clustered_rate_interval
from gatekeeper.stats.multiple import holm
from gatekeeper.stats.paired.sign_flip import sign_flip_test

# Compares every two settings on the same fixtures by the exact two-sided sign-flip test. Pure.


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


TestSet = Literal["rule", "inverse_rule", "both", "valid", "baseline"]
"""`both` are the tests of rules and of their opposites, `valid` those of them that are valid."""

FROM_RULES = ("rule", "inverse_rule")
"""The categories of fixtures that were made from a rule of the prompt."""

Keys = Sequence[tuple[str, int]]
"""Planned samples, by fixture and repetition."""


@dataclass(frozen=True, slots=True)
class NonCompliance:
    """Of `planned` outputs, `measured` could be measured, and `failed` of those do not comply.

    `interval` is for the share that does not comply, at 95 %, over clusters. Its lower end counts
    unknown outputs as compliant, its upper end as non-compliant.
    """

    failed: int
    measured: int
    planned: int
    interval: ConfidenceInterval

    @property
    def share(self) -> float | None:
        """Return the share of the measured outputs; None if there are none."""
        return self.failed / self.measured if self.measured else None

    @property
    def unknown(self) -> int:
        """Return how many outputs could not be measured."""
        return self.planned - self.measured

    @property
    def worst(self) -> float:
        """Return the share if no unknown output complied."""
        return (self.failed + self.unknown) / self.planned


@dataclass(frozen=True, slots=True)
class Suitability:
    """Non-compliance of each setting, in the order of the sweep, by the sets of tests that the
    contract has.

    `tests` is the number of fixtures in each set; `pairs` compares every two settings on `both`.
    `units` is the number of distinct inputs of `both`, or of clusters of them; below `units_needed`
    no difference could be significant. `unrated` fixtures of `both` do not say whether they are
    valid, and `others` are of another category.
    """

    tests: Mapping[TestSet, int]
    rates: tuple[Mapping[TestSet, NonCompliance], ...]
    pairs: tuple[PairOfSettings, ...]
    units: int
    units_needed: int
    clustered: bool
    unrated: int
    others: int

    @property
    def ranked(self) -> list[int]:
        """Return the settings' numbers, the fewest broken rules first. An unknown output counts as
        non-compliant, so that a setting does not win by answering nothing."""
        return sorted(range(len(self.rates)), key=lambda number: self.rates[number]["both"].worst)


def summarise_suitability(
    contract: Contract, passes: Sequence[Passes], counts_with: Mapping[str, str]
) -> Suitability | None:
    """Return how often each setting breaks the rules; None if no fixture was made from a rule.

    `passes` has the measured samples of each setting. `counts_with` maps a fixture to the one that
    stands for its unit.
    """
    sets = _test_sets(contract.fixtures)
    if "both" not in sets:
        return None
    both = sets["both"]
    known = {fixture.id for members in sets.values() for fixture in members}
    units = {counts_with.get(fixture.id, fixture.id) for fixture in both}
    keys = {name: _planned(contract, members) for name, members in sets.items()}
    compared = [
        (first, second, _compare(passes[first], passes[second], keys["both"], counts_with))
        for first, second in combinations(range(len(passes)), 2)
    ]
    return Suitability(
        tests={name: len(members) for name, members in sets.items()},
        rates=tuple(
            {name: _non_compliance(found, planned, counts_with) for name, planned in keys.items()}
            for found in passes
        ),
        pairs=with_adjusted(compared),
        units=len(units),
        units_needed=_units_needed(len(compared), contract.gate.alpha),
        clustered=any(f.cluster is not None for f in both) and len(units) < len(both),
        unrated=sum(_is_valid(fixture) is None for fixture in both),
        others=len(contract.fixtures) - len(known),
    )


def _test_sets(fixtures: Sequence[Fixture]) -> dict[TestSet, list[Fixture]]:
    """Return the sets that have tests, in the order of `TestSet`."""
    both = [f for f in fixtures if f.category in FROM_RULES]
    sets: dict[TestSet, list[Fixture]] = {
        "rule": [f for f in both if f.category == "rule"],
        "inverse_rule": [f for f in both if f.category == "inverse_rule"],
        "both": both,
        "valid": [f for f in both if _is_valid(f)],
        "baseline": [f for f in fixtures if f.category == "baseline"],
    }
    return {name: members for name, members in sets.items() if members}


def _is_valid(fixture: Fixture) -> bool | None:
    """Return what the fixture says of its validity; None if it does not."""
    valid = fixture.metadata.get("valid")
    return valid if isinstance(valid, bool) else None


def _planned(contract: Contract, fixtures: Sequence[Fixture]) -> Keys:
    return [(f.id, number) for f in fixtures for number in range(contract.sampling.samples)]


def _non_compliance(passes: Passes, keys: Keys, counts_with: Mapping[str, str]) -> NonCompliance:
    failed: dict[str, int] = defaultdict(int)
    unknown: dict[str, int] = defaultdict(int)
    planned: dict[str, int] = defaultdict(int)
    for key in keys:
        unit = counts_with.get(key[0], key[0])
        planned[unit] += 1
        passed = passes.get(key)
        failed[unit] += passed is False
        unknown[unit] += passed is None
    sizes = [planned[unit] for unit in planned]
    least = clustered_rate_interval([failed[unit] for unit in planned], sizes)
    most = clustered_rate_interval([failed[unit] + unknown[unit] for unit in planned], sizes)
    assert least is not None and most is not None  # noqa: S101, PT018 - a set has tests
    return NonCompliance(
        failed=sum(failed.values()),
        measured=len(keys) - sum(unknown.values()),
        planned=len(keys),
        interval=ConfidenceInterval(least.low, most.high),
    )


def _compare(first: Passes, second: Passes, keys: Keys, counts_with: Mapping[str, str]) -> Compared:
    """Compare two settings on the planned samples.

    The difference is over samples measured under both. The p-value holds whatever the unknown
    samples would have been: against each direction they are taken as unfavourably as possible.
    """
    units, difference, p_value = compare_two(
        {key: first[key] for key in keys if key in first},
        {key: second[key] for key in keys if key in second},
        counts_with,
    )
    if all(key in first and key in second for key in keys):
        return units, difference, p_value
    worse, better = zip(
        *(
            one_sided_p_values(
                {key: first.get(key, not second_passes) for key in keys},
                {key: second.get(key, second_passes) for key in keys},
                counts_with,
            )
            for second_passes in (True, False)
        ),
        strict=True,
    )
    return units, difference, two_sided(max(worse), max(better))


def _units_needed(pairs: int, alpha: float) -> int:
    """Return the fewest units with which Holm's first step can reject: all of `n` units point the
    same way with probability 2 * 0.5**n."""
    return math.ceil(math.log2(2 * max(1, pairs) / alpha))
