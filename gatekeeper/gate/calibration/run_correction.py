"""Corrects the rates of a finished run by labels of its own outputs, also their difference.

The labels are of a random part of the run's fixtures, so this is prediction-powered inference: it
holds whatever errors the judge makes, also if it favours the longer outputs of one arm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gatekeeper.contract.values.trial import Arm, CheckResult, Outcome
from gatekeeper.errors import UsageError
from gatekeeper.gate.calibration.labels import SettledLabel, require_last_output, require_texts
from gatekeeper.stats.judges.prediction_powered import PoweredMean, powered_mean

Shares = Mapping[str, float]
"""By fixture, or cluster: the share of its outputs that pass, or their mean score."""


@dataclass(frozen=True, slots=True)
class CorrectedFigure:
    """A rate or a difference: as the judge found it, and corrected. `corrected` is None with fewer
    than two labelled fixtures."""

    units: int
    labelled: int
    judged: float
    corrected: PoweredMean | None


@dataclass(frozen=True, slots=True)
class RunCorrection:
    """The pass rates of a check on both arms of a run, and head's minus base's; None for an arm
    that the run does not have. `scores` are the same of the mean scores, if both the judge and the
    labels have some."""

    check: str
    base: CorrectedFigure | None
    head: CorrectedFigure | None
    difference: CorrectedFigure | None
    scores: RunCorrection | None = None


def correct_run(
    contract: str,
    outcomes: Sequence[Outcome],
    labels: Sequence[SettledLabel],
    check: str | None = None,
) -> RunCorrection:
    """Return the corrected figures of the contract's judge, or of the `check` with that name.

    A fixture counts as labelled on an arm if all its measured outputs there have a label. Raises
    UsageError if the run has no such check.
    """
    mine = [
        o
        for o in outcomes
        if o.sample.trial.contract == contract and o.sample.trial.contract_from == "head"
    ]
    name = check or _only_judge(contract, mine)
    require_last_output(contract, mine, name)
    require_texts(contract, mine)
    about = [label for label in labels if _is_about(label, name)]
    human = {(label.fixture, label.output): float(label.verdict) for label in about}
    found = _correction(mine, name, human, _verdict_of)
    if found is None:
        raise UsageError(f"the run of {contract} has no verdict of the check {name}")
    graded = {(x.fixture, x.output): x.score for x in about if x.score is not None}
    scores = _correction(mine, name, graded, _score_of) if graded else None
    return replace(found, scores=scores)


def _verdict_of(result: CheckResult) -> float | None:
    return None if result.passed is None else float(result.passed)


def _score_of(result: CheckResult) -> float | None:
    return result.score


Value = Callable[[CheckResult], float | None]
Human = Mapping[tuple[str, str], float]
"""What people say, by fixture and output."""


def _correction(
    mine: Sequence[Outcome], name: str, human: Human, value: Value
) -> RunCorrection | None:
    """Return the figures of a value of the check's results; None if no result has it."""
    judged: dict[Arm, Shares] = {}
    labelled: dict[Arm, Shares] = {}
    for arm in ("base", "head"):
        judged[arm], labelled[arm] = _shares(mine, arm, name, human, value)
    if not judged["base"] and not judged["head"]:
        return None
    both = judged["base"].keys() & judged["head"].keys()
    return RunCorrection(
        name,
        _figure(judged["base"], labelled["base"]),
        _figure(judged["head"], labelled["head"]),
        _figure(
            {unit: judged["head"][unit] - judged["base"][unit] for unit in sorted(both)},
            {
                unit: labelled["head"][unit] - labelled["base"][unit]
                for unit in sorted(both & labelled["base"].keys() & labelled["head"].keys())
            },
        ),
    )


def _only_judge(contract: str, outcomes: Sequence[Outcome]) -> str:
    names = {
        c.check for o in outcomes for c in o.check_results if c.votes and c.severity == "error"
    }
    if not names:
        raise UsageError(
            f"no check of {contract} with the severity `error` has verdicts of a judge, "
            "so there is nothing to correct"
        )
    if len(names) != 1:
        found = ", ".join(sorted(names))
        raise UsageError(
            f"--check: give the name of one check of {contract} that uses a judge; "
            f"these checks use a judge: {found}"
        )
    return next(iter(names))


def _is_about(label: SettledLabel, check: str) -> bool:
    return label.check in (None, check)


def _shares(
    outcomes: Sequence[Outcome], arm: Arm, check: str, human: Human, value: Value
) -> tuple[Shares, Shares]:
    """Return the mean of what the judge says and of what people say, of each unit; people only for
    units whose outputs all have a label."""
    judged: dict[str, list[float]] = defaultdict(list)
    given: dict[str, list[float | None]] = defaultdict(list)
    for outcome in outcomes:
        sample = outcome.sample
        verdict = next((value(c) for c in outcome.check_results if c.check == check), None)
        if sample.trial.arm != arm or verdict is None:
            continue
        unit = sample.trial.cluster or sample.trial.fixture
        judged[unit].append(verdict)
        given[unit].append(human.get((sample.trial.fixture, sample.output)))
    return (
        {unit: sum(verdicts) / len(verdicts) for unit, verdicts in judged.items()},
        {
            unit: sum(known) / len(known)
            for unit, verdicts in given.items()
            if len(known := [v for v in verdicts if v is not None]) == len(verdicts)
        },
    )


def _figure(judged: Shares, labelled: Shares) -> CorrectedFigure | None:
    if not judged:
        return None
    rest = [value for unit, value in judged.items() if unit not in labelled]
    human, same = list(labelled.values()), [judged[unit] for unit in labelled]
    corrected = powered_mean(human, same, rest)
    if len(rest) < 2:
        corrected = powered_mean(human, same, same, power=0.0)  # the labels alone say it
    mean = sum(judged.values()) / len(judged)
    return CorrectedFigure(len(judged), len(labelled), mean, corrected)
