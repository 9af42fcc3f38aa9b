"""Chains: prompts that run one after another, each with the outputs of those before it.

A request of a chain has the messages of every step, and a message of the role STEP after those of
each step but the last. In later messages an OUTPUT stands for the output of the step that it names.
Whatever compares requests thus compares whole chains. The outputs are inserted when the step runs:
no template sees them, so one that looks like a template is only text.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence

from gatekeeper.contract.values.definition import Message, Target

MOST_TEXT = 1_000_000
"""The most characters of a call that contains the outputs of earlier steps. A template may
insert an output in a loop."""
STEP = "(step)"
"""The role of the mark that ends the messages of a step; its content is the step's name. No
prompt can use this role, because the roles of prompts are words."""
OUTPUT = "(output)"
"""The role of a part that continues the message before it with the output of a step; its
content is the step's name."""
REST = "(rest)"
"""The role of a part that continues the message before it with its own content."""

Messages = tuple[Message, ...]

# The value of a step's name while templates are rendered. Nobody can write it before the run, so
# no fixture's value can be taken for it.
_SECRET = secrets.token_hex(16)
_MARKER = re.compile(f"{_SECRET}([A-Za-z0-9_]+);")


def markers(target: Target) -> dict[str, str]:
    """Return the value of each step's name for the templates of the target."""
    return {step.name: f"{_SECRET}{step.name};" for step in target.steps}


def with_places(messages: Messages) -> Messages:
    """Return rendered messages with each marker as a place for a step's output."""
    return tuple(part for message in messages for part in _parted(message))


def join_steps(names: Sequence[str], rendered: Sequence[Messages]) -> Messages:
    """Return the messages of a chain. The names are those of all steps but the last."""
    found = [*rendered[0]]
    for name, messages in zip(names, rendered[1:], strict=True):
        found += [Message(STEP, name), *messages]
    return tuple(found)


def step_names(messages: Messages) -> tuple[str, ...]:
    """Return the names of the steps before the last one; nothing for a single prompt."""
    return tuple(message.content for message in messages if message.role == STEP)


def first_step(messages: Messages) -> Messages:
    """Return the messages of the first step."""
    end = next((at for at, m in enumerate(messages) if m.role == STEP), len(messages))
    return messages[:end]


def reached_steps(messages: Messages) -> frozenset[str]:
    """Return the steps whose output reaches the last prompt, maybe through other steps."""
    uses: dict[str, set[str]] = {}
    current: set[str] = set()
    for message in messages:
        if message.role == OUTPUT:
            current.add(message.content)
        elif message.role == STEP:
            uses[message.content], current = current, set()
    found: set[str] = set()
    while current:
        found |= current
        current = {name for step in current for name in uses.get(step, ())} - found
    return frozenset(found)


def is_too_long(messages: Messages, outputs: Mapping[str, str]) -> bool:
    """Return whether the messages of a step would be too long with the outputs in their places."""
    used = (outputs.get(m.content, "") if m.role == OUTPUT else m.content for m in messages)
    return sum(map(len, used)) > MOST_TEXT


def with_outputs(messages: Messages, outputs: Mapping[str, str]) -> Messages:
    """Return the messages of one step with the outputs of earlier steps in their places. An output
    that is not known is left out."""
    found: list[tuple[str, list[str]]] = []
    for message in messages:
        if message.role == OUTPUT and found:
            found[-1][1].append(outputs.get(message.content, ""))
        elif message.role == REST and found:
            found[-1][1].append(message.content)
        else:
            found.append((message.role, [message.content]))
    return tuple(Message(role, "".join(texts)) for role, texts in found)


def _parted(message: Message) -> Iterator[Message]:
    if _SECRET not in message.content:
        yield message
        return
    pieces = _MARKER.split(message.content)
    yield Message(message.role, pieces[0])
    for at in range(1, len(pieces), 2):
        yield Message(OUTPUT, pieces[at])
        if pieces[at + 1]:
            yield Message(REST, pieces[at + 1])
