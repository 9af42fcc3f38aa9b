"""How far the judges of a check agree with each other, and each with itself. For information: it
decides nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from gatekeeper import numbers
from gatekeeper.contract.loading.load import all_checks
from gatekeeper.contract.values.trial import CheckResult, Outcome, Vote
from gatekeeper.gate.plan.plan import Job
from gatekeeper.gate.results.parts import JudgeAgreement
from gatekeeper.stats.estimate import Estimate
from gatekeeper.stats.judges.agreement import cohen_kappa, fleiss_kappa

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
        judges = (spec.name for spec in all_checks(contract) if spec.type == "judge")
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
