"""Evaluates samples as they arrive and decides when a contract's result is certain.

The runner passes samples in plan order, never in the order of completion: slow outputs fail more
often, so evidence in the order of completion would favour fast outputs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from gatekeeper.checks.evaluate import Evaluator
from gatekeeper.checks.repairs.embedded_meaning import compared_ledger, meaning_questions
from gatekeeper.checks.repairs.steps import repair
from gatekeeper.contract.calls.calls import count_calls, spoken, step_names
from gatekeeper.contract.values.definition import Contract, SimulatedUser
from gatekeeper.contract.values.trial import (
    Completion,
    ContractFrom,
    Outcome,
    QuestionId,
    Request,
    Sample,
    Trial,
)
from gatekeeper.gate.comparison.missing_answers import missing_answer
from gatekeeper.gate.comparison.must_pass import must_pass_units
from gatekeeper.gate.comparison.paired_comparison import Comparison
from gatekeeper.gate.objectives.objectives import in_doubt, slo_results
from gatekeeper.gate.plan.alpha import ALL, alpha_shares, claim_levels, confirms_fixtures, levels
from gatekeeper.gate.plan.plan import Evaluation, Job
from gatekeeper.gate.results.parts import BrokenFixtures, PreferenceResult
from gatekeeper.gate.results.result import SloResult, Stopped
from gatekeeper.gate.samples.consistency import AnswerComparisons
from gatekeeper.gate.samples.outcomes import recalled_outcome
from gatekeeper.sampling.calls import distinct_requests
from gatekeeper.sampling.stored_text import stored_outcome
from gatekeeper.stats.paired.futility import FUTILE_IN_FEW
from gatekeeper.stats.paired.sequential import looks

OBJECTIVE_ERROR = 0.05
"""The probability that any objective of a contract is decided wrongly, over all times at
which the run may stop."""


def evaluate_sample(sample: Sample, contract: Contract, evaluator: Evaluator) -> Outcome:
    """Return the sample after the contract's repairs, with the result of each check.

    The whole answer is evaluated; the result holds only the part that is stored.
    """
    completion = sample.completion
    if completion is None:
        return stored_outcome(Outcome(sample))
    if completion.is_part:
        return recalled_outcome(sample, contract, evaluator)
    trial, sample = sample.trial, _as_evaluated(sample)
    found = repair(completion.text, contract.repair, contract.mode)
    ledger = compared_ledger(found, contract.repair, sample)
    repaired = replace(sample, output=found.output, repairs=found.names, ledger=ledger)
    before = (replace(sample, output=text) for text in found.texts)
    passed = tuple(_passes(one, contract, evaluator) for one in before)
    checked = evaluator.evaluate(repaired)
    missing = missing_answer(repaired, checked, evaluator)
    kept = replace(repaired, trial=trial)
    return stored_outcome(Outcome(kept, checked, contract.pass_score, passed, missing))


def _passes(sample: Sample, contract: Contract, evaluator: Evaluator) -> bool | None:
    return Outcome(sample, evaluator.evaluate(sample), contract.pass_score).passed


def judge_questions(
    sample: Sample, contract: Contract, evaluator: Evaluator
) -> tuple[Request, ...]:
    """Return what judges are still to be asked about the sample after the contract's repairs."""
    if sample.completion is None or not evaluator.has_judges or sample.completion.is_part:
        return ()
    found = repair(sample.completion.text, contract.repair, contract.mode)
    repaired = replace(_as_evaluated(sample), output=found.output, repairs=found.names)
    return (
        *evaluator.questions(repaired),
        *meaning_questions(found, contract.repair, sample),
    )


def _as_evaluated(sample: Sample) -> Sample:
    """Return the sample with its whole conversation. Of a chain, each check finds its own step."""
    return sample if step_names(sample.trial.request) else spoken(sample)


