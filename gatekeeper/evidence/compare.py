"""Base against head while the samples come in: is the answer sure yet?

What the samples of an input say is read twice: as kindly to head as what could not be measured
allows, and as harshly. Head is worse only if the kindest reading says so, and not worse only if
the harshest does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.contract.trial import Outcome
from gatekeeper.evidence.job import Judging
from gatekeeper.evidence.outcomes import ARMS, aggregate
from gatekeeper.stats.sequential import Evaluation, SequentialTest, Stop

if TYPE_CHECKING:
    from gatekeeper.stats.sequential import Differences


class Counts(NamedTuple):
    """One input's measured pairs: how many, and how many broke and were fixed."""

    broke: int
    fixed: int
    pairs: int


class Comparison:
    """The paired samples of one judging, in plan order, and what its test says of them.

    A round is one more pair of samples of every input. Where the contract counts fixtures by
    their first sample, or by all or any of them, there is one round only: that of the fixtures.
    """

    def __init__(self, judging: Judging, level: float) -> None:
        sampling, gate = judging.contract.sampling, judging.contract.gate
        self._sampling = sampling
        self._members = judging.inputs()
        self._input_of = {f: i for i, fixtures in self._members.items() for f in fixtures}
        # What head cannot be asked is unknown from the start: it may speak for head or against it.
        unknown = len(judging.unknown_on_head)
        self._inputs = len(self._members) + unknown
        whole = sampling.aggregate in ("all", "any")
        self._samples = sampling.samples if whole else 1
        self._pending: dict[tuple[str, int], list[Outcome]] = defaultdict(list)
        self.test = SequentialTest(
            fixtures=self._inputs,
            rounds=sampling.samples if sampling.aggregate == "majority" else 1,
            level=level,
            alpha=gate.alpha,
            margin=gate.margin,
            early=sampling.mode == "adaptive" and not whole,
        )
        import numpy as np

        shape = (self._inputs, self.test.rounds)
        # What was not drawn is not measured: it may speak for head as well as against it.
        self._kindest = np.full(shape, -1, dtype=np.int8)
        self._harshest = np.full(shape, 1, dtype=np.int8)
        self._drawn = [unknown] * self.test.rounds
        self.stopped: Stop | None = None
        self.rounds = 0
        """How many complete rounds the decision rests on."""
        self._pairs = 0
        # Holm, the report and the reasons ask the same, and each answer draws thousands of signs.
        self._evaluations: dict[tuple[object, ...], Evaluation] = {}

    def add(self, outcome: Outcome) -> None:
        """Take the next outcome in plan order, and look where a round or its first pair ends."""
        trial = outcome.sample.trial
        number = 0 if self.test.rounds == 1 else trial.repetition
        key = self._input_of.get(trial.fixture)
        if key is None or (self._samples == 1 and trial.repetition != number):
            return
        pending = self._pending[key, number]
        pending.append(outcome)
        if len(pending) < len(ARMS) * len(self._members[key]) * self._samples:
            return
        del self._pending[key, number]
        place = self._drawn[number], number
        self._kindest[place], self._harshest[place] = self._read(self._members[key], pending)
        self._drawn[number] += 1
        if self.stopped is None:
            self._look(number)

    def evaluate(self, level: float, *, harshly: bool = False, better: bool = False) -> Evaluation:
        """What the test says at a level no stricter than its own: whether head is worse, or with
        `better` whether it is better; by the reading kindest to head, or by the harshest."""
        asked = (level, harshly, better, tuple(self._drawn))
        if asked not in self._evaluations:
            readings = self._harshest if harshly else self._kindest
            sign = -1 if better else 1
            self._evaluations[asked] = self.test.evaluate(
                sign * self._looked_at(readings), sign * self._first(readings), level
            )
        return self._evaluations[asked]

    def counts(self) -> list[Counts]:
        """The counts of each input that has a measured pair."""
        found = []
        # What was drawn after the decision, for an objective, is told as well.
        complete = sum(drawn == self._inputs for drawn in self._drawn)
        columns = slice(max(1, complete))
        both = zip(self._kindest[:, columns], self._harshest[:, columns], strict=True)
        for kindest, harshest in both:
            pairs = kindest[kindest == harshest]
            if len(pairs):
                found.append(Counts(int((pairs > 0).sum()), int((pairs < 0).sum()), len(pairs)))
        return found

    @property
    def pairs(self) -> int:
        """How many pairs were drawn so far, of all rounds."""
        return sum(self._drawn)

    @property
    def changed(self) -> tuple[int, int]:
        """How many inputs broke and how many were fixed, over the pairs measured so far."""
        import numpy as np

        measured = self._kindest == self._harshest
        drops = np.where(measured, self._kindest, 0).sum(axis=1, dtype=int)
        return int((drops > 0).sum()), int((drops < 0).sum())

    @property
    def nearness(self) -> tuple[float, float] | None:
        """How near "regressed" and "not_worse" are, from 0 to 1, while inputs are drawn for the
        first time; later they are only looked at where rounds end, and it is None."""
        if not self.test.early or self.stopped is not None or self.rounds:
            return None
        return self.test.nearness(self._first(self._kindest), self._first(self._harshest))

    @property
    def unmeasured(self) -> int:
        """How many pairs drawn could have been different, because an outcome is not known."""
        open_ones = int((self._kindest != self._harshest).sum())
        return open_ones - (self._kindest.size - sum(self._drawn))

    def largest_drop(self) -> float:
        """The mean drop over all inputs, had all that is not known gone against head."""
        seen = self._looked_at(self._harshest)
        seen = seen if seen.shape[1] else self._first(self._harshest)
        return float(seen.mean()) if seen.size else 0.0

    def drops(self) -> list[float]:
        """Base's pass rate less head's, of each input that has a measured pair: -1 to 1."""
        return [(c.broke - c.fixed) / c.pairs for c in self.counts()]

    def _look(self, number: int) -> None:
        if number == 0:
            self._pairs = self._drawn[0]
            first = (self._first(readings) for readings in (self._kindest, self._harshest))
            if found := self.test.after_pairs(*first):
                self.stopped = found[0]
                return
        if self._drawn[number] < self._inputs:
            return
        self.rounds = number + 1
        if self.test.early or self.rounds == self.test.rounds:
            rounds = (self._looked_at(readings) for readings in (self._kindest, self._harshest))
            self.stopped = self.test.after_round(*rounds)

    def _first(self, readings: Differences) -> Differences:
        """The pairs of the first round that the decision rests on."""
        return readings[: self._pairs, 0]

    def _looked_at(self, readings: Differences) -> Differences:
        """The complete rounds; all of them for a test that looks only at the end."""
        return readings[:, : self.rounds] if self.test.early else readings

    def _read(self, fixtures: Sequence[str], outcomes: Sequence[Outcome]) -> tuple[int, int]:
        """An input in one round, by the kindest and the harshest reading: 1 where base passed
        and head did not, -1 the other way round, in sign over the fixtures that share it."""
        kindest = harshest = 0
        for fixture in fixtures:
            mine = [o for o in outcomes if o.sample.trial.fixture == fixture]
            base, head = (self._passed([o for o in mine if o.sample.trial.arm == a]) for a in ARMS)
            kindest += (base is True) - (head is not False)
            harshest += (base is not False) - (head is True)
        return _sign(kindest), _sign(harshest)

    def _passed(self, outcomes: Sequence[Outcome]) -> bool | None:
        if self._samples == 1:
            return outcomes[0].passed
        return aggregate(self._sampling.aggregate, outcomes, self._samples)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
