"""Compares base and head while the samples come in, and decides whether the result is certain.

The samples of an input are read twice: unmeasured samples count as favourably to head as possible,
and as unfavourably. Head is worse only if the favourable reading says so, and not worse only if the
unfavourable one does.

The comparison is over units: distinct inputs, or clusters of related fixtures. A unit of several
inputs counts by its total, how many more of them passed on base than on head: they may depend on
each other in any way, but not on another unit. An input that stands for more inputs of production
than another counts like so many inputs that change together.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from gatekeeper.contract.values.trial import Arm, Outcome
from gatekeeper.gate.plan.plan import Evaluation
from gatekeeper.gate.results.result import WEIGHTED
from gatekeeper.gate.samples.outcomes import ARMS, aggregate
from gatekeeper.stats.paired.sequential import SequentialResult, SequentialTest, Stop
from gatekeeper.stats.paired.sign_flip import sign_flip_test

if TYPE_CHECKING:
    from gatekeeper.stats.paired.sequential import Differences, Sizes


_MOST_WEIGHT, _MOST_WEIGHT_OF_SCORES = 100, 10
"""The largest weight of an input. Weights are whole numbers, so that the test stays exact."""
_FINEST, _COARSEST, _MOST_STEPS = 100, 10, 300_000
"""The parts that a score counts in: hundredths, or larger parts if the sum of all samples would
then be a number too large to test quickly."""


class Counts(NamedTuple):
    """One unit's measured pairs: how many, and how many broke and were fixed."""

    broke: int
    fixed: int
    pairs: int


class _Reading(NamedTuple):
    """A unit in one round: its total as kindly to head as may be and as harshly, its measured
    inputs with those that broke and those that were fixed, and the total of those with its size.
    `base` is the total of base's scores, if scores are compared."""

    kindest: int
    harshest: int
    broke: int
    fixed: int
    measured: int
    drop: int
    size: int
    base: int


class _Arrays(NamedTuple):
    """The units' sizes, and their readings by unit and round."""

    sizes: Sizes
    harshest: Differences
    kindest: Differences
    broke: Differences
    fixed: Differences
    measured: Differences
    drop: Differences
    size: Differences
    base: Differences

    @classmethod
    def of(cls, sizes: Sequence[int], rounds: int, *, sized: bool) -> _Arrays:
        import numpy as np

        each = np.array(sizes, dtype=np.int64)
        shape = len(sizes), rounds
        kind: type[np.signedinteger[Any]] = np.int64 if sized else np.int8
        # What was not sampled is not measured: it may speak for head or against it.
        harshest = np.repeat(each[:, None], rounds, 1).astype(kind)
        none = (np.zeros(shape, dtype=kind) for _ in range(6))
        return cls(each, harshest, np.negative(harshest), *none)


