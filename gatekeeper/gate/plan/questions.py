"""Forecasts the questions that a run asks judges and simulated users: how many, and what each can
cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import add
from typing import NamedTuple

from gatekeeper.checks.repairs.embedded_meaning import forecast_meanings
from gatekeeper.contract.calls.calls import count_calls, user_begins
from gatekeeper.contract.checks.judge_settings import question_id
from gatekeeper.contract.models.faults import NamedModel
from gatekeeper.contract.models.names import family_of
from gatekeeper.contract.models.params import CHARACTERS_A_TOKEN, written_limits
from gatekeeper.contract.reading.size_limits import MOST_JUDGED, QuestionTally
from gatekeeper.contract.simulated_user.messages import (
    LONGEST_SAID,
    SHOWN_OF_AN_ANSWER,
    forecast_question,
)
from gatekeeper.contract.simulated_user.tools import forecast_tool_question
from gatekeeper.contract.values.definition import Position, SimulatedUser
from gatekeeper.contract.values.trial import Request, Trial
from gatekeeper.gate.plan.plan import Evaluation, Job
from gatekeeper.gate.samples.consistency import ComparisonForecast
from gatekeeper.sampling.calls import group_calls

# Forecasts the questions that a run asks judges: how many, and what each can cost.


USUAL_CHARACTERS = 1_000
"""The expected characters of an answer that a judge grades, if nothing is known of its
length."""


class Questions(NamedTuple):
    """The questions if no sample is left out. `about` have answers of a usual length in them,
    `most` the longest answers that the parameters allow; both are as many."""

    about: tuple[Request, ...] = ()
    most: tuple[Request, ...] = ()


def judge_models(job: Job) -> tuple[NamedModel, ...]:
    """Return the judges of all evaluations of the job, with the places that name them."""
    return tuple(named for e in job.evaluations for named in e.evaluator.judge_models)


def other_models(job: Job) -> tuple[NamedModel, ...]:
    """Return the models of judges and simulated users, which cost more than the job's own."""
    return (*judge_models(job), *user_models(job))


def family_notices(job: Job) -> tuple[str, ...]:
    """Return a notice for judges of the same family as a model that they grade."""
    arms = [arm for e in job.evaluations for arm in (e.base, e.head) if arm is not None]
    graded = {family_of(arm.model): arm.model for arm in arms}
    own: dict[str, dict[str, None]] = defaultdict(dict)
    for _, judge in judge_models(job):
        family = family_of(judge)
        if family is not None and family in graded:
            own[family][judge] = None
    return tuple(
        (
            f"In {job.contract.name}, {_listed(judges)} "
            f"{'grades' if len(judges) == 1 else 'grade'} {graded[family]}, a model of the "
            f"same family ({family}). Judges favour answers of their own family: use a judge of "
            "another family, or several judges."
        )
        for family, judges in own.items()
    )


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def forecast_judges(jobs: Sequence[Job], tally: QuestionTally) -> Questions:
    """Return the questions of all samples of jobs. Trials that share a call share questions, also
    those of several jobs, such as mutants of a prompt.

    `tally` counts the questions of a run, shared ones each time, and raises ContractError for more
    than `MOST_QUESTIONS`. Questions that are asked again, because the judge's answer was malformed,
    are not counted, like calls that are repeated; nor is it counted that equal outputs are judged
    once.
    """
    judged = [job for job in jobs if any(e.evaluator.has_judges for e in job.evaluations)]
    return joined(Questions(*found) for found in _questions(judged, tally))


def joined(forecasts: Iterable[Questions]) -> Questions:
    """Return the questions of several jobs together."""
    found = list(forecasts)
    return Questions(*(tuple(q for each in found for q in each[bound]) for bound in (0, 1)))


Requests = tuple[Request, ...]


def _questions(jobs: Sequence[Job], tally: QuestionTally) -> Iterator[tuple[Requests, Requests]]:
    """Yield the questions about the answer of each call, if it is of a usual length and if it is as
    long as possible."""
    known: dict[tuple[object, ...], tuple[Requests, Requests]] = {}
    by = [{e.contract_from: e for e in job.evaluations if e.evaluator.has_judges} for job in jobs]
    comparisons = [{f: ComparisonForecast(e.contract) for f, e in own.items()} for own in by]
    placed = [(number, trial) for number, job in enumerate(jobs) for trial in job.trials]
    calls, _ = group_calls([trial for _, trial in placed])
    for call in calls:
        shared = len(call.trials) > 1
        about: dict[object, Request] = {}
        most: dict[object, Request] = {}
        for number, trial in (placed[index] for index in call.trials):
            evaluation = by[number].get(trial.contract_from)
            if evaluation is None:
                continue
            # Repetitions of a trial ask about answers of the same length.
            place = (number, trial.contract_from, trial.fixture, trial.arm)
            limit = longest_answer(trial.request)
            lengths = min(USUAL_CHARACTERS, limit), limit
            if place not in known:
                usual, longest = (_about(evaluation, trial, length) for length in lengths)
                known[place] = usual, longest
            compared = comparisons[number][trial.contract_from]
            pairs = (compared.about(trial, length) for length in lengths)
            usual, longest = map(add, known[place], pairs)
            tally.add(jobs[number].contract, len(longest))
            if not shared:
                yield usual, longest
                continue
            about |= {question_id(question): question for question in usual}
            most |= {question_id(question): question for question in longest}
        if shared:
            yield tuple(about.values()), tuple(most.values())


