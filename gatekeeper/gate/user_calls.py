"""Forecasts the questions that a run asks simulated users: how many, and what each can cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gatekeeper.contract.conversation import user_begins
from gatekeeper.contract.definition import Position
from gatekeeper.contract.models.faults import NamedModel
from gatekeeper.contract.simulated_user.messages import (
    LONGEST_SAID,
    SHOWN_OF_AN_ANSWER,
    forecast_question,
    user_of,
)
from gatekeeper.contract.size_limits import QuestionTally
from gatekeeper.contract.trial import Request
from gatekeeper.gate.judge_calls import USUAL_CHARACTERS, JudgeForecast, longest_answer
from gatekeeper.gate.plan import Job
from gatekeeper.sampling.calls import group_calls

_USUAL_SAID = 100
"""Characters of a user's message, if nothing is known of its length."""


def user_models(job: Job) -> tuple[NamedModel, ...]:
    """Return the models that play users in all evaluations of the job, with the places that name
    them."""
    contracts = (evaluation.contract for evaluation in job.evaluations)
    found = {
        (contract.path, fixture.user.model)
        for contract in contracts
        for fixture in contract.fixtures
        if fixture.user
    }
    return tuple((Position(path), model) for path, model in sorted(found))


def forecast_users(jobs: Iterable[Job]) -> list[JudgeForecast]:
    """Return the questions of all conversations of each job, if none ends before its user has
    written as many messages as it may, and was asked about the last answer. Raises ContractError
    for too many.

    Questions that are asked again, because an answer cannot be read, are not counted, like calls
    that are repeated.
    """
    tally = QuestionTally()
    return [_forecast(job, tally) for job in jobs]


def _forecast(job: Job, tally: QuestionTally) -> JudgeForecast:
    about: list[Request] = []
    most: list[Request] = []
    known: dict[object, tuple[list[Request], list[Request]]] = {}
    trials = job.trials if user_models(job) else ()
    for call in group_calls(trials)[0]:
        request = trials[call.trials[0]].request
        if user_of(request.messages) is None:
            continue
        # Repetitions and arms with the same messages ask about texts of the same length.
        key = request.messages
        if key not in known:
            known[key] = list(_questions(request, longest=False)), list(_questions(request))
        usual, longest = known[key]
        tally.add(job.contract, len(longest))
        about += usual
        most += longest
    return JudgeForecast(tuple(about), tuple(most))


def _questions(request: Request, *, longest: bool = True) -> Iterator[Request]:
    user = user_of(request.messages)
    if user is None:
        return
    messages = request.messages[:-1]
    said = LONGEST_SAID if longest else _USUAL_SAID
    answer = min(SHOWN_OF_AN_ANSWER, longest_answer(request) if longest else USUAL_CHARACTERS)
    before = sum(min(SHOWN_OF_AN_ANSWER, len(m.content.encode())) for m in messages)
    for number in range(user.max_turns + 1):
        answers = number + (not user_begins(messages))
        # The lines around each message have about 100 characters.
        length = before + number * said + answers * answer + 100 * (len(messages) + 2 * number + 2)
        yield forecast_question(user, length)
