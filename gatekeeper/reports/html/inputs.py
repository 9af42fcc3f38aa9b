"""What tells a contract's inputs apart: of each fixture's rendered messages, the part that is
not the same in all of them. The instructions that all share are in the prompt, shown elsewhere."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping, Sequence

from gatekeeper.contract.model import Message

_WORD_END = re.compile(r"\S*\Z")
_WORD_START = re.compile(r"\A\S*")

Messages = Sequence[Message]


def distinct_parts(inputs: Mapping[str, Messages]) -> dict[str, str]:
    """Fixture -> the texts in which it differs from the others, one paragraph a message.

    Whole words are kept: where all values begin with the same letter it still belongs to them.
    Of a single fixture, and where the conversations differ in shape, it is the last message.
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
    """How many characters at the beginning and at the end all texts share, in whole words."""
    beginning = _shared(texts)
    if all(text == beginning for text in texts):
        return len(beginning), 0
    start = len(_WORD_END.sub("", beginning))
    # What is taken from the beginning cannot be taken from the end once more.
    ending = _shared([text[start:][::-1] for text in texts])[::-1]
    return start, len(_WORD_START.sub("", ending))


def _shared(texts: Sequence[str]) -> str:
    """The characters with which all texts begin."""
    return os.path.commonprefix(list(texts))  # noqa: RUF071
