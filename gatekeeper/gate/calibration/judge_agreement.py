"""Compares the verdicts of judges with those of people, with each other, and with their own."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from gatekeeper import numbers
from gatekeeper.contract.values.calibration_record import CheckCalibration
from gatekeeper.contract.values.trial import CheckResult, Outcome, Vote
from gatekeeper.gate.plan.plan import Job
from gatekeeper.gate.results.parts import JUDGE_DRIFT_LEVEL, JudgeAgreement
from gatekeeper.stats.estimate import Estimate
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.judges.agreement import cohen_kappa, fleiss_kappa
from gatekeeper.stats.judges.calibration import Threshold, best_threshold, roc_auc
from gatekeeper.stats.judges.judge_accuracy import Confusion, changed_verdicts_p, count_confusion
from gatekeeper.stats.judges.judge_bias import PositionBias, length_bias
from gatekeeper.stats.judges.prediction_powered import powered_rate

_SEED = 14


@dataclass(frozen=True, slots=True)
class Verdict:
    """What people and a judge say of one output, or of one pair. `item` is the same for several
    judges of one output. `judge` is None if it gave no verdict; `length` is that of the output.
    `score` is the judge's, from 0 to 1; a tie between two outputs is 1/2 and no verdict. `graded`
    is the score of an output by which the check passes it or not."""

    item: str
    human: bool
    judge: bool | None
    length: int | None = None
    score: float | None = None
    graded: float | None = None

    @property
    def judged_score(self) -> float | None:
        """Return the judge's score, or 1 for a pass and 0 for a failure; None without either."""
        if self.score is not None or self.judge is None:
            return self.score
        return float(self.judge)


@dataclass(frozen=True, slots=True)
class HeldOutRate:
    """A test of the correction on `labels` labels: a random half of them corrects the judge's rate
    on the other half. `human` is the rate of all labels."""

    judged: float
    corrected: float
    interval: ConfidenceInterval
    human: float
    labels: int


@dataclass(frozen=True, slots=True)
class ScoreAccuracy:
    """How well a score tells what people pass from what they fail: the area under the ROC curve,
    and the minimum with the best F1 on these labels."""

    labels: int
    area: Estimate
    best: Threshold


@dataclass(frozen=True, slots=True)
class HumanAgreement:
    """How one judge agrees with people. `unanswered` outputs have no verdict of the judge."""

    judge: str
    confusion: Confusion
    unanswered: int = 0
    length: Estimate | None = None
    held_out: HeldOutRate | None = None
    position: PositionBias | None = None
    scores: ScoreAccuracy | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of one or several judges: `between` is Cohen's kappa of each two of them,
    `together` Fleiss' kappa of all if there are more than two, on the outputs that all graded."""

    judges: tuple[HumanAgreement, ...]
    between: Mapping[tuple[str, str], Estimate | None] = field(default_factory=dict)
    together: Estimate | None = None


def compare_judges(
    verdicts: Mapping[str, Sequence[Verdict]], positions: Mapping[str, PositionBias] | None = None
) -> Agreement:
    """Return the agreement of each judge with people, and of the judges with each other."""
    given = {
        name: {v.item: v.judge for v in found if v.judge is not None}
        for name, found in verdicts.items()
    }
    between: dict[tuple[str, str], Estimate | None] = {}
    for one, other in combinations(given, 2):
        common = [item for item in given[one] if item in given[other]]
        between[one, other] = cohen_kappa(
            [given[one][i] for i in common], [given[other][i] for i in common]
        )
    together = None
    if len(given) > 2:
        first, *rest = given.values()
        shared = [item for item in first if all(item in other for other in rest)]
        passes = [sum(bool(votes[item]) for votes in given.values()) for item in shared]
        together = fleiss_kappa([[k, len(given) - k] for k in passes])
    judges = tuple(
        agreement_of(name, found, (positions or {}).get(name)) for name, found in verdicts.items()
    )
    return Agreement(judges, between, together)