class Comparison:
    """The paired samples of one evaluation, in plan order, and the result of its test.

    A round is one more pair of samples of every input. If the contract counts fixtures by their
    first sample, or by all or any of them, there is one round only: that of the fixtures.
    """

    def __init__(self, evaluation: Evaluation, level: float) -> None:
        sampling, gate = evaluation.contract.sampling, evaluation.contract.gate
        self._sampling = sampling
        self._members = evaluation.units()
        self._unit_of = {f: u for u, fixtures in self._members.items() for f in fixtures}
        self._inputs_of = {u: evaluation.inputs_of(f) for u, f in self._members.items()}
        # Fixtures that cannot be sent to head are unknown: they may speak for head or against it.
        units = evaluation.counts_with
        self._unknown = Counter(units.get(f, f) for f in evaluation.unknown_on_head)
        self.graded = gate.on == "score"
        """Whether scores are compared, and not whether samples pass."""
        self._weights = _weights(evaluation)
        lost = Counter[str]()
        for fixture in evaluation.unknown_on_head:
            lost[units.get(fixture, fixture)] += self._weights.get(fixture, 1)
        self._unknown_size = lost
        self.clustered = evaluation.clustered
        """Whether a cluster of several inputs can count as one."""
        lone = [unit for unit in self._unknown if unit not in self._members]
        rows = list(
            dict.fromkeys([*lone, *_sampling_order(evaluation, self._unit_of), *self._members])
        )
        self._rows = {unit: row for row, unit in enumerate(rows)}
        whole = sampling.aggregate in ("all", "any")
        self._samples = sampling.samples if whole else 1
        self._pending: dict[tuple[str, int], list[Outcome]] = defaultdict(list)
        self.test = SequentialTest(
            fixtures=len(rows),
            rounds=sampling.samples if sampling.aggregate == "majority" else 1,
            level=level,
            alpha=gate.alpha,
            margin=gate.margin,
            early=sampling.mode == "adaptive" and not whole,
            weights=tuple(evaluation.weights.get(unit, 1) for unit in rows)
            if evaluation.weights
            else (),
            walks=not (self._weights or self.graded),
        )
        steps = _MOST_STEPS // max(1, self.test.fixtures * self.test.rounds)
        self._scale = max(_COARSEST, min(_FINEST, steps)) if self.graded else 1
        self._sized = self.clustered or not self.test.walks
        self._inputs_in_order = [len(self._inputs_of.get(u, ())) + self._unknown[u] for u in rows]
        self._sampled = [len(lone)] * self.test.rounds
        self._expected = sum(self._inputs_in_order[: len(lone)]) * self.test.rounds
        self.stopped: Stop | None = None
        self.rounds = 0
        """The number of complete rounds that the decision uses."""
        self.futile = False
        """Whether more samples could hardly show that head is worse. If they are taken
        nevertheless, the test goes on."""
        self._pairs = 0
        # Holm, the report and the reasons need the same results, and each takes thousands of signs.
        self._evaluations: dict[tuple[object, ...], SequentialResult] = {}

    @cached_property
    def _arrays(self) -> _Arrays:
        # Made for the first answer: numpy is imported while the models are answering.
        sizes = [
            (sum(map(self._weight, self._inputs_of.get(unit, ()))) + self._unknown_size[unit])
            * self._scale
            for unit in self._rows
        ]
        return _Arrays.of(sizes, self.test.rounds, sized=self._sized)

    def add(self, outcome: Outcome) -> None:
        """Take the next outcome in plan order, and test at the end of a round or of a first
        pair."""
        trial = outcome.sample.trial
        number = 0 if self.test.rounds == 1 else trial.repetition
        key = self._unit_of.get(trial.fixture)
        if key is None or (self._samples == 1 and trial.repetition != number):
            return
        pending = self._pending[key, number]
        pending.append(outcome)
        if len(pending) < len(ARMS) * len(self._members[key]) * self._samples:
            return
        del self._pending[key, number]
        row = self._rows[key]
        for name, value in self._read(key, pending)._asdict().items():
            getattr(self._arrays, name)[row, number] = value
        self._sampled[number] += 1
        self._expected += self._inputs_in_order[row]
        if self.stopped is None:
            self._look(number)
            self._predict(number)

    def evaluate(
        self, level: float, *, harshly: bool = False, better: bool = False
    ) -> SequentialResult:
        """Return the test's decision at a level no stricter than its own: whether head is worse, or
        with `better` whether it is better, by the favourable or the unfavourable reading."""
        key = (level, harshly, better, tuple(self._sampled))
        if key not in self._evaluations:
            readings = self._arrays.harshest if harshly else self._arrays.kindest
            sign = -1 if better else 1
            self._evaluations[key] = self.test.evaluate(
                sign * self._looked_at(readings), sign * self._first(readings), level
            )
        return self._evaluations[key]

    @property
    def measure(self) -> str:
        """Return what the test compares beyond passes of inputs, for its name; empty if nothing."""
        of_scores = " of scores" if self.graded else ""
        return f"{of_scores}, {WEIGHTED}" if self._weights else of_scores

    @property
    def scores(self) -> tuple[float, float] | None:
        """Return the mean scores of base and head over the units that have a measured pair; None if
        passes are compared."""
        totals, measured = map(self._totals, (self._arrays.base, self._arrays.size))
        each = zip(totals, measured, self._arrays.sizes.tolist(), strict=True)
        found = [(total / of * size, size) for total, of, size in each if of]
        if not self.graded or not found:
            return None
        base = math.fsum(score for score, _ in found) / sum(size for _, size in found)
        return base, base - fmean(self.drops())

    @property
    def attainable(self) -> float:
        """Return the smallest p-value that the test could have had, whatever the directions of the
        changes: each unit may have changed if that is not known. What was not measured may have
        changed."""
        kindest, harshest = map(self._shown, (self._arrays.kindest, self._arrays.harshest))
        either = (kindest != 0) | (harshest != 0)
        changed = int((either.any(axis=1) if either.ndim > 1 else either).sum())
        looked_at = self._looked_at(self._arrays.kindest)
        known = self.test.attainable(looked_at, changed, self.stopped)
        return max(known, 0.5 ** len(self._rows))

    def is_better(self, level: float) -> bool:
        """Return whether the samples that the decision uses show head better at the level, whenever
        sampling ended, and whatever is not known."""
        shown = self._shown(self._arrays.harshest)
        totals = shown.sum(axis=1, dtype=int) if shown.ndim > 1 else shown
        return sign_flip_test((-totals).tolist()) <= level

    def counts(self) -> list[Counts]:
        """Return the counts of each unit that has a measured pair."""
        arrays = self._arrays
        found = map(Counts, *map(self._totals, (arrays.broke, arrays.fixed, arrays.measured)))
        return [counts for counts in found if counts.pairs]

    def _totals(self, readings: Differences) -> list[int]:
        """Return the total of each unit over the rounds that are reported: also those after the
        decision, for an objective."""
        complete = sum(sampled == len(self._rows) for sampled in self._sampled)
        totals: list[int] = readings[:, : max(1, complete)].sum(axis=1, dtype=int).tolist()
        return totals

    @property
    def pairs(self) -> int:
        """Return how many pairs were taken so far, in all rounds."""
        return sum(self._sampled)

    @property
    def complete(self) -> bool:
        """Return whether the decision uses all planned rounds."""
        rounds = self.rounds or int(self._sampled[0] == len(self._rows))
        return rounds == self.test.rounds

    @property
    def changed(self) -> tuple[int, int]:
        """How many units broke and how many were fixed, over the pairs measured so far."""
        drops = (self._arrays.broke - self._arrays.fixed).sum(axis=1, dtype=int)
        return int((drops > 0).sum()), int((drops < 0).sum())

    @property
    def nearness(self) -> tuple[float, float] | None:
        """Return how near "regressed" and "not_worse" are, from 0 to 1, in the first round; None
        later, because later rounds are only looked at when they end."""
        if not self.test.early or self.stopped is not None or self.rounds:
            return None
        kindest, harshest = self._first(self._arrays.kindest), self._first(self._arrays.harshest)
        return self.test.nearness(kindest, harshest, self._sizes_of(self._pairs))

    @property
    def unmeasured(self) -> int:
        """Return how many of the pairs taken could have been different, because an outcome is not
        known."""
        return self._expected - int(self._arrays.measured.sum(dtype=int))

    def largest_drop(self) -> float:
        """Return the mean drop over all inputs if every unknown sample counts against head."""
        observed = self._looked_at(self._arrays.harshest)
        # A single round of the samples so far; `_first` has no second dimension.
        observed = observed if observed.shape[1] else self._first(self._arrays.harshest)[:, None]
        inputs = int(self._arrays.sizes[: len(observed)].sum()) * observed.shape[1]
        return float(observed.sum(dtype=int) / inputs) if inputs else 0.0

    def drops(self) -> list[float]:
        """Return base's pass rate minus head's, of each unit that has a measured pair: -1 to 1.

        Where units have unequal sizes each is weighted by its own, so that the mean is that over
        inputs; a drop may then be beyond 1."""
        drops, measured = map(self._totals, (self._arrays.drop, self._arrays.size))
        each = zip(drops, measured, self._arrays.sizes.tolist(), strict=True)
        found = [(drop / of, size) for drop, of, size in each if of]
        mean_size = sum(size for _, size in found) / max(1, len(found))
        return [drop * (size / mean_size) for drop, size in found]

    @property
    def flicker(self) -> float:
        """Return the share of units that the whole run would fix by chance, and break by chance.

        What broke is no flicker: it is what the run is to find. So it is the mean square of what
        got fixed, or half the variance of the pairs of one unit, whichever is larger."""
        found = self.counts()
        if not found:
            return 0.0
        fixed = fmean(max(0.0, (c.fixed - c.broke) / c.pairs) ** 2 for c in found)
        if self.test.rounds == 1:
            return min(1.0, fixed)
        rounds = max(1, self.rounds)
        within = (_variance(c) * rounds / (c.pairs * self.test.rounds) for c in found)
        return min(1.0, max(fixed, fmean(within) / 2))

    def _look(self, number: int) -> None:
        if number == 0:
            self._pairs = self._sampled[0]
            kindest, harshest = (
                self._first(self._arrays.kindest),
                self._first(self._arrays.harshest),
            )
            if found := self.test.after_pairs(kindest, harshest, self._sizes_of(self._pairs)):
                self.stopped = found[0]
                return
        if self._sampled[number] < len(self._rows):
            return
        self.rounds = number + 1
        if self.test.early or self.rounds == self.test.rounds:
            kindest, harshest = (
                self._looked_at(self._arrays.kindest),
                self._looked_at(self._arrays.harshest),
            )
            self.stopped = self.test.after_round(kindest, harshest, self._sizes_of(len(kindest)))

    def _predict(self, number: int) -> None:
        """Tell whether sampling is futile, at the moments at which this is asked."""
        complete = self._sampled[number] == len(self._rows)
        rounds = number + complete
        further = 0 if complete else self._sampled[number]
        if self.stopped is None:
            kindest = self._arrays.kindest
            found = self.test.is_futile(kindest[:, :rounds], kindest[:further, number])
            if found is not None:
                # A drop above the margin needs every sample: it may yet turn out to be chance.
                self.futile = found and self.largest_drop() <= self.test.margin

    def _sizes_of(self, units: int) -> Sizes | None:
        """Return the size of each of the first units; None if each is one input."""
        return self._arrays.sizes[:units] if self._sized else None

    def _first(self, readings: Differences) -> Differences:
        """Return the pairs of the first round that the decision uses."""
        return readings[: self._pairs, 0]

    def _shown(self, readings: Differences) -> Differences:
        """Return the pairs that the decision uses."""
        return (self._looked_at if self.rounds or not self.test.early else self._first)(readings)

    def _looked_at(self, readings: Differences) -> Differences:
        """Return the complete rounds; all of them for a test that looks only at the end."""
        return readings[:, : self.rounds] if self.test.early else readings

    def _read(self, unit: str, outcomes: Sequence[Outcome]) -> _Reading:
        mine: dict[str, list[Outcome]] = defaultdict(list)
        for outcome in outcomes:
            mine[outcome.sample.trial.fixture].append(outcome)
        inputs = [[mine[fixture] for fixture in each] for each in self._inputs_of[unit]]
        weights = list(map(self._weight, self._inputs_of[unit]))
        passes = list(map(self._read_input, inputs))
        grades = list(map(self._read_scores, inputs)) if self.graded else [(*p, 0) for p in passes]
        both = [(*grade, weight) for grade, weight in zip(grades, weights, strict=True)]
        unknown = self._unknown_size[unit] * self._scale
        known = [(drop, base, weight) for drop, most, base, weight in both if drop == most]
        changed = [drop for drop, most in passes if drop == most]
        return _Reading(
            kindest=sum(kindest * weight for kindest, _, _, weight in both) - unknown,
            harshest=sum(harshest * weight for _, harshest, _, weight in both) + unknown,
            broke=sum(drop > 0 for drop in changed),
            fixed=sum(drop < 0 for drop in changed),
            measured=len(known),
            drop=sum(drop * weight for drop, _, weight in known),
            size=sum(weight for _, _, weight in known) * self._scale,
            base=sum(base * weight for _, base, weight in known),
        )

    def _weight(self, fixtures: Sequence[str]) -> int:
        """Return the weight of the input that the fixtures share."""
        return self._weights.get(fixtures[0], 1)

    def _read_input(self, fixtures: Sequence[Sequence[Outcome]]) -> tuple[int, int]:
        """Compare an input in one round by the reading most favourable to head and the least
        favourable one: 1 if base passed and head did not, -1 for the reverse, as the sign of the
        sum over the fixtures that share the input."""
        kindest = harshest = 0
        for mine in fixtures:
            base, head = (self._passed([o for o in mine if o.sample.trial.arm == a]) for a in ARMS)
            kindest += (base is True) - (head is not False)
            harshest += (base is not False) - (head is True)
        return _sign(kindest), _sign(harshest)

    def _read_scores(self, fixtures: Sequence[Sequence[Outcome]]) -> tuple[int, int, int]:
        """Compare the scores of an input in one round, as `_read_input` compares passes: the mean
        over the fixtures that share the input, and base's mean, in parts of a score."""
        lows, highs = Counter[Arm](), Counter[Arm]()
        for outcome in (outcome for mine in fixtures for outcome in mine):
            low, high = outcome.grades
            lows[outcome.sample.trial.arm] += round(low * self._scale)
            highs[outcome.sample.trial.arm] += round(high * self._scale)
        kindest, harshest = lows["base"] - highs["head"], highs["base"] - lows["head"]
        kind, harsh, base = (round(n / len(fixtures)) for n in (kindest, harshest, lows["base"]))
        return kind, harsh, base

    def _passed(self, outcomes: Sequence[Outcome]) -> bool | None:
        if self._samples == 1:
            return outcomes[0].passed
        return aggregate(self._sampling.aggregate, outcomes, self._samples)


