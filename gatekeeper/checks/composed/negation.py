"""The key `not` of every check: it passes if the check would fail, and fails if it would pass."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gatekeeper.checks.check import Finding, SampleEvaluator
from gatekeeper.checks.judged_check import forecast_of, judge_models_of, questions_of
from gatekeeper.checks.output import quote
from gatekeeper.contract.trial import Request, Sample


@dataclass(frozen=True, slots=True)
class NegatedCheck:
    """A prepared check with the opposite result, and 1 less the score. What could not be applied
    stays so."""

    check: SampleEvaluator

    @property
    def judge_models(self) -> tuple[str, ...]:
        return judge_models_of(self.check)

    def __call__(self, sample: Sample) -> Finding:
        finding = self.check(sample)
        if finding.passed is None:
            return finding
        score = None if finding.score is None else 1 - finding.score
        message = ""
        if finding.passed:
            message = (
                "the output meets the condition that `not: true` forbids; "
                f"got {quote(sample.output)}"
            )
        return replace(finding, passed=not finding.passed, message=message, score=score)

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        return questions_of(self.check, sample)

    def forecast(self, sample: Sample) -> tuple[Request, ...]:
        return forecast_of(self.check, sample)
