"""Divides a prompt into the parts that a mutation changes: sentences, list items and examples.

The Markdown structure of a message gives its list items, code blocks and paragraphs; a paragraph is
divided into sentences. Text that the fixtures fill in is never a part, because its removal says
nothing about the prompt's rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, Literal, NamedTuple

from gatekeeper.contract.prompts.render import template_problems
from gatekeeper.contract.reading.role_lines import BY_ROLE_LINES
from gatekeeper.contract.templates.client import find_role_lines
from gatekeeper.contract.values.definition import MessageTemplate, Prompt
from gatekeeper.errors import UsageError

if TYPE_CHECKING:
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

    @property
    def place(self) -> str:
        """Return the line, or the first and the last."""
        return f"{self.line}" if self.line == self.last_line else f"{self.line}-{self.last_line}"


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


Mutation = Literal["drop", "negate", "soften", "model"]
MUTATIONS: tuple[Mutation, ...] = ("drop", "negate", "soften")
"""The mutations that need no model, which is the default."""

_NEGATIONS = (
    ("must not", "must"),
    ("must", "must not"),
    ("should not", "should"),
    ("should", "should not"),
    ("do not", "always"),
    ("don't", "always"),
    ("never", "always"),
    ("always", "never"),
    ("may not", "may"),
    ("cannot", "can"),
    ("without", "with"),
    ("at most", "at least"),
    ("at least", "at most"),
    ("no more than", "more than"),
    ("only", "not only"),
    ("exactly", "not exactly"),
)
"""The first of these words in a part is replaced by its opposite. Longer words stand first."""
_SOFTER = (
    ("must not", "should preferably not"),
    ("must", "may"),
    ("should", "could"),
    ("do not", "try not to"),
    ("don't", "try not to"),
    ("never", "rarely"),
    ("always", "usually"),
    ("at most", "about"),
    ("at least", "about"),
    ("no more than", "about"),
    ("only", "mainly"),
    ("exactly", "about"),
)
# A sentence that begins with one of these verbs is an instruction: "Answer in one word."
_INSTRUCTS = re.compile(
    r"(?:add|answer|ask|avoid|begin|call|check|choose|cite|classify|combine|convert|copy|count|"
    r"create|decide|describe|determine|end|ensure|explain|extract|find|follow|format|generate|give|"
    r"identify|ignore|include|keep|label|leave|limit|list|make|mention|name|output|pick|print|"
    r"provide|put|quote|read|refuse|remove|replace|reply|respond|return|rewrite|say|select|show|"
    r"sort|start|state|stay|stop|summarise|summarize|tell|translate|treat|use|wrap|write)\b",
    re.IGNORECASE,
)
_BEFORE_TEXT = re.compile(r"^(?:\s*(?:[-*+]|\d{1,9}[.)])[ \t]+)?\s*")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A prompt with one part changed. `id` is unique among the mutants of a prompt, such as
    `3-drop`; `now` is the text in place of the part, empty if it was dropped."""

    id: str
    mutation: Mutation
    part: Part
    now: str
    prompt: Prompt


def make_mutants(prompt: Prompt, mutations: Sequence[Mutation] = MUTATIONS) -> tuple[Mutant, ...]:
    """Return the prompts that differ from this one in one part, in its order.

    Left out are changes after which the template cannot be read or a message is empty, and changes
    of text that stays the same.
    """
    makers: dict[Mutation, Callable[[Part], str | None]] = {
        "drop": _dropped,
        "negate": _negated,
        "soften": _softened,
    }
    return tuple(
        mutant
        for number, part in enumerate(find_parts(prompt), start=1)
        for mutation in mutations
        if mutation in makers
        for mutant in _made(prompt, number, part, mutation, makers[mutation])
    )


def rewrite_part(prompt: Prompt, number: int, part: Part, now: str) -> Mutant | None:
    """Return the prompt with a part as a model rewrote it; None if the template can no longer be
    read. `number` is that of the part among all parts, from 1."""
    return next(_made(prompt, number, part, "model", lambda _: now), None)


def _made(
    prompt: Prompt,
    number: int,
    part: Part,
    mutation: Mutation,
    make: Callable[[Part], str | None],
) -> Iterator[Mutant]:
    now = make(part)
    if now is None:
        return
    messages = _without(prompt, part.spans) if not now else _with(prompt, part.spans[0], now)
    mutated = replace(prompt, messages=messages)
    if messages and not template_problems(mutated):
        yield Mutant(f"{number}-{mutation}", mutation, part, now, mutated)


def _dropped(part: Part) -> str | None:  # noqa: ARG001
    return ""


def _negated(part: Part) -> str | None:
    """Return the opposite of an instruction; None if nothing in the part says how to turn it."""
    if part.kind not in ("sentence", "list item"):
        return None
    swapped = _swapped(part.text, _NEGATIONS)
    if swapped is not None:
        return swapped
    before = _BEFORE_TEXT.match(part.text)
    rest = part.text[before.end() :] if before else part.text
    if not _INSTRUCTS.match(rest):
        return None
    return f"{part.text[: len(part.text) - len(rest)]}Do not {rest[0].lower()}{rest[1:]}"


def _softened(part: Part) -> str | None:
    return _swapped(part.text, _SOFTER) if part.kind in ("sentence", "list item") else None


def _swapped(text: str, words: Sequence[tuple[str, str]]) -> str | None:
    """Replace the first of the words that stands in the text; None if none does."""
    found = [
        (match.start(), -len(old), match, new)
        for old, new in words
        if (match := re.search(rf"\b{re.escape(old)}\b", text, re.IGNORECASE))
    ]
    if not found:
        return None
    _, _, match, new = min(found, key=lambda one: one[:2])
    if match[0][0].isupper():
        new = new[0].upper() + new[1:]
    return text[: match.start()] + new + text[match.end() :]


def _with(prompt: Prompt, span: Span, now: str) -> tuple[MessageTemplate, ...]:
    """Return the messages with other text in the span."""
    return tuple(
        replace(message, content=message.content[: span.start] + now + message.content[span.end :])
        if index == span.message
        else message
        for index, message in enumerate(prompt.messages)
    )


def _without(prompt: Prompt, spans: Sequence[Span]) -> tuple[MessageTemplate, ...]:
    """Return the messages without the spans and the space that they leave, and without messages of
    which nothing is left."""
    contents = [message.content for message in prompt.messages]
    for span in sorted(spans, reverse=True):
        text = contents[span.message]
        contents[span.message] = _joined(text[: span.start], text[span.end :])
    return tuple(
        replace(message, content=content)
        for message, content in zip(prompt.messages, contents, strict=True)
        if content.strip()
    )


def _joined(before: str, after: str) -> str:
    """Join what stood around a removed text as if the text had never been there: no line, space or
    blank line more than before."""
    head, tail = before.rstrip(" \t"), after.lstrip(" \t")
    begins_line = not head or head.endswith("\n")
    if begins_line and (not tail or tail.startswith("\n")):
        blank_before = not head.strip() or head.endswith("\n\n")
        return head + (tail.lstrip("\n") if blank_before else tail.removeprefix("\n"))
    if begins_line or not tail or tail.startswith("\n"):
        return head + tail
    return f"{head} {tail}"