def _about(evaluation: Evaluation, trial: Trial, characters: int) -> Requests:
    """Return the questions about one answer alone."""
    of_repairs = forecast_meanings(evaluation.contract, characters)
    return (*evaluation.evaluator.forecast(trial, characters), *of_repairs)


def longest_answer(request: Request) -> int:
    """Return the most characters of an answer that a judge is asked about."""
    limits = written_limits(request.params)
    return min([MOST_JUDGED, *(limit * CHARACTERS_A_TOKEN for limit in limits)])


# Forecasts the questions that a run asks simulated users: how many, and what each can cost.


_ROUNDED = 500
_OF_A_TOOL = 10_000
"""The characters of a question to the model that plays a tool."""
_USUAL_SAID = 100
"""The expected characters of a user's message, if nothing is known of its length."""


def user_models(job: Job) -> tuple[NamedModel, ...]:
    """Return the models that play users in all evaluations of the job, with the places that name
    them."""
    contracts = [evaluation.contract for evaluation in job.evaluations]
    found = {
        (contract.path, fixture.user.model)
        for contract in contracts
        for fixture in contract.fixtures
        if fixture.user
    }
    found |= {
        (contract.path, contract.tools.simulator.model)
        for contract in contracts
        if contract.tools and contract.tools.simulator
    }
    return tuple((Position(path), model) for path, model in sorted(found))


def forecast_users(jobs: Sequence[Job], tally: QuestionTally) -> Questions:
    """Return the questions of all conversations of jobs, if none ends before its user has written
    as many messages as it may, and was asked about the last answer. A conversation that jobs share
    counts once. `tally` raises ContractError for too many.

    Questions that are asked again, because an answer cannot be read, are not counted, like calls
    that are repeated.
    """
    about: list[Request] = []
    most: list[Request] = []
    known: dict[object, tuple[list[Request], list[Request]]] = {}
    placed = [(job, trial) for job in jobs if user_models(job) for trial in job.trials]
    for call in group_calls([trial for _, trial in placed])[0]:
        job, trial = placed[call.trials[0]]
        request = trial.request
        user, messages = request.call, request.messages
        if request.tools and request.tools.simulator:
            # At most one call of each answer but the last is expected to have no row.
            calls = count_calls(request) - 1
            tally.add(job.contract, calls)
            asked_of_tool = forecast_tool_question(request.tools.simulator, _OF_A_TOOL)
            about += [asked_of_tool] * calls
            most += [asked_of_tool] * calls
        if not isinstance(user, SimulatedUser):
            continue
        shown = sum(min(SHOWN_OF_AN_ANSWER, len(m.content.encode())) for m in messages)
        # Fixtures share questions of about the same length, rounded up: they can be long.
        size = shown + len(user.goal.encode()) + len(user.persona.encode()) + 100 * len(messages)
        asked = _Asked(
            replace(user, goal="", persona=""),
            -(-size // _ROUNDED) * _ROUNDED,
            user_begins(request),
            min(SHOWN_OF_AN_ANSWER, longest_answer(request)),
        )
        key = (id(job), user.model, user.max_turns, user.prompt, *asked[1:])
        if key not in known:
            usual = asked._replace(answer=min(asked.answer, USUAL_CHARACTERS))
            known[key] = list(_to_user(usual, _USUAL_SAID)), list(_to_user(asked, LONGEST_SAID))
        tally.add(job.contract, user.max_turns + 1)
        about += known[key][0]
        most += known[key][1]
    return Questions(tuple(about), tuple(most))


class _Asked(NamedTuple):
    """What questions to a user depend on: the user without its goal, the `size` in bytes of what is
    known before, whether it begins, and the characters of an `answer`."""

    user: SimulatedUser
    size: int
    begins: bool
    answer: int


def _to_user(asked: _Asked, said: int) -> Iterator[Request]:
    for number in range(asked.user.max_turns + 1):
        answers = number + (not asked.begins)
        # The lines around each message have about 100 characters.
        around = 100 * (2 * number + 2)
        length = asked.size + number * said + answers * asked.answer + around
        yield forecast_question(asked.user, length)