def agreement_of(
    judge: str, verdicts: Sequence[Verdict], position: PositionBias | None = None
) -> HumanAgreement:
    """Return how the judge agrees with people."""
    answered = [v for v in verdicts if v.judge is not None]
    human, given = [v.human for v in answered], [bool(v.judge) for v in answered]
    known = [v for v in answered if v.length is not None]
    return HumanAgreement(
        judge,
        count_confusion(human, given),
        len(verdicts) - len(answered),
        length_bias(
            [float(v.length or 0) for v in known],
            [v.human for v in known],
            [bool(v.judge) for v in known],
        ),
        _held_out(verdicts),
        position,
        _score_accuracy(verdicts),
    )


def _score_accuracy(verdicts: Sequence[Verdict]) -> ScoreAccuracy | None:
    """Return how well scores rank outputs; None without outputs that people pass and fail, and for
    scores that only repeat the verdict."""
    known = [(v.graded, v.human) for v in verdicts if v.graded is not None]
    scores, labels = [score for score, _ in known], [human for _, human in known]
    area, best = roc_auc(scores, labels), best_threshold(scores, labels)
    if area is None or best is None or set(scores) <= {0.0, 1.0}:
        return None
    return ScoreAccuracy(len(known), area, best)


def _held_out(verdicts: Sequence[Verdict]) -> HeldOutRate | None:
    """Return the rate as a random half of the labels, always the same, corrects it."""
    pairs = [(float(v.human), v.judged_score) for v in verdicts]
    known = [(human, judge) for human, judge in pairs if judge is not None]
    random.Random(_SEED).shuffle(known)  # noqa: S311 - nobody gains by knowing the halves
    labelled, rest = known[: len(known) // 2], known[len(known) // 2 :]
    judged = [judge for _, judge in rest]
    found = powered_rate([human for human, _ in labelled], [judge for _, judge in labelled], judged)
    if found is None:
        return None
    value, interval = found
    human = sum(human for human, _ in known) / len(known)
    return HeldOutRate(sum(judged) / len(judged), value, interval, human, len(known))


# Finds out whether a judge grades worse than when it was calibrated, on the same outputs.


@dataclass(frozen=True, slots=True)
class GradingChange:
    """How the verdicts on the same outputs changed. `lost` were graded as people do and no longer
    are, `gained` the other way round. `to_pass` of these verdicts changed from fail to pass, the
    others from pass to fail. `p_value` is one-sided: it is small only if the judge agrees
    less often."""

    check: str
    labels: int
    agreed_before: int
    agrees_now: int
    lost: int
    gained: int
    to_pass: int
    p_value: float

    @property
    def drifted(self) -> bool:
        return self.p_value <= JUDGE_DRIFT_LEVEL


def find_judge_drift(check: str, before: CheckCalibration, now: CheckCalibration) -> GradingChange:
    """Compare two gradings of the same outputs by McNemar's exact tests. The labels are those of
    the stored calibration."""
    known = {(label.fixture, label.output): label for label in before.labels}
    lost = gained = to_pass = agreed = agrees = labels = 0
    for label in now.labels:
        stored = known.get((label.fixture, label.output))
        if stored is None:
            continue
        was_right, is_right = stored.judge == stored.human, label.judge == stored.human
        labels += 1
        agreed += was_right
        agrees += is_right
        lost += was_right and not is_right
        gained += is_right and not was_right
        to_pass += label.judge and not stored.judge
    p_value = changed_verdicts_p(lost, gained, to_pass, "worse")
    return GradingChange(check, labels, agreed, agrees, lost, gained, to_pass, p_value)


# How far the judges of a run agree with each other, and each with itself. It decides nothing.


_WEAK = 0.4
"""Landis, J. R. and Koch, G. G. (1977), The measurement of observer agreement for categorical data,
Biometrics 33:159-174, call a kappa up to here at most fair."""


def judge_agreements(
    jobs: Iterable[Job], outcomes: Sequence[Outcome]
) -> tuple[JudgeAgreement, ...]:
    """Return the agreement of every check of head's contracts that asks several times."""
    own: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.sample.trial.contract_from == "head" and outcome.sample.judge_answers:
            own[outcome.sample.trial.contract].append(outcome)
    found = []
    for job in jobs:
        contract = job.contract
        judges = (spec.name for spec in contract.own_checks if spec.type == "judge")
        for name in dict.fromkeys(judges):
            votes = list(_votes_on(name, own[contract.name]))
            if votes and len(votes[0]) > 1:
                found.append(_agreement(contract.name, name, votes))
    return tuple(found)


def agreement_text(found: JudgeAgreement) -> str:
    """Say how far the judges agree."""
    parts = []
    if found.agreed is not None:
        each = f"the {len(found.judges)} judges agree on {numbers.percent(found.agreed)}"
        name = "Cohen's" if len(found.judges) == 2 else "Fleiss'"
        parts.append(f"{each}, {name} {_kappa_text(found.kappa)}")
    for judge, kappa in found.repeats.items():
        parts.append(f"{judge} compared with its own repeated verdicts, {_kappa_text(kappa)}")
    outputs = numbers.count(found.outputs, "output")
    text = f"Judges of {found.check} in {found.contract}, on {outputs}: {'; '.join(parts)}."
    weak = [k for k in (found.kappa, *found.repeats.values()) if k and k.value <= _WEAK]
    if weak:
        text += " With such a low kappa, the verdicts hardly agree more often than by chance."
    return text


def _kappa_text(kappa: Estimate | None) -> str:
    if kappa is None:
        return "kappa is not defined, because all verdicts are the same"
    interval = ""
    if kappa.interval is not None:
        interval = f" [{kappa.interval.low:.2f}, {kappa.interval.high:.2f}]"
    return f"kappa {kappa.value:.2f}{interval}"


def _votes_on(check: str, outcomes: Sequence[Outcome]) -> Iterator[tuple[Vote, ...]]:
    """Yield the votes on each output that all of them graded, on equal outputs of a fixture
    once."""
    seen = set()
    for outcome in outcomes:
        result = _result_of(check, outcome)
        place = (outcome.sample.trial.fixture, outcome.sample.output)
        if result is None or place in seen or any(v.passed is None for v in result.votes):
            continue
        if result.votes:
            seen.add(place)
            yield result.votes


def _result_of(check: str, outcome: Outcome) -> CheckResult | None:
    return next((r for r in outcome.check_results if r.check == check), None)


def _agreement(contract: str, check: str, votes: Sequence[tuple[Vote, ...]]) -> JudgeAgreement:
    judges = tuple(dict.fromkeys(vote.model for vote in votes[0]))
    by_judge = {
        judge: [[bool(v.passed) for v in own if v.model == judge] for own in votes]
        for judge in judges
    }
    verdicts = {
        judge: [2 * sum(repeats) > len(repeats) for repeats in every]
        for judge, every in by_judge.items()
    }
    rows = list(zip(*verdicts.values(), strict=True))
    several = len(judges) > 1
    return JudgeAgreement(
        contract,
        check,
        judges,
        len(votes),
        sum(len(set(row)) == 1 for row in rows) / len(rows) if several else None,
        _kappa(rows) if several else None,
        {judge: _kappa(every) for judge, every in by_judge.items() if len(every[0]) > 1},
    )


def _kappa(rows: Sequence[Sequence[bool]]) -> Estimate | None:
    """Return Cohen's kappa of two judges, and Fleiss' of more. Repeats of one judge have no order,
    so two of them are like any two raters."""
    if len(rows[0]) == 2:
        return cohen_kappa([row[0] for row in rows], [row[1] for row in rows])
    counts = (Counter(row) for row in rows)
    return fleiss_kappa([[count[True], count[False]] for count in counts])
