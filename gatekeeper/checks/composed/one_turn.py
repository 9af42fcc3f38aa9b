"""The key `turn` of every check: it evaluates one answer of a conversation, and not the last."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gatekeeper.checks.check import Finding, SampleEvaluator, undetermined
from gatekeeper.checks.judged_check import forecast_of, judge_models_of, questions_of
from gatekeeper.contract.trial import Request, Sample


@dataclass(frozen=True, slots=True)
class TurnCheck:
    """A prepared check of the answer number `turn` of `turns`, counted from 1. Its message names
    the number, so that a reader sees which answer was the first to fail."""

    check: SampleEvaluator
    turn: int
    turns: int

    @property
    def judge_models(self) -> tuple[str, ...]:
        return judge_models_of(self.check)

    def __call__(self, sample: Sample) -> Finding:
        answer = self._answer(sample)
        if answer is None:
            return undetermined(f"the conversation ended before answer {self.turn}")
        finding = self.check(answer)
        if not finding.message:
            return finding
        return replace(finding, message=f"answer {self.turn}: {finding.message}")

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        answer = self._answer(sample)
        return () if answer is None else questions_of(self.check, answer)

    def forecast(self, sample: Sample) -> tuple[Request, ...]:
        return forecast_of(self.check, sample)

    def _answer(self, sample: Sample) -> Sample | None:
        """Return the sample as if the conversation ended with this answer."""
        if self.turn == self.turns:
            return sample
        answers = sample.completion.turns if sample.completion else ()
        if self.turn > len(answers):
            return None
        completion, trial = answers[self.turn - 1].completion, sample.trial
        # Every later turn adds an answer and a message of the user.
        messages = trial.request.messages[: -2 * (self.turns - self.turn)]
        trial = replace(trial, request=replace(trial.request, messages=messages))
        return replace(
            sample,
            trial=trial,
            completion=completion,
            output=completion.text,
            repairs=(),
            ledger=(),
        )
