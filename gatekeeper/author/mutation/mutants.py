"""Changes one part of a prompt: drops it, says the opposite, or makes it less strict."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gatekeeper.author.mutation.prompt_parts import Part, Span, find_parts
from gatekeeper.contract.prompts.render import template_problems
from gatekeeper.contract.values.definition import MessageTemplate, Prompt

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
