"""Keeps the outcome of an answer that is too long to be kept, and finds it again.

Whoever repeats a job gets the first answers from the cache. Of a long answer there is only the
beginning, which cannot be evaluated again, so its outcome is kept with it.
"""

from __future__ import annotations

from dataclasses import replace

from gatekeeper.checks.check import undetermined
from gatekeeper.checks.evaluate import Evaluator
from gatekeeper.contract.meaning.digests import fixture_evaluation_digest
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import KeptOutcome, Outcome, Sample
from gatekeeper.sampling.stored_text import shorten

_MOST_KEPT = 2_000
"""Characters of a long answer in the cache, so that many of them fit into it."""
_CHANGED = undetermined(
    "the answer has more than 100,000 characters and comes from an earlier run, which kept only "
    "its beginning and its result by other checks; change the prompt to get new answers"
)


def sample_to_keep(outcome: Outcome, contract: Contract) -> Sample:
    """Return the sample of an outcome for the cache, with the outcome itself if its answer is
    long."""
    sample, completion = outcome.sample, outcome.sample.completion
    if completion is None or completion.replayed or not completion.is_part:
        return sample
    is_cut = completion.cut is not None
    kept = KeptOutcome(
        _evaluation(sample, contract),
        outcome.check_results,
        outcome.passed_before_repairs,
        shorten(sample.output, _MOST_KEPT) if is_cut else sample.output,
        sample.repairs,
        sample.ledger,
        outcome.missing,
    )
    text = shorten(completion.text, _MOST_KEPT) if is_cut else completion.text
    return replace(sample, completion=replace(completion, text=text, kept=(kept,)))


def recalled_outcome(sample: Sample, contract: Contract, evaluator: Evaluator) -> Outcome:
    """Return the outcome that was kept with a long answer; unknown if the contract evaluates
    otherwise by now."""
    completion = sample.completion
    own = _evaluation(sample, contract)
    for kept in completion.kept if completion else ():
        if kept.evaluation == own:
            found = replace(sample, output=kept.output, repairs=kept.repairs, ledger=kept.ledger)
            before = kept.passed_before_repairs
            known = (kept.check_results, contract.pass_score, before, kept.missing)
            return Outcome(found, *known)
    checks = evaluator.checks[sample.trial.fixture]
    found = replace(sample, output=completion.text if completion else "")
    return Outcome(found, tuple(c.result(_CHANGED) for c in checks), contract.pass_score)


def _evaluation(sample: Sample, contract: Contract) -> str:
    name = sample.trial.fixture
    fixture = next(fixture for fixture in contract.fixtures if fixture.id == name)
    return fixture_evaluation_digest(contract, fixture)
