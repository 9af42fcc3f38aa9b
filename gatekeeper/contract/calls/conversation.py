"""Requests that take several calls: conversations, and chains of prompts (contract/calls/chain.py).

In a conversation the user's messages are written before, and the model answers each. Its request
has a message of the role ANSWER wherever the model is to answer first. If a model plays the user,
the request ends in a message that says so (simulated_user/messages.py). It stands for one call
after another, each with the answers so far. Whatever compares requests thus compares whole
conversations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from gatekeeper.contract.calls.chain import OUTPUT, STEP, step_names, with_outputs
from gatekeeper.contract.simulated_user.messages import LONGEST_SAID, SIMULATED, sayings, user_of
from gatekeeper.contract.values.definition import Message, SimulatedUser
from gatekeeper.contract.values.trial import Request, Sample

ANSWER = "(answer)"
"""No prompt can name a message so: the roles of prompts are words."""

Messages = tuple[Message, ...]


def with_turns(messages: Messages, turns: Sequence[str]) -> Messages:
    """Return the messages with the later ones of the user, each after an answer of the model."""
    later = (m for text in turns for m in (Message(ANSWER, ""), Message("user", text)))
    return (*messages, *later)


def calls_of(request: Request) -> tuple[Request, ...]:
    """Return the calls that a request takes: itself, or one for each answer of a conversation and
    each step of a chain. Earlier answers and outputs are not yet inserted. With a simulated user
    these are the most calls, and each has messages as long as that user may write them."""
    user = user_of(request.messages)
    if user is not None:
        request = replace(request, messages=_longest(request.messages[:-1], user))
    messages = request.messages
    ends = [at for at, message in enumerate(messages) if message.role in (ANSWER, STEP)]
    if not ends:
        return (request,)
    calls, start = [], 0
    for end in (*ends, len(messages)):
        calls.append(_call(request, start, end, ends[0]))
        if end < len(messages) and messages[end].role == STEP:
            start = end + 1
    return tuple(calls)


def written_by_prompts(messages: Messages) -> Iterator[str]:
    """Yield the texts of a request that its prompts write: not those of the user's later turns, who
    plays the user, and whose output is inserted."""
    for message in messages:
        if message.role == ANSWER:
            return
        if message.role not in (STEP, OUTPUT, SIMULATED):
            yield message.content


def count_calls(request: Request) -> int:
    """Return how many calls a request takes; with a simulated user the most."""
    user = user_of(request.messages)
    if user is not None:
        return user.max_turns + (not user_begins(request.messages[:-1]))
    return 1 + sum(message.role in (ANSWER, STEP) for message in request.messages)


def user_begins(messages: Messages) -> bool:
    """Return whether a simulated user writes the first message after these."""
    return not messages or messages[-1].role != "user"


def count_inserted(call: Request) -> int:
    """Return how many earlier answers and outputs are inserted in the messages of a call."""
    return sum(message.role in (ANSWER, OUTPUT) for message in call.messages)


def filled(messages: Messages, answers: Sequence[str], steps: Sequence[str] = ()) -> Messages:
    """Return the messages of a call with the model's answers in their places, as far as there are
    any. `steps` are those of the chain, which the first answers are the outputs of."""
    outputs = dict(zip(steps, answers, strict=False))
    return with_outputs(tuple(_filled(messages, answers[len(steps) :])), outputs)


def spoken(sample: Sample) -> Sample:
    """Return a sample whose request has the answers of the conversation before its last one, as the
    model saw them; of a chain it is the last call. Any other sample stays as it is."""
    turns = sample.completion.turns if sample.completion else ()
    if not turns:
        return sample
    trial = sample.trial
    if step_names(trial.request.messages):
        return as_called(sample, len(turns) - 1)
    messages, answers = trial.request.messages, [turn.completion.text for turn in turns]
    if user_of(messages) is None:
        messages = filled(messages, answers)
    else:
        users = sample.completion.users if sample.completion else ()
        messages = _as_said(messages[:-1], answers, [said.message for said in sayings(users)])
    return replace(sample, trial=replace(trial, request=replace(trial.request, messages=messages)))


def as_called(sample: Sample, number: int) -> Sample:
    """Return a sample whose request is its call of that number, as the model saw it."""
    request = sample.trial.request
    answers = (
        [turn.completion.text for turn in sample.completion.turns] if sample.completion else []
    )
    call = calls_of(request)[number]
    messages = filled(call.messages, answers[:number], step_names(request.messages))
    return replace(sample, trial=replace(sample.trial, request=replace(call, messages=messages)))


def _as_said(messages: Messages, answers: Sequence[str], said: Sequence[str]) -> Messages:
    """Return the messages with what user and model said, up to the model's last answer."""
    left = iter(said)
    found = [*messages]
    if user_begins(messages):
        found += [Message("user", next(left, ""))]
    for answer in answers[:-1]:
        found += [Message("assistant", answer), Message("user", next(left, ""))]
    return tuple(found)


def _longest(messages: Messages, user: SimulatedUser) -> Messages:
    """Return the messages of the longest conversation that is possible with this user."""
    return (*messages, *_longest_rest(user.max_turns, begins=user_begins(messages)))


@lru_cache(maxsize=64)
def _longest_rest(max_turns: int, *, begins: bool) -> Messages:
    said = Message("user", "x" * LONGEST_SAID)
    first = (said,) if begins else ()
    return (*first, *(Message(ANSWER, ""), said) * (max_turns - begins))


def _call(request: Request, start: int, end: int, first: int) -> Request:
    """Return the call with the messages from `start` to `end`. `first` is the number of messages of
    the first call, which alone can share a prefix with other requests."""
    prefix = request.shared_prefix
    kept = prefix if prefix is not None and not start and prefix.messages <= first else None
    return replace(request, messages=request.messages[start:end], shared_prefix=kept)


def _filled(messages: Messages, answers: Sequence[str]) -> Iterator[Message]:
    left = iter(answers)
    for message in messages:
        answer = next(left, None) if message.role == ANSWER else None
        yield message if answer is None else Message("assistant", answer)
