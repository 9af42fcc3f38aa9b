"""Counts the calls of a run, and the tokens that they took."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gatekeeper.contract.values.trial import Completion, QuestionId, Sample
from gatekeeper.gate.results.call_result import Calls, JudgeCalls, sum_if_all_known

if TYPE_CHECKING:
    from gatekeeper.sampling.judging import JudgeTally
    from gatekeeper.sampling.runner import Run


def count_calls(sampled: Run) -> Calls:
    """Return how many calls were made and not made, and what providers say of their tokens."""
    answers = [s.completion for s in sampled.samples if s.completion and not s.shared]
    paid = [completion for completion in answers if not completion.replayed]
    every = [*paid, *_answers_of_others(sampled.samples)]
    return Calls(
        made=sampled.made,
        cached=len(answers) - len(paid),
        saved=sampled.saved,
        failed=sampled.failed,
        surplus=sampled.surplus,
        unrecorded=sum(sampled.unrecorded.values()),
        throttled=sampled.throttled,
        prompt_tokens=sum_if_all_known(c.prompt_tokens for c in every),
        completion_tokens=sum_if_all_known(c.completion_tokens for c in every),
        cached_tokens=_sum_of_known(c.cached_tokens for c in paid),
        cache_write_tokens=_sum_of_known(c.cache_write_tokens for c in paid),
        reasoning_tokens=_sum_of_known(c.reasoning_tokens for c in paid),
        judge=_asked(sampled.judged, sum(map(_is_judged, sampled.samples))),
        user=_asked(sampled.simulated, sum(bool(answer.users) for answer in answers)),
    )


def _answers_of_others(samples: Iterable[Sample]) -> Iterable[Completion]:
    """Return the paid answers of judges and simulated users, once each: samples share them."""
    found: dict[QuestionId, Completion] = {}
    for sample in samples:
        users = sample.completion.users if sample.completion else ()
        for answer in (*sample.judge_answers, *users):
            if answer.completion and not answer.completion.replayed:
                found[answer.asked] = answer.completion
    return found.values()


def _is_judged(sample: Sample) -> bool:
    return any(answer.completion for answer in sample.judge_answers)


def _asked(tally: JudgeTally, samples: int) -> JudgeCalls | None:
    """Return the calls to judges or simulated users, which helped so many samples; None if there is
    none."""
    if not (tally.made or tally.cached or tally.failed):
        return None
    cost = tally.cost_usd if tally.made else 0.0
    return JudgeCalls(tally.made, tally.cached, tally.failed, samples, cost)


def _sum_of_known(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
