"""A call: what a trial sends, and how it goes on after each answer of the model.

A request holds the messages that are sent first, and one of these kinds. Whatever compares requests
compares the digest of both, so it compares whole chains and conversations
(contract/meaning/digests.py). What each kind sends next is decided in contract/calls/calls.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from gatekeeper.contract.values.definition import SimulatedUser


@dataclass(frozen=True, slots=True)
class Single:
    """The first messages alone."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """The cosine of the embeddings of the two messages, instead of an answer."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The user's later messages were written before; the model answers each."""

    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """The place of a step's output."""

    step: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A message with places for the outputs of earlier steps."""

    role: str
    parts: tuple[str | Output, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """Prompts that run one after another. `names` are the steps before the last, and `later` has
    the messages of the prompt after each of them."""

    names: tuple[str, ...]
    later: tuple[tuple[Draft, ...], ...]


Call = Single | Embedding | Conversation | Chain | SimulatedUser
"""A simulated user is a kind by itself: a model writes the user's messages."""
SINGLE = Single()
