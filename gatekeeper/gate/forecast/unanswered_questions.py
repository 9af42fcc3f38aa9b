"""Finds the questions about known samples that judges still have to answer, for the forecast."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gatekeeper.contract.checks.judge_questions import question_id, question_key
from gatekeeper.contract.values.trial import Completion, Sample
from gatekeeper.gate.measuring.monitor import judge_questions
from gatekeeper.gate.plan.plan import Job


def unanswered_shares(
    jobs: Iterable[Job], known: Mapping[int, Completion], judged: Mapping[str, Completion]
) -> tuple[float, ...]:
    """Return for each job which share of the questions about its known samples has no answer yet; 0
    for a job without such questions. `known` are the answers by the trial's index, `judged` those
    of judges by `question_key`."""
    shares = []
    begin = 0
    for job in jobs:
        by = {e.contract_from: e for e in job.evaluations}
        asked: set[str] = set()
        for index, trial in enumerate(job.trials, begin):
            evaluation, answer = by[trial.contract_from], known.get(index)
            if answer is not None and evaluation.evaluator.has_judges:
                sample = Sample(trial, answer, output=answer.text)
                questions = judge_questions(sample, evaluation.contract, evaluation.evaluator)
                asked.update(map(question_key, map(question_id, questions)))
        begin += len(job.trials)
        shares.append(len(asked - judged.keys()) / len(asked) if asked else 0.0)
    return tuple(shares)
