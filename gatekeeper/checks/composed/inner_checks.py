"""What checks that are composed of others share: the parameter, and how findings are combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gatekeeper.checks.check import Finding, InnerCheck, ParameterError, Parameters
from gatekeeper.checks.judged_check import forecast_of, judge_models_of, questions_of
from gatekeeper.checks.reading.output import shorten
from gatekeeper.contract.values.trial import Request, Sample

MOST_CHECKS = 20
"""In one list."""
_SHOWN = 250

CHECKS: Parameters = {
    "type": "array",
    "minItems": 1,
    "maxItems": MOST_CHECKS,
    "items": {"type": "object"},
    "description": (
        "A list of 1 to 20 checks, with `type`, parameters, `name` and `not`. "
        "They may contain other checks, up to three levels deep."
    ),
}


Found = Sequence[tuple[str, Finding]]
"""The name of each inner check, and what it finds."""


@dataclass(frozen=True, slots=True)
class ComposedCheck:
    """A prepared check that evaluates its inner checks and combines what they find. It asks what
    their judges ask."""

    checks: tuple[InnerCheck, ...]
    combine: Callable[[Found], Finding]

    @property
    def judge_models(self) -> tuple[str, ...]:
        return tuple(model for check in self.checks for model in judge_models_of(check.evaluate))

    def __call__(self, sample: Sample) -> Finding:
        found = [(check.name, check.evaluate(sample)) for check in self.checks]
        votes = tuple(vote for _, finding in found for vote in finding.votes)
        return replace(self.combine(found), votes=votes)

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        return tuple(q for check in self.checks for q in questions_of(check.evaluate, sample))

    def forecast(self, sample: Sample) -> tuple[Request, ...]:
        return tuple(q for check in self.checks for q in forecast_of(check.evaluate, sample))


def require_no_weights(checks: Sequence[InnerCheck]) -> None:
    """Raise ParameterError if an inner check has a weight, which would have no effect."""
    if any(check.weight != 1 for check in checks):
        what = "only a check directly inside `mean_of` or `scoring_function` can have a `weight`"
        raise ParameterError(what, "remove `weight`, or use `mean_of`")


def named_messages(found: Found, passed: bool | None) -> str:
    """Return the messages of the inner checks with this result, each after the check's name."""
    chosen = [(name, finding) for name, finding in found if finding.passed is passed]
    return "; ".join(f"`{name}`: {shorten(finding.message, _SHOWN)}" for name, finding in chosen)


def known_scores(found: Found) -> list[float] | None:
    """Return a score for each inner check, from 0 to 1: 1 for one that passed without a score, 0
    for one that failed. None if no inner check gives a score, or if one could not be applied."""
    if all(finding.score is None for _, finding in found):
        return None
    if any(finding.passed is None for _, finding in found):
        return None
    return [
        float(finding.passed is True) if finding.score is None else finding.score
        for _, finding in found
    ]
