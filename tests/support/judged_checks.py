"""Contracts one of whose checks asks a judge, without any model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gatekeeper.checks.check import Finding
from gatekeeper.checks.evaluate import Evaluator
from gatekeeper.contract.checks.judge_settings import answer_to
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request, Sample, Vote


@dataclass
class FakeJudge:
    """Asks each model once about the output, and passes if most say `good`."""

    judge_models: tuple[str, ...] = ("openai/judge",)

    def __call__(self, sample: Sample) -> Finding:
        answers = [answer_to(question, sample) for question in self._asked(sample)]
        said = [a.completion.text if a and a.completion else None for a in answers]
        known = [None if text not in ("good", "bad") else text == "good" for text in said]
        votes = tuple(Vote(m, v) for m, v in zip(self.judge_models, known, strict=True))
        if None in known:
            return Finding(None, "could not be measured", votes=votes)
        return Finding(2 * sum(map(bool, known)) > len(known), "the judge says no", votes=votes)

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        return tuple(q for q in self._asked(sample) if answer_to(q, sample) is None)

    def forecast(self, sample: Sample) -> tuple[Request, ...]:
        return self._asked(sample)

    def _asked(self, sample: Sample) -> tuple[Request, ...]:
        text = f"Is this good? {sample.output}"
        return tuple(
            Request(m, (Message("user", text),), {"temperature": 0}, None, 0)
            for m in self.judge_models
        )


def with_judge(evaluator: Evaluator, check: str, judge: FakeJudge | None = None) -> Evaluator:
    """The same checks, of which the one with that name asks a judge."""
    fake = judge or FakeJudge()
    return Evaluator(
        {
            fixture: tuple(replace(c, evaluate=fake) if c.name == check else c for c in checks)
            for fixture, checks in evaluator.checks.items()
        },
        evaluator.contract_path,
    )
