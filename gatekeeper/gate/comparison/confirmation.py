"""Decides with fresh samples whether the fixtures that seem to have broken did break.

The planned samples only name suspects. Each suspect then gets fresh pairs of samples, and those
alone decide (stats/paired/confirmation.py). Fixtures that seem fixed are sampled again only if
others broke, because they can only lift the verdict. Fixtures and checks with `must_pass` are
suspects like all others, and one that broke fails the contract whatever was fixed.

If repeated requests always get the same answer, fresh samples prove nothing. Each fixture then
counts once, and the exact McNemar test over distinct inputs, or clusters, decides.

An unknown sample is read twice, as favourably to head as may be and as unfavourably: only the
favourable reading finds a broken fixture, and only the unfavourable one clears a suspect.

What only names suspects is sampled sparingly. A fixture is worse in a pair if base passes and head
fails, so the second sample of a pair is left out if the first one excludes that; and the same of
those that seem fixed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from gatekeeper.contract.values.trial import Arm, Outcome, Trial
from gatekeeper.gate.comparison.must_pass import must_pass_units
from gatekeeper.gate.plan.alpha import claims_fixtures, confirms_fixtures, shared_level
from gatekeeper.gate.plan.plan import Evaluation
from gatekeeper.gate.results.parts import (
    BrokenFixtures,
    Confirmation,
    ConfirmedChange,
    Tally,
    Unit,
)
from gatekeeper.gate.samples.outcomes import ARMS
from gatekeeper.sampling.stored_text import answer_text
from gatekeeper.sampling.trials import in_order
from gatekeeper.stats.paired.confirmation import MOST_PAIRS, confirm, suspicion
from gatekeeper.stats.paired.mcnemar import mcnemar_exact

_FEWEST_SUSPECTS, _SUSPECTS_SHARE = 10, 10
"""Of so many units, and of one in so many if that is more, suspects are sampled again. Of a
harmless change, about one in forty fixtures that flicker becomes a suspect."""
MOST_FIXED = 10
"""How many units that seem fixed are sampled again at most: the clearest."""

PAIRS_AT_ONCE, MOST_TO_LIFT = 10, 10
"""How many pairs of a unit are planned together, and how many at most of one that seems fixed."""

SCREENING = 2
"""How many pairs tell at most whether a fixture that was sampled once or twice seems broken, or
fixed."""

_LABEL_WORDS = 5
"""Longer texts that are the same every time come from a cache."""

Step = Literal["seem broken", "broke", "seem fixed", "fixed"]
STEPS: tuple[Step, ...] = ("seem broken", "broke", "seem fixed", "fixed")
_Next = tuple[range, Sequence[Arm]]
"""The next fresh samples of a fixture: their repetitions, and the arms that are asked."""


def most_suspects(units: int) -> int:
    """Return how many suspects of so many units are sampled again at most."""
    return max(_FEWEST_SUSPECTS, units // _SUSPECTS_SHARE)


def most_fresh_samples(evaluation: Evaluation) -> int:
    """Return how many fresh samples the evaluation can take at most, on both arms."""
    contract = evaluation.contract
    if evaluation.base is None or not confirms_fixtures(contract):
        return 0
    fixtures = sum(map(len, evaluation.units().values()))
    screened = fixtures * min(SCREENING, max(0, SCREENING + 1 - contract.sampling.samples))
    broke = min(fixtures, most_suspects(fixtures))
    fixed = min(fixtures - broke, MOST_FIXED)
    return 2 * (screened + broke * MOST_PAIRS + fixed * MOST_TO_LIFT)


class _Pair(NamedTuple):
    base: bool | None
    head: bool | None

    @property
    def kindly(self) -> int:
        """How much worse head is, if what is not known speaks for head."""
        return (self.base is True) - (self.head is not False)

    @property
    def harshly(self) -> int:
        """How much worse head is, if what is not known speaks against head."""
        return (self.base is not False) - (self.head is True)


class _Half(_Pair):
    """A pair of which one sample was left out, because it cannot show the change that is sought."""

    __slots__ = ()

    @property
    def kindly(self) -> int:
        return 0

    @property
    def harshly(self) -> int:
        return 0


class Confirming:
    """The fresh samples of one evaluation, in steps.

    Args:
        evaluation: The evaluation.
        level: That of the comparison of the suite.
        outcomes: The planned samples.
        order_seed: What gives the fresh samples their order.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        level: float,
        outcomes: Iterable[Outcome],
        order_seed: str,
    ) -> None:
        self.unrecorded = False
        """Whether a recording has no fresh samples."""
        self._evaluation = evaluation
        self._contract = evaluation.contract
        self._level = shared_level(self._contract, level, "fixtures")
        self._order_seed = order_seed
        self._planned = range(self._contract.sampling.samples)
        self._screening = range(len(self._planned), len(self._planned) + SCREENING)
        self._first: dict[str, dict[Arm, Trial]] = defaultdict(dict)
        for trial in evaluation.trials:
            self._first[trial.fixture].setdefault(trial.arm, trial)
        apart = evaluation.apart
        self._allowed = self._contract.gate.allowed_of(len(self._first.keys() - apart))
        both = [f for f, arms in self._first.items() if len(arms) > 1 and f not in apart]
        must = [unit for unit in must_pass_units(self._contract) if unit.fixture in both]
        every = map(Unit, both if claims_fixtures(self._contract) else ())
        self._must = frozenset(must)
        self._units = tuple(dict.fromkeys((*must, *every)))  # in a random order
        self._outcomes: dict[tuple[str, Arm], dict[int, Outcome]] = defaultdict(dict)
        # By fixture: every new sample asks for the pairs of all, and most are as before.
        self._known: dict[str, dict[tuple[Unit, range], list[_Pair]]] = defaultdict(dict)
        for outcome in outcomes:
            self._keep(outcome)
        self._step: Step = "seem broken"
        self._copies = False
        self._suspects: tuple[Unit, ...] = ()
        self._wanted: frozenset[str] = frozenset()
        self._next: dict[str, _Next] = {}

    def begin(self, step: Step) -> tuple[Trial, ...]:
        """Begin a step, or go on with it. Returns the trials that may follow, in their order; none
        if the step has ended."""
        self._step = step
        self._copies = step != "seem broken" and self._repeats_prove_nothing()
        if step == "broke":
            self._suspects = self._choose_suspects()
        self._wanted = frozenset(self._still_wanted())
        self._next = {fixture: self._next_of(fixture) for fixture in self._wanted}
        # Both arms, also if one is asked: the cache knows the answers of whole pairs.
        trials = [
            trial.again(repetition)
            for fixture, (repetitions, _) in self._next.items()
            for repetition in repetitions
            for trial in self._first[fixture].values()
        ]
        return in_order(trials, self._order_seed)

    def wants(self, trial: Trial) -> bool:
        """Return whether a fresh sample can still change anything in this step."""
        return trial.fixture in self._wanted and trial.arm in self._next[trial.fixture][1]

    def take(self, outcome: Outcome) -> None:
        """Add a fresh sample."""
        self._keep(outcome)
        self._wanted = frozenset(self._still_wanted())

    @property
    def fresh(self) -> tuple[Outcome, ...]:
        """Return the fresh samples: of those that decide, up to the first that is missing of each
        fixture."""
        found = []
        for fixture, arms in self._first.items():
            for repetition in (*self._screening, *self._confirming):
                taken = [self._outcomes[fixture, arm].get(repetition) for arm in arms]
                pair = [outcome for outcome in taken if outcome is not None]
                if repetition in self._confirming and len(pair) < len(arms):
                    break
                found += pair
        return tuple(found)

    @property
    def result(self) -> BrokenFixtures:
        """Return what all samples show so far."""
        suspects = self._suspects or self._choose_suspects()
        if self._copies or self._repeats_prove_nothing():
            return self._counted_once(suspects)
        changes: dict[Unit, ConfirmedChange | None] = {
            unit: None for unit in self._units if self._is_open(unit)
        }
        changes |= zip(suspects, self._findings(suspects), strict=True)
        lifted = self._lifted(self._choose_fixed()[:MOST_FIXED])
        known = {unit: change for unit, change in lifted.items() if change in ("fixed", "kept")}
        changes |= known
        found = {u: _tallied(self._drawn(u), change or "unknown") for u, change in changes.items()}
        found |= {u: _tallied(pairs, "kept") for u, pairs in self._cleared(changes)}
        return BrokenFixtures(
            confirmations={unit: found[unit] for unit in self._units if unit in found},
            maybe_fixed=len(self._choose_fixed()) - len(known),
            level=self._level,
            left_out=self._left_out(suspects),
            unrecorded=self.unrecorded,
            allowed=self._allowed,
            claimed=claims_fixtures(self._contract),
        )

    def _repeats_prove_nothing(self) -> bool:
        """Return whether identical requests got the same answer every time, as at temperature 0 or
        from a cache."""
        repeated: list[set[tuple[str, bool | None]]] = []
        for outcomes in self._outcomes.values():
            answered = [o for o in outcomes.values() if o.sample.completion is not None]
            if len(answered) > 1:
                repeated.append({(answer_text(o.sample), o.passed) for o in answered})
        if any(len(answers) > 1 for answers in repeated):
            return False
        if self.unrecorded or not repeated:
            return self.unrecorded
        if self._evaluation.may_repeat:
            return True
        return any(len(text.split()) > _LABEL_WORDS for ((text, _),) in repeated)

    @property
    def _confirming(self) -> range:
        """The repetitions of the samples that decide."""
        return range(self._screening.stop, self._screening.stop + MOST_PAIRS)

    def _next_of(self, fixture: str) -> _Next:
        """Return the next fresh samples of a fixture that this step may need."""
        if self._step in ("seem broken", "seem fixed"):
            open_ = self._is_open if self._step == "seem broken" else self._may_be_fixed
            unit = next(u for u in self._units if u.fixture == fixture and open_(u))
            repetition = self._screening[len(self._pairs(unit, self._screening))]
            broke = self._step == "seem broken" and any(p.base for p in self._seen(unit))
            likely: Sequence[Arm] = ("head", "base") if broke else ("base", "head")
            left = [a for a in likely if repetition not in self._outcomes[fixture, a]]
            return range(repetition, repetition + 1), left[:1]
        drawn = len(self._drawn(Unit(fixture)))
        return self._confirming[drawn : drawn + PAIRS_AT_ONCE], ARMS

    def _still_wanted(self) -> Iterable[str]:
        if self._step == "seem broken":
            return (unit.fixture for unit in self._units if self._is_open(unit))
        if self.unrecorded or self._copies:
            return ()
        if self._step == "broke":
            found = self._findings(self._suspects)
            return (u.fixture for u, f in zip(self._suspects, found, strict=True) if f is None)
        candidates = self._choose_fixed()
        if not self._can_lift(len(candidates)):
            return ()
        if self._step == "seem fixed":
            return (unit.fixture for unit in candidates if self._may_be_fixed(unit))
        lifted = self._lifted(candidates[:MOST_FIXED])
        return (unit.fixture for unit, change in lifted.items() if change is None)

    def _can_lift(self, candidates: int) -> bool:
        """Return whether broken fixtures fail the contract, unless so many are fixed."""
        found = self.result
        gated = len(found.fixtures("broke")) - found.allowed
        return found.claimed and 0 < gated <= candidates

    def _is_open(self, unit: Unit) -> bool:
        seen = self._seen(unit)
        if all(pair == (None, None) for pair in seen):
            return False  # nothing suggests that it passed on base
        return suspicion([pair.harshly for pair in seen]) == "open"

    def _may_be_fixed(self, unit: Unit) -> bool:
        """Return whether one more pair tells whether the unit seems fixed."""
        return suspicion([-pair.kindly for pair in self._seen(unit)]) == "open"

    def _choose_suspects(self) -> tuple[Unit, ...]:
        """Return the units that seem to have broken, those that must pass first and then the
        clearest. All others are in a random order."""
        found = self._that_seem(lambda pair: pair.harshly, ("suspect",))
        lead = {unit: sum(pair.harshly for pair in self._seen(unit)) for unit in found}
        found.sort(key=lambda unit: (unit not in self._must, -lead[unit]))
        return tuple(found[: most_suspects(len(self._units))])

    def _choose_fixed(self) -> tuple[Unit, ...]:
        """Return the units that may have been fixed, the clearest first."""
        found = self._that_seem(lambda pair: -pair.kindly, ("suspect", "open"))
        return tuple(sorted(found, key=lambda u: sum(pair.kindly for pair in self._seen(u))))

    def _cleared(self, others: Container[Unit]) -> Iterator[tuple[Unit, list[_Pair]]]:
        """Yield the units that more samples show not to be suspects, and those samples."""
        for unit in self._units:
            screened = self._pairs(unit, self._screening)
            if unit not in others and screened and self._first_seems_broken(unit):
                yield unit, screened

    def _left_out(self, suspects: Sequence[Unit]) -> int:
        return len(self._that_seem(lambda pair: pair.harshly, ("suspect",))) - len(suspects)

    def _that_seem(self, read: Callable[[_Pair], int], wanted: Sequence[str]) -> list[Unit]:
        return [
            unit
            for unit in self._units
            if any(True in pair for pair in self._seen(unit))
            and suspicion([read(pair) for pair in self._seen(unit)]) in wanted
        ]

    def _findings(self, units: Sequence[Unit]) -> list[ConfirmedChange | None]:
        """Return what fresh samples show of each suspect; None if more of them are needed."""
        drawn = [self._drawn(unit) for unit in units]
        kindly = confirm([[pair.kindly for pair in pairs] for pairs in drawn], self._level)
        harshly = confirm([[pair.harshly for pair in pairs] for pairs in drawn], self._level)
        return [_agreed(*each) for each in zip(kindly, harshly, strict=True)]

    def _lifted(self, units: Sequence[Unit]) -> dict[Unit, ConfirmedChange | None]:
        """Return what fresh samples show of the units that seem fixed; None if more are needed. All
        of them share the whole alpha: a larger chance would excuse real breaks."""
        alpha = self._contract.gate.alpha
        drawn = [self._drawn(unit)[:MOST_TO_LIFT] for unit in units]
        surely = confirm([[-pair.harshly for pair in pairs] for pairs in drawn], alpha)
        maybe = confirm([[-pair.kindly for pair in pairs] for pairs in drawn], alpha)
        found: dict[Unit, ConfirmedChange | None] = {}
        for unit, pairs, *readings in zip(units, drawn, surely, maybe, strict=True):
            change = _agreed(*readings)
            if change is None and len(pairs) == MOST_TO_LIFT:
                change = "kept"
            found[unit] = "fixed" if change == "broke" else change
        return found

    def _counted_once(self, suspects: Sequence[Unit]) -> BrokenFixtures:
        drops = {u.fixture: _drop(self._seen(u)) for u in self._units if u.check is None}
        groups = self._evaluation.units().values()
        signs = [sum(_sign(drops.get(fixture, 0)) for fixture in each) for each in groups]
        broke, fixed = sum(sign > 0 for sign in signs), sum(sign < 0 for sign in signs)
        found: dict[Unit, Confirmation] = {}
        for unit in self._units:
            seen = self._seen(unit)
            drop = _drop(seen)
            if drop:
                found[unit] = _tallied(seen, "broke" if drop > 0 else "fixed")
            elif unit in suspects:
                found[unit] = _tallied(seen, "unknown")
        return BrokenFixtures(
            confirmations=found,
            maybe_fixed=0,
            level=self._level,
            allowed=self._allowed,
            claimed=claims_fixtures(self._contract),
            p_value=mcnemar_exact(broke, fixed),
        )

    def _seen(self, unit: Unit) -> list[_Pair]:
        """Return the pairs that make the unit a suspect or not."""
        return [*self._pairs(unit, self._planned), *self._pairs(unit, self._screening)]

    def _drawn(self, unit: Unit) -> list[_Pair]:
        """Return the fresh pairs that decide."""
        return self._pairs(unit, self._confirming)

    def _pairs(self, unit: Unit, repetitions: range) -> list[_Pair]:
        known = self._known[unit.fixture]
        if (unit, repetitions) in known:
            return known[unit, repetitions]
        pairs = []
        for repetition in repetitions:
            pair = self._pair(unit, repetition)
            if pair is None:
                break  # what came after a gap is no evidence
            pairs.append(pair)
        known[unit, repetitions] = pairs
        return pairs

    def _pair(self, unit: Unit, repetition: int) -> _Pair | None:
        """Return a pair of samples, or a sample that tells alone that head is not worse in it; None
        if one is missing."""
        outcomes = [self._outcomes[unit.fixture, arm].get(repetition) for arm in ARMS]
        base, head = (None if o is None else unit.passed(o) for o in outcomes)
        if None not in outcomes:
            return _Pair(base, head)
        if repetition in self._screening:
            seems_broken = self._first_seems_broken(unit)
            if base is not seems_broken and base is not None:
                return _Half(base, head)
            if head is seems_broken:
                return _Half(base, head)
        return None

    def _first_seems_broken(self, unit: Unit) -> bool:
        """Return whether the planned samples alone may show head worse."""
        return sum(pair.harshly for pair in self._pairs(unit, self._planned)) > 0

    def _keep(self, outcome: Outcome) -> None:
        trial = outcome.sample.trial
        self._known.pop(trial.fixture, None)
        self._outcomes[trial.fixture, trial.arm][trial.repetition] = outcome


def _drop(pairs: Sequence[_Pair]) -> int:
    """Return how much worse head is, from the pairs without an unknown sample if there are any:
    they say what the others would have said."""
    whole = [pair for pair in pairs if None not in pair]
    return sum(pair.kindly for pair in whole or pairs)


def _agreed(kindly: str, harshly: str) -> ConfirmedChange | None:
    """Return the finding of both readings; None if more samples are needed."""
    if kindly == "broke":
        return "broke"
    if harshly == "kept":
        return "kept"
    return None if "open" in (kindly, harshly) else "unknown"


def _tallied(pairs: Sequence[_Pair], found: ConfirmedChange) -> Confirmation:
    return Confirmation(_tally(pair.base for pair in pairs), _tally(p.head for p in pairs), found)


def _tally(flags: Iterable[bool | None]) -> Tally:
    known = [flag for flag in flags if flag is not None]
    return Tally(sum(known), len(known))


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
