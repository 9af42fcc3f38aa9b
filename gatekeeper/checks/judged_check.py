"""The interface of a check that asks judges: models that grade an output."""

from __future__ import annotations

from typing import Protocol, TypeGuard

from gatekeeper.checks.check import Finding, SampleEvaluator
from gatekeeper.contract.values.trial import Request, Sample


class JudgedCheck(Protocol):
    """A prepared check that asks judges about a sample before it can evaluate it.

    Its questions are asked under the limits of the run, and the answers are in
    `sample.judge_answers` (find them with `judge_settings.answer_to`). A check that is
    made of other checks passes these methods on to them: see `questions_of`.
    """

    judge_models: tuple[str, ...]
    """Every model that it may ask."""

    def __call__(self, sample: Sample) -> Finding:
        """Evaluate the sample with the answers that it carries; undetermined if one is missing."""
        ...

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        """Return what is still to be asked, given the answers that the sample carries; nothing if
        it can be evaluated. Also returns nothing for an output that no judge has to see."""
        ...

    def forecast(self, sample: Sample) -> tuple[Request, ...]:
        """Return what would be asked about an answer of this length, to estimate calls and cost.
        The output of the sample is filler."""
        ...


def _asks_judges(check: SampleEvaluator) -> TypeGuard[JudgedCheck]:
    # `isinstance` with a protocol takes 30 µs, and every check of every fixture is looked at.
    return all(hasattr(check, name) for name in ("judge_models", "questions", "forecast"))


def questions_of(check: SampleEvaluator, sample: Sample) -> tuple[Request, ...]:
    """Return the check's questions about the sample; none for a check without judges."""
    return check.questions(sample) if _asks_judges(check) else ()


def forecast_of(check: SampleEvaluator, sample: Sample) -> tuple[Request, ...]:
    """Return what the check would ask about such a sample; nothing for a check without judges."""
    return check.forecast(sample) if _asks_judges(check) else ()


def judge_models_of(check: SampleEvaluator) -> tuple[str, ...]:
    """Return the models that the check may ask; none for a check without judges."""
    return check.judge_models if _asks_judges(check) else ()