class EvaluationMonitor:
    """One evaluation's outcomes so far, and what is left to decide.

    The arms are compared at the level that the contract has if every other comparison of the run
    must be rejected before it: Holm's strictest. The objectives are evaluated at the ends of
    rounds, each time with a part of their own error rate.
    """

    def __init__(self, evaluation: Evaluation, level: float | None) -> None:
        self.evaluation = evaluation
        self.outcomes: list[Outcome] = []
        levels_of_claims = {} if level is None else claim_levels(evaluation, level)
        self.comparison = None if level is None else Comparison(evaluation, levels_of_claims[ALL])
        self.parts = {} if level is None else evaluation.slices()
        """The part of the evaluation that each slice is about."""
        self.slices = {n: Comparison(p, levels_of_claims[n]) for n, p in self.parts.items()}
        """The comparison of each category that is decided by itself."""
        self.slo: tuple[SloResult, ...] | None = None
        self.preferences: tuple[PreferenceResult, ...] = ()
        """The judges' preferences between pairs of answers. The run asks for them when all
        samples are there."""
        self.rounds = 0
        """The number of complete rounds. A round is one more sample of every fixture on every
        arm."""
        self.broken: BrokenFixtures | None = None
        """What `fresh` samples show of the fixtures that seemed to have broken. The run takes them
        after the planned samples, and they are evidence of nothing else."""
        self.fresh: tuple[Outcome, ...] = ()
        self._comparisons = AnswerComparisons(evaluation.contract)
        self._gap = False
        self._left = Counter(trial.repetition for trial in evaluation.trials)
        sampling = evaluation.contract.sampling
        adaptive = sampling.mode == "adaptive"
        whole = _tests_at_the_end(evaluation.contract, compares=level is not None)
        self._may_end_early = adaptive and evaluation.contract.gate.tolerance is None and not whole
        self._looks_at_all = level is not None and confirms_fixtures(evaluation.contract)
        self.level = level
        self._shares = {look.rounds: look.own for look in looks(sampling.samples, early=adaptive)}

    @property
    def claims(self) -> Mapping[str, Comparison]:
        """Return every comparison of the arms: that of all inputs, and that of each slice."""
        return {ALL: self.comparison, **self.slices} if self.comparison else {}

    @property
    def complete(self) -> bool:
        """Whether every planned trial has its sample."""
        return len(self.outcomes) >= len(self.evaluation.trials)

    @property
    def stopped(self) -> Stopped | None:
        """Return why sampling ended; None if it has not, or if something else ended it."""
        early = self.comparison is not None and self.comparison.test.early
        if self.comparison and early and self.comparison.stopped:
            return self.comparison.stopped
        if early and self.regressed:
            return "regressed"
        if self.complete or not self.settled:
            return "exhausted" if self.complete else None
        return "futile" if early else "exhausted"

    @property
    def regressed(self) -> bool:
        """Whether head is certainly worse over all inputs or a slice of them, and fails for
        that."""
        if self.evaluation.contract.gate.claim == "fixtures":
            return False
        return any(claim.stopped == "regressed" for claim in self.claims.values())

    @property
    def settled(self) -> bool:
        """Whether no sample still to come is needed."""
        if self.complete or self.regressed:
            return True
        contract = self.evaluation.contract
        if not self._may_end_early:
            return False
        if any(self.rounds < objective.samples_needed for objective in contract.slo):
            return False
        if self.comparison is None:
            return bool(self.slo) and all(result.met is not None for result in self.slo or ())
        if any(c.stopped is None and not c.futile for c in self.claims.values()):
            return False
        if self._looks_at_all and not self.rounds:
            return False
        # An objective that looks met may stay open; one in doubt is worth more samples.
        return not contract.slo or (
            self.slo is not None and not any(in_doubt(result) for result in self.slo)
        )

    def holds(self, trial: Trial) -> bool:
        """Return whether the trial waits for the end of the round before. Of few rounds, the first
        often tells that no other is needed, and calls under way would be paid for; of many rounds,
        waiting would take longer than it saves."""
        few = self.evaluation.contract.sampling.samples in FUTILE_IN_FEW
        compares = few and self.comparison is not None
        return compares and self._may_end_early and trial.repetition > self.rounds

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        """Return what judges are still to be asked about the sample."""
        contract = self.evaluation.contract
        return (
            *judge_questions(sample, contract, self.evaluation.evaluator),
            *self._comparisons.questions(sample),
        )

    def evaluate(self, sample: Sample) -> Outcome:
        """Evaluate a sample; it is not yet evidence."""
        return evaluate_sample(sample, self.evaluation.contract, self.evaluation.evaluator)

    def take(self, outcome: Outcome) -> None:
        """Add the next evaluated sample, in plan order."""
        sample = outcome.sample
        # Samples beyond a gap of an interrupted run are reported, but are not evidence.
        self._gap = self._gap or self.evaluation.trials[len(self.outcomes)] is not sample.trial
        self.outcomes.append(outcome)
        if self._gap:
            return
        for comparison in self.claims.values():
            comparison.add(outcome)
        self._left[sample.trial.repetition] -= 1
        if self._left[sample.trial.repetition] == 0:
            self.rounds = sample.trial.repetition + 1
            self._look_at_objectives()

    def _look_at_objectives(self) -> None:
        share = self._shares.get(self.rounds)
        if share is None:
            return
        head = [o for o in self.outcomes if o.sample.trial.arm == "head"]
        planned = self.evaluation.planned_on_head(self.rounds)
        results = slo_results(
            self.evaluation.contract,
            head,
            planned,
            1 - OBJECTIVE_ERROR * share,
            self.evaluation.counts_with,
            calibrations=self.evaluation.calibrations,
            same_input=self.evaluation.same_input,
        )
        decided = {r.objective: r for r in self.slo or () if r.met is not None}
        self.slo = tuple(decided.get(r.objective, r) for r in results)


