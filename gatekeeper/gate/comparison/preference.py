"""Decides by judges who compare head's output with base's to the same input (`judge: prefer`).

Each pair gives one of three values: base preferred, head preferred, or a tie. They are tested like
outcomes that broke, were fixed or stayed: by the sign-flip test over units, with a sequential
boundary of its own, so that judges are asked only until the result is certain. A pair that could
not be measured may speak for head or against it, as everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace

from gatekeeper.checks.pair_check import PairFinding, Preferred, compares_pairs
from gatekeeper.contract.values.trial import CheckResult, Outcome, Request, Sample, Trial
from gatekeeper.gate.comparison.paired_comparison import Comparison
from gatekeeper.gate.plan.plan import Evaluation, Job
from gatekeeper.gate.results.parts import PreferenceResult, name_against_base
from gatekeeper.stats.intervals.intervals import estimated_rate

PairKey = tuple[str, int]
"""A fixture and a repetition."""

_FATES: Mapping[Preferred | None, tuple[bool | None, bool | None]] = {
    "base": (True, False),
    "tie": (True, True),
    "head": (False, True),
    None: (None, None),
}
"""Whether base and head pass, so that the difference is 1, 0 or -1."""


def has_preferences(job: Job) -> bool:
    """Return whether any evaluation of the job compares outputs in pairs."""
    return any(e.base is not None and _pair_checks(e) for e in job.evaluations)


@dataclass(frozen=True, slots=True)
class OutputPair:
    """The samples of both arms, if both have an output that can be compared."""

    base: Outcome | None
    head: Outcome | None

    @property
    def comparable(self) -> bool:
        return all(
            o is not None and o.sample.completion is not None and o.sample.completion.cut is None
            for o in (self.base, self.head)
        )


class PreferenceTest:
    """The pairs of one check and one evaluation, taken in plan order."""

    def __init__(
        self, evaluation: Evaluation, name: str, level: float, outcomes: Sequence[Outcome]
    ) -> None:
        self.name = name
        self._level = level
        self._checks = {
            fixture: check.evaluate
            for fixture, checks in evaluation.evaluator.checks.items()
            for check in checks
            if check.name == name and compares_pairs(check.evaluate)
        }
        self._evaluation = _in_rounds(evaluation, self._checks)
        self._comparison = Comparison(self._evaluation, level)
        self._pairs = {
            key: pair
            for key, pair in _pairs(evaluation, outcomes).items()
            if key[0] in self._checks
        }
        self._order = list(self._pairs)
        self._trials = _trials_by_pair(evaluation)
        self._taken = 0
        self.findings: dict[PairKey, PairFinding] = {}

    @property
    def fixtures(self) -> Collection[str]:
        """Return the fixtures that have the check."""
        return self._checks.keys()

    @property
    def settled(self) -> bool:
        """Whether no pair still to come is needed."""
        return self._comparison.stopped is not None

    def questions(self, key: PairKey, sample: Sample) -> tuple[Request, ...]:
        """Return what is still to be asked about the pair; `sample` carries the answers."""
        base = self._pairs[key].base if key in self._pairs else None
        if base is None or self.settled or key in self.findings:
            return ()
        return self._checks[key[0]].pair_questions(base.sample, sample)

    def take(self, key: PairKey, sample: Sample) -> None:
        """Add the next pair in plan order, with those before it that could not be compared."""
        if key not in self._pairs:
            return
        while self._order[self._taken] != key:
            self._skip()
        base = self._pairs[key].base
        if self.settled or base is None:
            return
        finding = self._checks[key[0]].compare(base.sample, sample)
        self.findings[key] = finding
        self._taken += 1
        self._feed(key, finding.preferred)

    def finish(self) -> None:
        """Add the pairs at the end that could not be compared or were not asked about."""
        while self._taken < len(self._order) and not self.settled:
            self._skip()

    def result(self) -> PreferenceResult:
        """Return what the pairs so far show."""
        found, level = self._comparison.evaluate(self._level), self._level
        harshest = self._comparison.evaluate(level, harshly=True).regressed
        known = [f for f in self.findings.values() if f.preferred is not None]
        chosen = [f.preferred for f in known]
        orders = sum(f.orders for f in known)
        first = sum(f.first_place for f in known)
        placed = first + sum(f.second_place for f in known)
        drops = self._comparison.drops()
        drop = sum(drops) / len(drops) if drops else None
        margin = self._evaluation.contract.gate.margin
        lost = self._comparison.largest_drop() > margin
        models = {m: None for check in self._checks.values() for m in check.judge_models}
        return PreferenceResult(
            check=self.name,
            judges=tuple(models),
            pairs=len(known),
            base_preferred=chosen.count("base"),
            head_preferred=chosen.count("head"),
            unmeasured=self._comparison.unmeasured,
            contradictory=estimated_rate(sum(f.contradictions for f in known), orders),
            for_first=estimated_rate(first, placed),
            p_value=found.p_value,
            level=level,
            difference=None if drop is None else -drop,
            worse=found.regressed,
            open=drop is None or (drop > margin and self._comparison.stopped != "not_worse"),
            could_be_worse=not found.regressed and harshest and lost,
            stopped=self._comparison.stopped,
        )

    def _skip(self) -> None:
        key = self._order[self._taken]
        self._taken += 1
        if not self.settled:
            self._feed(key, None)

    def _feed(self, key: PairKey, preferred: Preferred | None) -> None:
        base = self._pairs[key].base
        completion = base.sample.completion if base else None
        for trial, passed in zip(self._trials[key], _FATES[preferred], strict=True):
            result = CheckResult(self.name, passed)
            self._comparison.add(Outcome(Sample(trial, completion), (result,)))


class EvaluationPreferences:
    """All pairs of one evaluation, for each of its checks that compare outputs."""

    def __init__(self, evaluation: Evaluation, level: float, outcomes: Sequence[Outcome]) -> None:
        names = _pair_checks(evaluation)
        self.tests = [
            PreferenceTest(evaluation, name, level / len(names), outcomes) for name in names
        ]
        self._pairs = _pairs(evaluation, outcomes)
        self._about = {fixture for test in self.tests for fixture in test.fixtures}
        self.answered: dict[PairKey, Sample] = {}

    @property
    def settled(self) -> bool:
        return all(test.settled for test in self.tests)

    def heads(self) -> list[Outcome]:
        """Return head's outcomes of the pairs that can be compared, in plan order."""
        return [
            pair.head
            for (fixture, _), pair in self._pairs.items()
            if pair.head is not None and pair.comparable and fixture in self._about
        ]

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        """Return what is still to be asked about the pair of head's sample."""
        key = sample.trial.fixture, sample.trial.repetition
        return tuple(q for test in self.tests for q in test.questions(key, self._repaired(sample)))

    def take(self, sample: Sample) -> None:
        """Add the next pair, with the answers of its judges."""
        key = sample.trial.fixture, sample.trial.repetition
        self.answered[key] = self._repaired(sample)
        for test in self.tests:
            test.take(key, self._repaired(sample))

    def finish(self) -> tuple[PreferenceResult, ...]:
        """Return the results, after the last pair."""
        for test in self.tests:
            test.finish()
        return tuple(test.result() for test in self.tests)

    def with_findings(self, outcome: Outcome) -> Outcome:
        """Return head's outcome with the judges' answers, and what they say as a warning, which
        does not gate by itself."""
        trial = outcome.sample.trial
        key = trial.fixture, trial.repetition
        if trial.arm != "head" or key not in self.answered:
            return outcome
        answers = self.answered[key].judge_answers
        more = [
            CheckResult(
                name_against_base(test.name),
                None if found.preferred is None else found.preferred != "base",
                found.message,
                "warn",
                votes=found.votes,
            )
            for test in self.tests
            if (found := test.findings.get(key)) is not None
        ]
        sample = replace(outcome.sample, judge_answers=answers)
        return replace(outcome, sample=sample, check_results=(*outcome.check_results, *more))

    def _repaired(self, sample: Sample) -> Sample:
        """Return the sample with the output that the checks saw, and the new answers too."""
        head = self._pairs[sample.trial.fixture, sample.trial.repetition].head
        if head is None:
            return sample
        kept = head.sample.judge_answers
        new = [a for a in sample.judge_answers if a not in kept]
        return replace(head.sample, judge_answers=(*kept, *new))


