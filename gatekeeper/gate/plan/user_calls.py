"""Forecasts the questions that a run asks simulated users: how many, and what each can cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gatekeeper.contract.calls.conversation import user_begins
from gatekeeper.contract.models.faults import NamedModel
from gatekeeper.contract.reading.size_limits import QuestionTally
from gatekeeper.contract.simulated_user.messages import (
    LONGEST_SAID,
    SHOWN_OF_AN_ANSWER,
    forecast_question,
    user_of,
)
from gatekeeper.contract.values.definition import Position, SimulatedUser
from gatekeeper.contract.values.trial import Request
from gatekeeper.gate.plan.judge_calls import USUAL_CHARACTERS, JudgeForecast, longest_answer
from gatekeeper.gate.plan.plan import Job
from gatekeeper.sampling.calls import group_calls

_ROUNDED = 500
_USUAL_SAID = 100
"""The expected characters of a user's message, if nothing is known of its length."""


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
    return [_forecast([job], tally) for job in jobs]


def forecast_users_together(jobs: Sequence[Job]) -> JudgeForecast:
    """Return the questions of all conversations of jobs that share calls, as mutants of a prompt
    do: a shared conversation counts once. Raises ContractError for too many."""
    return _forecast(jobs, QuestionTally())


def _forecast(jobs: Sequence[Job], tally: QuestionTally) -> JudgeForecast:
    about: list[Request] = []
    most: list[Request] = []
    known: dict[object, tuple[list[Request], list[Request]]] = {}
    placed = [(job, trial) for job in jobs if user_models(job) for trial in job.trials]
    for call in group_calls([trial for _, trial in placed])[0]:
        job, trial = placed[call.trials[0]]
        request = trial.request
        user = user_of(request.messages)
        if user is None:
            continue
        messages = request.messages[:-1]
        shown = sum(min(SHOWN_OF_AN_ANSWER, len(m.content.encode())) for m in messages)
        # Fixtures share questions of about the same length, rounded up: they can be long.
        size = shown + len(user.goal.encode()) + len(user.persona.encode()) + 100 * len(messages)
        asked = _Asked(
            replace(user, goal="", persona=""),
            -(-size // _ROUNDED) * _ROUNDED,
            user_begins(messages),
            min(SHOWN_OF_AN_ANSWER, longest_answer(request)),
        )
        key = (id(job), user.model, user.max_turns, user.prompt, *asked[1:])
        if key not in known:
            usual = asked._replace(answer=min(asked.answer, USUAL_CHARACTERS))
            known[key] = list(_questions(usual, _USUAL_SAID)), list(_questions(asked, LONGEST_SAID))
        tally.add(job.contract, user.max_turns + 1)
        about += known[key][0]
        most += known[key][1]
    return JudgeForecast(tuple(about), tuple(most))


class _Asked(NamedTuple):
    """What questions to a user depend on: the user without its goal, the `size` in bytes of what is
    known before, whether it begins, and the characters of an `answer`."""

    user: SimulatedUser
    size: int
    begins: bool
    answer: int


def _questions(asked: _Asked, said: int) -> Iterator[Request]:
    for number in range(asked.user.max_turns + 1):
        answers = number + (not asked.begins)
        # The lines around each message have about 100 characters.
        around = 100 * (2 * number + 2)
        length = asked.size + number * said + answers * asked.answer + around
        yield forecast_question(asked.user, length)