def _tests_at_the_end(contract: Contract, *, compares: bool) -> bool:
    """Return whether something is tested once, when everything is sampled."""
    if compares:
        return bool(alpha_shares(contract).limits)
    return bool(must_pass_units(contract))


@dataclass(frozen=True, slots=True)
class ContractProgress:
    """The progress of one contract: `sampled` of at most `planned` samples.

    `pairs` of base and head were compared, and `broke` and `fixed` inputs changed; None if nothing
    is compared. `worse` and `not_worse` say how near these results are, from 0 to 1; None if only a
    later look can decide. `answer` is the result as soon as no more samples are needed.
    """

    contract: str
    sampled: int
    planned: int
    pairs: int | None = None
    broke: int = 0
    fixed: int = 0
    worse: float | None = None
    not_worse: float | None = None
    answer: Stopped | None = None


def contract_progress(contract: str, watches: Iterable[EvaluationMonitor]) -> ContractProgress:
    """Return the progress of one contract from its watches, head's first: its comparison, and the
    samples of all."""
    every = tuple(watches)
    comparison = every[0].comparison
    broke, fixed = comparison.changed if comparison else (0, 0)
    worse, not_worse = (comparison.nearness if comparison else None) or (None, None)
    return ContractProgress(
        contract=contract,
        sampled=sum(len(watch.outcomes) for watch in every),
        planned=sum(len(watch.evaluation.trials) for watch in every),
        pairs=comparison.pairs if comparison else None,
        broke=broke,
        fixed=fixed,
        worse=worse,
        not_worse=not_worse,
        answer=_answer(every),
    )


def _answer(watches: tuple[EvaluationMonitor, ...]) -> Stopped | None:
    if any(watch.regressed for watch in watches):
        return "regressed"
    if not all(watch.settled for watch in watches):
        return None
    return watches[0].stopped or "exhausted"


class Progress(Protocol):
    """Who shows a person how far the run is."""

    def started(
        self, total: int, progress_of_contracts: Callable[[], Sequence[ContractProgress]] = tuple
    ) -> None:
        """Start the display of at most `total` calls. `progress_of_contracts` returns the progress
        of each contract at any time."""
        ...

    def expect(self, calls: int) -> None:
        """Add so many calls to the most that are made."""
        ...

    def advanced(self, *, cost_usd: float | None, failed: bool) -> None:
        """Count one finished call; a `cost_usd` of None is not known."""
        ...

    def refused(self) -> None:
        """Count one request that the provider refused because of load; it is tried again."""
        ...