def _in_rounds(evaluation: Evaluation, compared: Container[str]) -> Evaluation:
    """Return the evaluation with every sample of a fixture as a round of its own, of the compared
    fixtures alone."""
    others = [f.id for f in evaluation.contract.fixtures if f.id not in compared]
    unpaired = tuple(dict.fromkeys((*evaluation.unpaired, *others)))
    sampling = replace(evaluation.contract.sampling, aggregate="majority", mode="adaptive")
    contract = replace(evaluation.contract, sampling=sampling)
    return replace(evaluation, contract=contract, unpaired=unpaired)


def _pairs(evaluation: Evaluation, outcomes: Sequence[Outcome]) -> dict[PairKey, OutputPair]:
    """Return the pairs that the plan has, in its order, with the samples that were taken."""
    taken = {
        (o.sample.trial.fixture, o.sample.trial.repetition, o.sample.trial.arm): o for o in outcomes
    }
    return {
        key: OutputPair(taken.get((*key, "base")), taken.get((*key, "head")))
        for key in _trials_by_pair(evaluation)
    }


def _trials_by_pair(evaluation: Evaluation) -> dict[PairKey, tuple[Trial, Trial]]:
    """Return base's and head's trial of each pair, in plan order."""
    arms: dict[PairKey, dict[str, Trial]] = {}
    for trial in evaluation.trials:
        arms.setdefault((trial.fixture, trial.repetition), {})[trial.arm] = trial
    return {key: (both["base"], both["head"]) for key, both in arms.items() if len(both) > 1}


def _pair_checks(evaluation: Evaluation) -> list[str]:
    """Return the names of the checks that compare outputs in pairs."""
    names = {
        check.name: None
        for checks in evaluation.evaluator.checks.values()
        for check in checks
        if compares_pairs(check.evaluate)
    }
    return list(names)
