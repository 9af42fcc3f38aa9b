"""Asks judges the questions that checks have about samples, each question once per run.

A check with a judge has its questions answered after the model's answer and before the sample is
evaluated. The answers are kept in the sample, so evaluation itself calls no model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from gatekeeper.contract.checks.judge_settings import question_id, question_key
from gatekeeper.contract.values.trial import Completion, JudgeAnswer, QuestionId, Request, Sample
from gatekeeper.errors import CallFailed, NotRecorded
from gatekeeper.sampling.pace import FailureCount, ModelCalls, Order
from gatekeeper.sampling.retries import Once, RetryPolicy
from gatekeeper.sampling.stored_text import MOST_OF_MESSAGE, shorten, stored_completion

OnJudgeAnswer = Callable[[QuestionId, Completion], None]
Questions = Callable[[Sample], Sequence[Request]]

MOST_ROUNDS = 5
"""How often checks may have further questions about a sample, after the answers to earlier ones."""


class Caller(Protocol):
    """Who waits for a judge's answer: the order of its current call, if any, is in `order`."""

    order: Order | None


@dataclass(frozen=True, slots=True)
class JudgeTally:
    """The calls to judges, or to simulated users, in numbers. `made` reached a model, retries
    included; `cached` were answered by a recording or were known before; `failed` have no answer.
    `cost_usd` sums the known costs; None if none is known."""

    made: int = 0
    answered: int = 0
    cached: int = 0
    failed: int = 0
    cost_usd: float | None = None


class Judging:
    """Asks the judges of a run, or its simulated users, as `role` says. `known` holds answers of
    earlier runs by `question_key`."""

    def __init__(
        self,
        calls: ModelCalls,
        retry: RetryPolicy,
        known: Mapping[str, Completion],
        on_answer: OnJudgeAnswer | None,
        give_up: Callable[[str, CallFailed], None],
        role: str = "judge",
    ) -> None:
        self._calls = calls
        self._known = known
        self._on_answer = on_answer
        self._give_up = give_up
        self._role = role
        self._failed: dict[QuestionId, CallFailed] = {}
        self._failures = FailureCount(retry)
        self._answers: Once[QuestionId, JudgeAnswer] = Once()
        self.tally = JudgeTally()

    async def answers_about(
        self,
        sample: Sample,
        questions: Questions,
        is_needed: Callable[[], bool],
        caller: Caller,
    ) -> tuple[JudgeAnswer, ...]:
        """Return the answers to all questions about the sample. A question that fails has its error
        as its answer. Raises LimitReached, AnswerMissing, and NotNeeded."""
        for _ in range(MOST_ROUNDS):
            known = {answer.asked for answer in sample.judge_answers}
            open_ones = {question_id(q): q for q in questions(sample)}
            found = [
                await self._answer(asked, question, is_needed, caller)
                for asked, question in open_ones.items()
                if asked not in known
            ]
            if not found:
                break
            sample = replace(sample, judge_answers=(*sample.judge_answers, *found))
        return sample.judge_answers

    async def answer(
        self, question: Request, is_needed: Callable[[], bool], caller: Caller
    ) -> JudgeAnswer:
        """Return the answer to one question. Raises CallFailed if there is none, and LimitReached,
        AnswerMissing and NotNeeded."""
        asked = question_id(question)
        found = await self._answer(asked, question, is_needed, caller)
        if found.completion is None:
            failure = self._failed.get(asked)
            if isinstance(failure, NotRecorded):
                raise NotRecorded(str(failure), failure.path)
            raise CallFailed(f"the {self._role} {question.model}: {found.error}")
        return found

    async def _answer(
        self,
        asked: QuestionId,
        question: Request,
        is_needed: Callable[[], bool],
        caller: Caller,
    ) -> JudgeAnswer:
        make = partial(self._ask, asked, question, is_needed, caller)
        return await self._answers.get(asked, make)

    async def _ask(
        self,
        asked: QuestionId,
        question: Request,
        is_needed: Callable[[], bool],
        caller: Caller,
    ) -> JudgeAnswer:
        known = self._known.get(question_key(asked)) if self._known else None
        if known is not None:
            self._count(cached=1)
            return JudgeAnswer(asked, replace(known, replayed=True))
        order = caller.order = Order(question, is_needed)
        try:
            completion = stored_completion(await self._calls.make(order))
        except CallFailed as failure:
            self._failed[asked] = failure
            self._count(failed=not order.unrecorded)
            reason = self._failures.reason_to_give_up(failure)
            if reason is not None:
                self._give_up(f"the {self._role} {question.model}: {reason}", failure)
            return JudgeAnswer(asked, None, shorten(str(failure), MOST_OF_MESSAGE))
        finally:
            caller.order = None
            self._count(made=order.sent, cost_usd=order.cost_usd)
        self._failures.succeeded()
        self._count(answered=not completion.replayed, cached=completion.replayed)
        if self._on_answer and not completion.replayed:
            self._on_answer(asked, completion)
        return JudgeAnswer(asked, completion)

    def _count(
        self,
        made: int = 0,
        answered: int = 0,
        cached: int = 0,
        failed: int = 0,
        cost_usd: float | None = None,
    ) -> None:
        before = self.tally
        cost = before.cost_usd if cost_usd is None else (before.cost_usd or 0.0) + cost_usd
        self.tally = JudgeTally(
            before.made + made,
            before.answered + answered,
            before.cached + cached,
            before.failed + failed,
            cost,
        )