class Watches:
    """The watch of a whole run: an EvaluationMonitor for each evaluation of each contract."""

    def __init__(self, jobs: Sequence[Job], progress: Progress | None = None) -> None:
        strictest = levels(jobs)
        self._progress = progress
        self._graded: set[QuestionId] = set()
        self._counted: set[tuple[object, ...]] = set()
        self._watches: Mapping[str, dict[ContractFrom, EvaluationMonitor]] = {
            job.contract.name: {
                # Holm's first step is the strictest: what it rejects is rejected in the end.
                evaluation.contract_from: EvaluationMonitor(
                    evaluation, strictest.get((job.contract.name, evaluation.contract_from))
                )
                for evaluation in job.evaluations
            }
            for job in jobs
        }

    def of(self, job: Job) -> tuple[EvaluationMonitor, ...]:
        """Return the watches of a job, head's first."""
        return tuple(self._watches[job.contract.name].values())

    def progress_of_contracts(self) -> tuple[ContractProgress, ...]:
        """Return each contract's progress; nothing is evaluated again, so this is cheap."""
        return tuple(contract_progress(name, by.values()) for name, by in self._watches.items())

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Return every outcome of every evaluation."""
        each = (watch for watches in self._watches.values() for watch in watches.values())
        return tuple(outcome for watch in each for outcome in watch.outcomes)

    @property
    def fresh(self) -> tuple[Outcome, ...]:
        """Return every fresh sample of a fixture that seemed to have broken."""
        each = (watch for watches in self._watches.values() for watch in watches.values())
        return tuple(outcome for watch in each for outcome in watch.fresh)

    def expect(self, trials: Sequence[Trial]) -> None:
        """Show that these trials may follow."""
        if self._progress:
            self._progress.expect(len(distinct_requests(trials)))

    def wants(self, trial: Trial) -> bool:
        """Return whether the trial's evaluation still needs it: one regression is enough for
        all."""
        monitors = self._watches[trial.contract]
        return not (
            monitors[trial.contract_from].settled or any(w.regressed for w in monitors.values())
        )

    def holds(self, trial: Trial) -> bool:
        """Return whether the trial waits for the samples of earlier rounds."""
        return self._of_trial(trial).holds(trial)

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        """Return what judges are still to be asked, by the contract that requested the sample."""
        return self._of_trial(sample.trial).questions(sample)

    def evaluate(self, sample: Sample) -> Outcome:
        """Evaluate the sample with the contract that requested it."""
        return self._of_trial(sample.trial).evaluate(sample)

    def _of_trial(self, trial: Trial) -> EvaluationMonitor:
        return self._watches[trial.contract][trial.contract_from]

    def add(self, outcome: Outcome) -> None:
        """Hand the evaluated sample to the caller's listener."""
        self._of_trial(outcome.sample.trial).take(outcome)
        self.count(outcome.sample)

    def judge_again(self, samples: Sequence[Sample], instead: Mapping[int, Outcome]) -> None:
        """Look at the samples as if some trials, by identity, had had other outcomes at once. What
        follows after a result is then certain is no evidence."""
        known = {**{id(outcome.sample.trial): outcome for outcome in self.outcomes}, **instead}
        changed = {outcome.sample.trial.contract for outcome in instead.values()}
        for name in changed:
            for key, monitor in self._watches[name].items():
                self._watches[name][key] = EvaluationMonitor(monitor.evaluation, monitor.level)
        for sample in samples:
            if sample.trial.contract in changed and self.wants(sample.trial):
                self._of_trial(sample.trial).take(known[id(sample.trial)])

    def count(self, sample: Sample) -> None:
        """Show that the calls of a sample have ended."""
        if self._progress and not sample.shared:
            asked = self._cost_of_questions(sample)
            for answer in self._new_answers(sample):
                cost = None if answer is None else 0.0 if answer.replayed else answer.cost_usd
                self._progress.advanced(
                    cost_usd=None if cost is None else cost + asked, failed=answer is None
                )
                asked = 0.0

    def _new_answers(self, sample: Sample) -> list[Completion | None]:
        """Return the answer of each call of the sample, without those that several chains of a
        fixture share and that were counted before. A conversation that failed, or has a simulated
        user and ends early, counts as all calls that were planned."""
        trial, answer = sample.trial, sample.completion
        if answer is None or isinstance(trial.request.call, SimulatedUser):
            free = replace(answer or Completion(""), cost_usd=0.0)
            return [*[free] * (count_calls(trial.request) - 1), answer]
        if not answer.turns:
            return [answer]
        found: list[Completion | None] = []
        for number, turn in enumerate(answer.turns):
            contract = trial.part_of or trial.contract
            key = (contract, trial.fixture, trial.repetition, number, turn.request)
            if key not in self._counted:
                self._counted.add(key)
                found.append(turn.completion)
        return found

    def _cost_of_questions(self, sample: Sample) -> float:
        """Return the known costs of the sample's judges and user, of a shared answer once."""
        users = sample.completion.users if sample.completion else ()
        new = [a for a in (*sample.judge_answers, *users) if a.asked not in self._graded]
        self._graded.update(answer.asked for answer in new)
        paid = (a.completion for a in new if a.completion and not a.completion.replayed)
        return math.fsum(completion.cost_usd or 0.0 for completion in paid)
