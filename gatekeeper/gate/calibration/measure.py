"""Asks the judges of a contract about outputs that people labelled."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gatekeeper.checks.evaluate import Evaluator, PreparedCheck, prepare
from gatekeeper.checks.judged_check import judge_models_of
from gatekeeper.checks.pair_check import compares_pairs
from gatekeeper.contract.checks.judge_calibration import JudgeIdentity, output_digest
from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.calibration_record import (
    Calibrations,
    CheckCalibration,
    GradedLabel,
)
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import (
    CheckResult,
    Completion,
    Outcome,
    Sample,
    Trial,
)
from gatekeeper.errors import UsageError
from gatekeeper.gate.calibration.judge_agreement import Agreement, Verdict, compare_judges
from gatekeeper.gate.calibration.labels import SettledLabel
from gatekeeper.gate.measuring.monitor import Progress
from gatekeeper.gate.plan.calibrations_in_force import judge_identities
from gatekeeper.sampling.client import ModelClient
from gatekeeper.sampling.judging import OnJudgeAnswer
from gatekeeper.sampling.limits import Price
from gatekeeper.sampling.retries import RetryPolicy
from gatekeeper.sampling.runner import EverySample, Run, run_trials
from gatekeeper.sampling.trials import plan_trials


@dataclass(frozen=True, slots=True)
class LabelledTrial:
    """A labelled output, with the trial that could have given it."""

    label: SettledLabel
    trial: Trial


@dataclass(frozen=True, slots=True)
class CalibrationPlan:
    """What is to be graded. `judges` are the checks with a judge, by name; `skipped` counts labels
    of fixtures that the contract does not have."""

    contract: Contract
    evaluator: Evaluator
    judges: Mapping[str, JudgeIdentity]
    labelled: tuple[LabelledTrial, ...]
    skipped: int = 0

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(m for judge in self.judges.values() for m in judge.models))

    def evaluator_of(self, check: str | None) -> Evaluator:
        """Return the checks that a label is about, by its `check`: only their judges are asked."""
        return Evaluator(
            {
                fixture: tuple(c for c in checks if _is_graded(c, check))
                for fixture, checks in self.evaluator.checks.items()
            }
        )


@dataclass(frozen=True, slots=True)
class CalibrationRun:
    """What the judges said. `agreement` has each check, and each model of a check that asks
    several. `ended` says why not all were asked; None if all were."""

    calibrations: Calibrations
    agreement: Agreement
    run: Run
    ended: str | None = None


def plan_calibration(contract: Contract, labels: Sequence[SettledLabel]) -> CalibrationPlan:
    """Plan which judges are asked about which outputs. Raises UsageError if the labels do not fit
    the contract, and ContractError."""
    if contract.target.steps:
        # What a judge sees of a step depends on the outputs before it, which labels do not have.
        raise UsageError(
            f"{contract.name} has steps, so its judges cannot be calibrated; "
            "make a contract for the prompt of one step, and calibrate the judges of that contract"
        )
    evaluator = prepare(contract)
    judges = judge_identities(contract, evaluator)
    if not judges:
        if any(compares_pairs(c.evaluate) for own in evaluator.checks.values() for c in own):
            raise UsageError(
                f"{contract.name} has no judge of single outputs, so there is nothing to "
                "calibrate; `judge: prefer` compares outputs, and labels of single outputs do not "
                "say which of two is better"
            )
        raise UsageError(
            f"no check of {contract.name} uses a judge, so there is nothing to calibrate"
        )
    names = ", ".join(judges)
    for name, judge in judges.items():
        specs = (judge.check, *judge.check.parts)
        for key, what in (("transcript", "whole conversations"), ("files", "answers about files")):
            if any(spec.params.get(key) for spec in specs):
                raise UsageError(
                    f"the check `{name}` grades {what}, which labels do not hold, so its judge "
                    f"cannot be calibrated; remove `{key}`, or move the check to another contract"
                )
    for label in labels:
        if label.check is None and len(judges) > 1:
            raise UsageError(
                f"several checks of {contract.name} use a judge ({names}); add a column `check` "
                "to the labels, and write the name of one of these checks in each row"
            )
        if label.check is not None and label.check not in judges:
            raise UsageError(
                f"labels: no check of {contract.name} with a judge has the name `{label.check}`; "
                f"in the column `check`, write one of these names: {names}"
            )
    requests = {
        trial.fixture: trial
        for trial in plan_trials(contract, contract.target, None, {}).trials
        if trial.repetition == 0
    }
    return plan_labelled(contract, evaluator, judges, labels, requests)


def plan_labelled(
    contract: Contract,
    evaluator: Evaluator,
    judges: Mapping[str, JudgeIdentity],
    labels: Sequence[SettledLabel],
    trials: Mapping[str, Trial],
) -> CalibrationPlan:
    """Plan the labels of fixtures that have a trial. Raises UsageError if there is none."""
    known = [label for label in labels if label.fixture in trials]
    labelled = tuple(
        # Another repetition for each: equal requests would share one answer.
        LabelledTrial(label, _numbered(trials[label.fixture], number))
        for number, label in enumerate(known)
    )
    if not labelled:
        raise UsageError(f"none of the labels is about a fixture of {contract.name}")
    return CalibrationPlan(contract, evaluator, judges, labelled, len(labels) - len(known))


def _numbered(trial: Trial, number: int) -> Trial:
    request = replace(trial.request, repetition=number)
    return replace(trial, repetition=number, request=request)


async def grade_labels(
    plan: CalibrationPlan,
    client: ModelClient,
    limits: Limits,
    *,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    retry: RetryPolicy | None = None,
    price: Price | None = None,
    judged: Mapping[str, Completion] | None = None,
    on_judge_answer: OnJudgeAnswer | None = None,
) -> CalibrationRun:
    """Ask the judges, under the limits of the policy. `judged` are answers of an earlier run, by
    `question_key`. Raises UsageError for an unusable model."""
    if progress:
        progress.started(len(plan.labelled))
    watch = _Grading(plan, progress)
    run = await run_trials(
        [found.trial for found in plan.labelled],
        client,
        watch,
        limits,
        known={n: Completion(f.label.output) for n, f in enumerate(plan.labelled)},
        stop=stop,
        retry=retry,
        price=price,
        judged=judged,
        on_judge_answer=on_judge_answer,
    )
    if run.ended == "fatal" and run.author:
        raise UsageError(run.detail or "the run cannot call the judge")
    ended = None if run.ended == "done" else (run.detail or run.ended)
    results = [(watch.labelled(o.sample.trial), o.check_results) for o in watch.outcomes]
    return CalibrationRun(
        calibrations=_calibrations(plan, results),
        agreement=compare_judges(dict(_verdicts(plan, results))),
        run=run,
        ended=ended,
    )


class _Grading(EverySample):
    """Wants every labelled output, and asks and evaluates the checks with a judge alone."""

    def __init__(self, plan: CalibrationPlan, progress: Progress | None) -> None:
        super().__init__(
            lambda sample: self._evaluator(sample).questions(sample),
            lambda sample: Outcome(sample, self._evaluator(sample).evaluate(sample)),
        )
        self.plan, self.progress = plan, progress
        self._labels = {id(found.trial): found for found in plan.labelled}
        self._evaluators: dict[str | None, Evaluator] = {}

    def labelled(self, trial: Trial) -> SettledLabel:
        return self._labels[id(trial)].label

    def add(self, outcome: Outcome) -> None:
        super().add(outcome)
        if self.progress:
            costs = [a.completion.cost_usd for a in outcome.sample.judge_answers if a.completion]
            known = [cost for cost in costs if cost is not None]
            self.progress.advanced(cost_usd=sum(known) if known else None, failed=False)

    def _evaluator(self, sample: Sample) -> Evaluator:
        name = self.labelled(sample.trial).check
        if name not in self._evaluators:
            self._evaluators[name] = self.plan.evaluator_of(name)
        return self._evaluators[name]


def _is_graded(check: PreparedCheck, name: str | None) -> bool:
    return bool(judge_models_of(check.evaluate)) and name in (None, check.name)


Results = Sequence[tuple[SettledLabel, Sequence[CheckResult]]]


def _calibrations(plan: CalibrationPlan, results: Results) -> Calibrations:
    found: dict[str, CheckCalibration] = {}
    for name, judge in plan.judges.items():
        graded = [
            GradedLabel(
                label.fixture,
                output_digest(label.output),
                label.verdict,
                passed,
                score,
                human_score=label.score,
            )
            for label, passed, score in _of_check(name, results)
            if passed is not None
        ]
        if graded:
            found[name] = CheckCalibration(judge.digest, tuple(graded))
    return found


def _of_check(
    name: str, results: Results
) -> Iterator[tuple[SettledLabel, bool | None, float | None]]:
    """Yield each label of the check, with the verdict and the score of its judge."""
    for label, checks in results:
        for check in checks:
            if check.check == name and label.check in (None, name):
                yield label, check.passed, check.score


def _verdicts(plan: CalibrationPlan, results: Results) -> Iterator[tuple[str, list[Verdict]]]:
    """Yield the verdicts of each check, then those of each of its models if there are several."""
    for name, judge in plan.judges.items():
        yield name, [_verdict(*found) for found in _of_check(name, results)]
        for model in judge.models if len(judge.models) > 1 else ():
            votes = [
                _verdict(label, _majority([v.passed for v in check.votes if v.model == model]))
                for label, checks in results
                for check in checks
                if check.check == name and label.check in (None, name)
            ]
            yield f"{name}: {model}", votes


def _verdict(label: SettledLabel, passed: bool | None, graded: float | None = None) -> Verdict:
    item = f"{label.fixture}\n{output_digest(label.output)}"
    return Verdict(item, label.verdict, passed, len(label.output), graded=graded)


def _majority(votes: Sequence[bool | None]) -> bool | None:
    passes, fails = votes.count(True), votes.count(False)
    return None if passes == fails else passes > fails
