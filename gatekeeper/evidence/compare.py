"""Base against head while the samples come in: is the answer sure yet?

What the samples of an input say is read twice: as kindly to head as what could not be measured
allows, and as harshly. Head is worse only if the kindest reading says so, and not worse only if
the harshest does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.contract.trial import Outcome
from gatekeeper.evidence.job import Judging
from gatekeeper.evidence.outcomes import ARMS, aggregate
from gatekeeper.stats.sequential import Evaluation, SequentialTest, Stop

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Reading(NamedTuple):
    """One input in one round: 1 where base passed and head did not, -1 the other way round."""

    kindest: int
    harshest: int


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
        self._members = _inputs(judging)
        self._input_of = {f: i for i, fixtures in self._members.items() for f in fixtures}
        whole = sampling.aggregate in ("all", "any")
        self._samples = sampling.samples if whole else 1
        self._pending: dict[tuple[str, int], list[Outcome]] = defaultdict(list)
        self._rounds: list[list[Reading]] = []
        self.test = SequentialTest(
            fixtures=len(self._members),
            rounds=sampling.samples if sampling.aggregate == "majority" else 1,
            level=level,
            alpha=gate.alpha,
            margin=gate.margin,
            early=sampling.mode == "adaptive" and not whole,
        )
        self.stopped: Stop | None = None
        self.rounds = 0
        """How many complete rounds the decision rests on."""

    def add(self, outcome: Outcome) -> None:
        """Take the next outcome in plan order, and look where a round or its first pair ends."""
        trial = outcome.sample.trial
        number = 0 if self.test.rounds == 1 else trial.repetition
        key = self._input_of.get(trial.fixture)
        if key is None or self.stopped or (self._samples == 1 and trial.repetition != number):
            return
        pending = self._pending[key, number]
        pending.append(outcome)
        if len(pending) < len(ARMS) * len(self._members[key]) * self._samples:
            return
        while len(self._rounds) <= number:
            self._rounds.append([])
        self._rounds[number].append(self._read(self._members[key], pending))
        self._look(number)

    def evaluate(self, level: float, *, harshly: bool = False, better: bool = False) -> Evaluation:
        """What the test says at a level no stricter than its own: whether head is worse, or with
        `better` whether it is better; by the reading kindest to head, or by the harshest."""
        drawn, first = self._arrays(harshly=harshly)
        sign = -1 if better else 1
        return self.test.evaluate(sign * drawn, sign * first, level)

    def counts(self) -> list[Counts]:
        """The counts of each input that has a measured pair."""
        rows: dict[int, list[int]] = defaultdict(list)
        for readings in self._rounds[: max(1, self.rounds)]:
            for i, reading in enumerate(readings):
                if reading.kindest == reading.harshest:
                    rows[i].append(reading.kindest)
        return [Counts(row.count(1), row.count(-1), len(row)) for row in rows.values()]

    @property
    def unmeasured(self) -> int:
        """How many pairs could have been different, because an outcome is not known."""
        return sum(r.kindest != r.harshest for readings in self._rounds for r in readings)

    def largest_drop(self) -> float:
        """The mean drop over all inputs, had all that is not known gone against head."""
        drawn, first = self._arrays(harshly=True)
        seen = drawn if drawn.shape[1] else first
        return float(seen.mean()) if seen.size else 0.0

    def drops(self) -> list[float]:
        """Base's pass rate less head's, of each input that has a measured pair: -1 to 1."""
        return [(c.broke - c.fixed) / c.pairs for c in self.counts()]

    def _look(self, number: int) -> None:
        if number == 0:
            found = self.test.after_pairs(*self._first())
            if found:
                self.stopped = found[0]
                return
        if len(self._rounds[number]) < len(self._members):
            return
        self.rounds = number + 1
        if not self.test.early and self.rounds < self.test.rounds:
            return
        kindest, harshest = (self._arrays(harshly=harshly)[0] for harshly in (False, True))
        self.stopped = self.test.after_round(kindest, harshest)

    def _first(self) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        import numpy as np

        readings = np.array(self._rounds[0] if self._rounds else [], dtype=np.int8).reshape(-1, 2)
        return readings[:, 0], readings[:, 1]

    def _arrays(self, *, harshly: bool) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """The complete rounds, of shape (inputs, rounds), and the pairs of the first. A test
        that looks only at the end takes what is missing as not measured."""
        import numpy as np

        first = self._first()[harshly]
        if self.test.early:
            done = [np.array(readings)[:, int(harshly)] for readings in self._rounds[: self.rounds]]
            empty = np.zeros((len(self._members), 0))
            return (np.stack(done, axis=1) if done else empty).astype(np.int8), first
        whole = np.full((len(self._members), self.test.rounds), 1 if harshly else -1, dtype=np.int8)
        for number, readings in enumerate(self._rounds):
            whole[: len(readings), number] = [reading[int(harshly)] for reading in readings]
        return whole, first

    def _read(self, fixtures: Sequence[str], outcomes: Sequence[Outcome]) -> Reading:
        """An input's difference in sign over the fixtures that share it: copies count once."""
        kindest = harshest = 0
        for fixture in fixtures:
            mine = [o for o in outcomes if o.sample.trial.fixture == fixture]
            base, head = (self._passed([o for o in mine if o.sample.trial.arm == a]) for a in ARMS)
            kindest += (base is True) - (head is not False)
            harshest += (base is not False) - (head is True)
        return Reading(_sign(kindest), _sign(harshest))

    def _passed(self, outcomes: Sequence[Outcome]) -> bool | None:
        if self._samples == 1:
            return outcomes[0].passed
        return aggregate(self._sampling.aggregate, outcomes, self._samples)


def _inputs(judging: Judging) -> Mapping[str, list[str]]:
    """The fixtures of each distinct input that both arms can take, by the first of them."""
    apart = {*judging.unpaired, *judging.unanswerable}
    members: dict[str, list[str]] = defaultdict(list)
    for fixture in judging.contract.fixtures:
        if fixture.id not in apart:
            members[judging.same_input.get(fixture.id, fixture.id)].append(fixture.id)
    return members


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