def _weights(evaluation: Evaluation) -> Mapping[str, int]:
    """Return the weight of each fixture, so that the categories count by the mix of production;
    empty if all count alike."""
    gate, units = evaluation.contract.gate, evaluation.units()
    if not gate.weights:
        return {}
    category = {f.id: f.category or "" for f in evaluation.contract.fixtures}
    inputs = [each[0] for members in units.values() for each in evaluation.inputs_of(members)]
    count = Counter(category[f] for f in (*inputs, *evaluation.unknown_on_head))
    ratio = {name: weight / count[name] for name, weight in gate.weights if count[name]}
    most = max(ratio.values(), default=1.0)
    parts = _MOST_WEIGHT if gate.on == "pass" else _MOST_WEIGHT_OF_SCORES
    whole = {name: max(1, round(parts * each / most)) for name, each in ratio.items()}
    common = math.gcd(*whole.values())
    if all(weight == common for weight in whole.values()):
        return {}
    return {f: whole[name] // common for f, name in category.items() if name in whole}


def _sampling_order(evaluation: Evaluation, units: Mapping[str, str]) -> list[str]:
    """Return the units in the order in which they are completely sampled: by the last of their
    fixtures."""
    order: dict[str, None] = {}
    for trial in evaluation.trials:
        unit = units.get(trial.fixture)
        if trial.repetition == 0 and unit is not None:
            order.pop(unit, None)
            order[unit] = None
    return list(order)


def _variance(counts: Counts) -> float:
    """Return the variance of a unit's pairs; 0 if there is only one."""
    broke, fixed, pairs = counts
    return ((broke + fixed) - (broke - fixed) ** 2 / pairs) / max(1, pairs - 1)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
