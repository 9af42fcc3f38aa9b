"""Divides a prompt into the parts that a mutation changes: sentences, list items and examples.

The Markdown structure of a message gives its list items, code blocks and paragraphs; a paragraph is
divided into sentences. Text that the fixtures fill in is never a part, because its removal says
nothing about the prompt's rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, Literal, NamedTuple

from gatekeeper.contract.reading.role_lines import BY_ROLE_LINES
from gatekeeper.contract.templates.client import find_role_lines
from gatekeeper.contract.values.definition import MessageTemplate, Prompt
from gatekeeper.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

MOST_CHARACTERS = 100_000
MOST_PARTS = 300
"""Each part is at least one comparison, and all comparisons share one alpha."""

PartKind = Literal["sentence", "list item", "example", "all examples"]

_BLOCKS = frozenset({"paragraph_open", "fence", "code_block"})
# A sentence ends with its mark and a space.
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=\S)")
# In text that is not wrapped, a line ends it too, unless the next line goes on in lower case.
_SENTENCE_OR_LINE_END = re.compile(r"(?<=[.!?])[\"')\]]*[ \t]+(?=\S)|\n(?![ \t]*[a-z])")
_WRAPPED = 50
"""The median length of the lines of a paragraph from which its line breaks mean nothing."""
# `Review: ...` above `Sentiment: ...`: a worked example in plain text.
_LABELLED = re.compile(r"^\W{0,3}\w[\w ]{0,30}:", re.MULTILINE)
FILLED_IN = ("{{", "{%", "{#")
_DEEPEST = 20
_LIST_MARK = re.compile(r"^(?:[-*+]|\d{1,9}[.)])[ \t]+")


class Span(NamedTuple):
    """A piece of a message: the message's index, and characters from `start` to before `end`."""

    message: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a prompt. `spans` are its pieces, in order; `line` and `last_line` count from 1 in
    the prompt file."""

    kind: PartKind
    text: str
    spans: tuple[Span, ...]
    line: int
    last_line: int


def find_parts(prompt: Prompt) -> tuple[Part, ...]:
    """Return the parts of the prompt in its order, and all its examples together as the last one
    if there are several.

    Raises UsageError if the prompt has too much text or too many parts.
    """
    if sum(len(message.content) for message in prompt.messages) > MOST_CHARACTERS:
        raise UsageError(f"{prompt.path} has more than {MOST_CHARACTERS:,} characters")
    demonstrations = _demonstrated(prompt)
    found = [_whole(prompt, pair) for pair in demonstrations]
    taken = {index for pair in demonstrations for index in pair}
    for index in range(len(prompt.messages)):
        if index not in taken:
            found += islice(_of_message(prompt, index), MOST_PARTS + 1)
    if len(found) > MOST_PARTS:
        raise UsageError(f"{prompt.path} has more than {MOST_PARTS} parts that can be changed")
    found.sort(key=lambda part: part.spans)
    examples = [part for part in found if part.kind == "example"]
    if len(examples) > 1:
        found.append(_together(examples))
    return tuple(found)


def _demonstrated(prompt: Prompt) -> list[tuple[int, int]]:
    """Return the pairs of a user's message and the assistant's answer that the prompt contains."""
    roles = [message.role for message in prompt.messages]
    return [
        (index, index + 1)
        for index in range(len(roles) - 1)
        if roles[index : index + 2] == ["user", "assistant"]
        and all(_is_fixed(prompt.messages[at].content) for at in (index, index + 1))
    ]


def _is_fixed(text: str) -> bool:
    """Return whether there is text, and nothing in it that fixtures fill in."""
    return bool(text.strip()) and not any(mark in text for mark in FILLED_IN)


def _whole(prompt: Prompt, messages: Sequence[int]) -> Part:
    spans = tuple(Span(at, 0, len(prompt.messages[at].content)) for at in messages)
    return _part(prompt, "example", spans)


def _together(examples: Sequence[Part]) -> Part:
    spans = tuple(span for part in examples for span in part.spans)
    text = "\n\n".join(part.text for part in examples)
    last = max(part.last_line for part in examples)
    return Part("all examples", text, spans, examples[0].line, last)


def _of_message(prompt: Prompt, index: int) -> Iterator[Part]:
    starts = _line_starts(prompt.messages[index].content)
    for kind, first, end in _blocks(_without_role_lines(prompt.messages[index])):
        yield from _of_block(prompt, index, kind, starts[first], starts[end])


def _without_role_lines(template: MessageTemplate) -> str:
    """Return the content with a blank line for each line that begins a message, so that no part
    has one."""
    if template.role != BY_ROLE_LINES:
        return template.content
    begin = {found.line for found in find_role_lines(template.content)}
    lines = template.content.splitlines(keepends=True)
    return "".join("\n" if n in begin else line for n, line in enumerate(lines, start=1))


def _of_block(prompt: Prompt, index: int, kind: PartKind, start: int, end: int) -> Iterator[Part]:
    content = prompt.messages[index].content
    text = content[start:end]
    if kind == "sentence" and _LIST_MARK.match(text.lstrip()):
        kind = "list item"
    elif kind == "sentence" and len(_LABELLED.findall(text)) > 1:
        kind = "example"
    for begin, finish in _sentences(text) if kind == "sentence" else [(0, len(text))]:
        piece = text[begin:finish]
        if not _is_fixed(piece):
            continue
        kept = len(piece) - len(piece.lstrip())
        span = Span(index, start + begin + kept, start + begin + len(piece.rstrip()))
        yield _part(prompt, kind, (span,))


def _blocks(content: str) -> Iterator[tuple[PartKind, int, int]]:
    """Yield the kind, the first line and the line after the last of each block of Markdown that
    holds no other."""
    from markdown_it import MarkdownIt

    for token in MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).parse(content):
        if token.type in _BLOCKS and token.map is not None:
            yield _kind(token), token.map[0], token.map[1]


def _kind(token: Token) -> PartKind:
    return "sentence" if token.type == "paragraph_open" else "example"


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    lines = text.strip().splitlines()[:-1]
    wrapped = bool(lines) and median(map(len, lines)) >= _WRAPPED
    begin = 0
    for found in (_SENTENCE_END if wrapped else _SENTENCE_OR_LINE_END).finditer(text):
        yield begin, found.start()
        begin = found.end()
    yield begin, len(text)


def _part(prompt: Prompt, kind: PartKind, spans: tuple[Span, ...]) -> Part:
    texts = [prompt.messages[at].content[start:end] for at, start, end in spans]
    first, last = spans[0], spans[-1]
    return Part(
        kind,
        "\n".join(texts),
        spans,
        _line_of(prompt, first.message, first.start),
        _line_of(prompt, last.message, last.end),
    )


def _line_of(prompt: Prompt, message: int, offset: int) -> int:
    template = prompt.messages[message]
    return template.line_at(template.content.count("\n", 0, offset) + 1)


def _line_starts(text: str) -> list[int]:
    """Return where each line begins, and the end of the text, so that a range of lines is a range
    of characters."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return [*starts, len(text)]
