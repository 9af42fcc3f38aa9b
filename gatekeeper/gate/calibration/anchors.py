"""Grades the anchors of a calibration again: is the judge still the one that was calibrated?

Anchors are labelled outputs whose text the calibration file holds. A full suite asks the judges
about them again, and compares each verdict with the one at calibration.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gatekeeper.contract.checks.judge_calibration import output_digest
from gatekeeper.contract.meaning.digests import digest
from gatekeeper.contract.values.calibration_record import (
    Calibrations,
    CheckCalibration,
    GradedLabel,
)
from gatekeeper.contract.values.trial import Completion, Request, Sample, Trial
from gatekeeper.errors import UsageError
from gatekeeper.gate.calibration.judge_agreement import find_judge_drift
from gatekeeper.gate.calibration.labels import SettledLabel
from gatekeeper.gate.calibration.measure import CalibrationPlan, CalibrationRun, plan_labelled
from gatekeeper.gate.measuring.further_calls import count_together
from gatekeeper.gate.plan.calibrations_in_force import judge_identities
from gatekeeper.gate.plan.plan import Evaluation, Job
from gatekeeper.gate.results.parts import AnchorResult, AnchorResults
from gatekeeper.sampling.runner import Run
from gatekeeper.stats.judges.judge_accuracy import changed_verdicts_p

ANCHORS = 30
"""How many labels of a check keep their output, unless the command line says otherwise."""
MOST_CHARACTERS = 20_000
"""Of an output that is kept."""


def keep_anchors(
    calibrations: Calibrations, outputs: Iterable[str], most: int = ANCHORS
) -> Calibrations:
    """Return the calibrations with the text of at most so many labels of each check as anchors.

    The anchors are a random choice that is the same every time, half of them outputs that people
    pass, as far as there are enough. `outputs` are those that may be kept; a long one is not.
    """
    texts = {output_digest(text): text for text in outputs if _is_short(text)}
    return {
        name: replace(calibration, labels=_with_texts(calibration.labels, texts, most))
        for name, calibration in calibrations.items()
    }


def _is_short(text: str) -> bool:
    """Return whether the text is short enough for the file, and can be written."""
    return len(text) <= MOST_CHARACTERS and text == text.encode("utf-8", "ignore").decode()


def _with_texts(
    labels: Sequence[GradedLabel], texts: Mapping[str, str], most: int
) -> tuple[GradedLabel, ...]:
    groups: dict[bool, list[GradedLabel]] = {True: [], False: []}
    for label in sorted(labels, key=_shuffled):
        if label.output in texts:
            groups[label.human].append(label)
    good, bad = groups[True], groups[False]
    from_good = min(len(good), max(most - most // 2, most - len(bad)))
    chosen = {id(label) for label in (*good[:from_good], *bad[: most - from_good])}
    return tuple(
        replace(label, text=texts[label.output]) if id(label) in chosen else label
        for label in labels
    )


def _shuffled(label: GradedLabel) -> str:
    return hashlib.sha256(f"{label.output}\n{label.fixture}".encode()).hexdigest()


@dataclass(frozen=True)  # no slots: the questions are kept
class AnchorPlan:
    """The anchors of one contract, and the calibrations that they belong to."""

    plan: CalibrationPlan
    calibrations: Calibrations

    @property
    def contract(self) -> str:
        return self.plan.contract.name

    @cached_property
    def questions(self) -> tuple[Request, ...]:
        """Return what the judges are asked, if each answers at once."""
        found: list[Request] = []
        for labelled in self.plan.labelled:
            text = labelled.label.output
            sample = Sample(labelled.trial, Completion(text), output=text)
            found += self.plan.evaluator_of(labelled.label.check).questions(sample)
        return tuple(found)


def plan_anchors(jobs: Sequence[Job]) -> tuple[AnchorPlan, ...]:
    """Return the anchors of each job whose calibrations have some. Recorded judges are left out:
    they cannot change."""
    found = (_plan_of(job.evaluations[0]) for job in jobs if job.evaluations)
    return tuple(plan for plan in found if plan is not None)


def _plan_of(evaluation: Evaluation) -> AnchorPlan | None:
    judges = {
        name: judge
        for name, judge in judge_identities(evaluation.contract, evaluation.evaluator).items()
        if not any(model.startswith("recorded/") for model in judge.models)
    }
    with_anchors = {
        name: calibration
        for name, calibration in evaluation.calibrations.items()
        if name in judges and calibration.anchors
    }
    labels = [
        SettledLabel(label.fixture, label.text or "", label.human, name)
        for name, calibration in with_anchors.items()
        for label in calibration.anchors
    ]
    if not labels:
        return None
    trials: dict[str, Trial] = {}
    for trial in evaluation.trials:
        if trial.arm == "head" and trial.repetition == 0:
            trials[trial.fixture] = trial
    try:
        plan = plan_labelled(evaluation.contract, evaluation.evaluator, judges, labels, trials)
    except UsageError:  # none of the fixtures is left
        return None
    return AnchorPlan(plan, with_anchors)


Grade = Callable[[CalibrationPlan, Run], Awaitable[CalibrationRun]]
"""Asks judges, within what a run of that size leaves of the limits."""


async def grade_anchors(
    plans: Sequence[AnchorPlan], sampled: Run, grade: Grade
) -> tuple[AnchorResults, Run]:
    """Return what was found of the judges of each contract, and the run with their calls counted.

    A check whose anchors were not all graded has no result: an outage is no drift. How the run
    ended stays as it was, because no verdict needs the anchors.
    """
    found: dict[str, tuple[AnchorResult, ...]] = {}
    for anchors in plans:
        try:
            graded = await grade(anchors.plan, sampled)
        except UsageError:  # the judge cannot be called: no verdict rests on it either
            continue
        sampled = replace(
            count_together(sampled, graded.run),
            ended=sampled.ended,
            detail=sampled.detail,
            author=sampled.author,
        )
        found[anchors.plan.contract.name] = tuple(_results(anchors, graded))
    return found, sampled


def _results(anchors: AnchorPlan, graded: CalibrationRun) -> Iterator[AnchorResult]:
    asked = Counter(found.label.check for found in anchors.plan.labelled)
    for name, calibration in anchors.calibrations.items():
        now = graded.calibrations.get(name)
        if now is None or len(now.labels) < asked[name]:
            continue
        found = find_judge_drift(name, calibration, now)
        yield AnchorResult(
            check=name,
            judges=anchors.plan.judges[name].models,
            calibration=calibration_id(calibration),
            anchors=found.labels,
            agreed_before=found.agreed_before,
            agrees_now=found.agrees_now,
            lost=found.lost,
            gained=found.gained,
            p_value=changed_verdicts_p(found.lost, found.gained, found.to_pass),
            to_pass=found.to_pass,
        )


def calibration_id(calibration: CheckCalibration) -> str:
    """Return 12 hexadecimal digits, the same for the same judge and labels."""
    labels = [[x.fixture, x.output, x.human, x.judge] for x in calibration.labels]
    return digest([calibration.judge, labels])[:12]
