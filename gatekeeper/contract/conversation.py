"""Conversations with several turns: the user's messages are written before, the model answers each.

A request of a conversation has a message of the role ANSWER wherever the model is to answer first.
It stands for one call after another, each with the answers so far. Whatever compares requests thus
compares whole conversations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gatekeeper.contract.definition import Message
from gatekeeper.contract.trial import Request, Sample

ANSWER = "(answer)"
"""No prompt can name a message so: the roles of prompts are words."""

Messages = tuple[Message, ...]


def with_turns(messages: Messages, turns: Sequence[str]) -> Messages:
    """Return the messages with the later ones of the user, each after an answer of the model."""
    later = (m for text in turns for m in (Message(ANSWER, ""), Message("user", text)))
    return (*messages, *later)


def steps(request: Request) -> tuple[Request, ...]:
    """Return the calls that a request takes: itself, or one for each answer of a conversation, in
    which earlier answers still stand as ANSWER."""
    ends = [at for at, message in enumerate(request.messages) if message.role == ANSWER]
    if not ends:
        return (request,)
    return tuple(_until(request, end) for end in (*ends, len(request.messages)))


def count_steps(request: Request) -> int:
    """Return how many calls a request takes."""
    return 1 + sum(message.role == ANSWER for message in request.messages)


def filled(messages: Messages, answers: Sequence[str]) -> Messages:
    """Return the messages with the model's answers in their places, as far as there are any."""
    return tuple(_filled(messages, answers))


def spoken(sample: Sample) -> Sample:
    """Return a sample whose request has the answers of the conversation before its last one, as the
    model saw them; any other sample as it is."""
    turns = sample.completion.turns if sample.completion else ()
    if not turns:
        return sample
    trial = sample.trial
    messages = filled(trial.request.messages, [turn.completion.text for turn in turns])
    return replace(sample, trial=replace(trial, request=replace(trial.request, messages=messages)))


def _until(request: Request, end: int) -> Request:
    prefix = request.shared_prefix
    first = next(at for at, m in enumerate(request.messages) if m.role == ANSWER)
    kept = prefix if prefix is not None and prefix.messages <= first else None
    return replace(request, messages=request.messages[:end], shared_prefix=kept)


def _filled(messages: Messages, answers: Sequence[str]) -> Iterator[Message]:
    left = iter(answers)
    for message in messages:
        answer = next(left, None) if message.role == ANSWER else None
        yield message if answer is None else Message("assistant", answer)
