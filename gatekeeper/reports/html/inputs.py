"""Finds the parts of inputs that differ: of each fixture's rendered messages, the part that is not
the same in all of them. The common instructions are in the prompt, which is shown elsewhere."""

from __future__ import annotations

import os.path
from collections.abc import Mapping, Sequence

from gatekeeper.contract.definition import Message

Messages = Sequence[Message]


def distinct_parts(inputs: Mapping[str, Messages]) -> dict[str, str]:
    """Map each fixture to the texts in which it differs from the others, one paragraph per message.

    Whole lines are kept: what all values begin with, such as the mark of a document, still
    belongs to them. Of a single fixture, and if the conversations differ in shape, it is the last
    message.
    """
    shapes = {tuple(message.role for message in messages) for messages in inputs.values()}
    if len(inputs) < 2 or len(shapes) != 1:
        return {name: found[-1].content if found else "" for name, found in inputs.items()}
    columns = zip(*inputs.values(), strict=True)
    cuts = [_common([message.content for message in column]) for column in columns]
    return {
        name: "\n\n".join(
            part
            for message, (start, end) in zip(messages, cuts, strict=True)
            if (part := message.content[start : len(message.content) - end])
        )
        for name, messages in inputs.items()
    }


def _common(texts: Sequence[str]) -> tuple[int, int]:
    """Count the characters at the beginning and at the end that all texts share, in whole lines."""
    beginning = _shared(texts)
    if all(text == beginning for text in texts):
        return len(beginning), 0
    start = beginning.rfind("\n") + 1
    # What is taken from the beginning cannot be taken from the end once more.
    ending = _shared([text[start:][::-1] for text in texts])[::-1]
    line = ending.find("\n")
    return start, 0 if line < 0 else len(ending) - line


def _shared(texts: Sequence[str]) -> str:
    """Return the characters with which all texts begin."""
    return os.path.commonprefix(list(texts))  # noqa: RUF071
