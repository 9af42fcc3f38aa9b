"""Reads how long a prompt wants its answer: "at most 50 words", "do not use over 100 words"."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_SIZE = re.compile(
    r"\b(?:(?P<below>at most|up to|fewer than|less than|under|within|maximum of|max(?:imum)?\.?"
    r"|(?:no|not) (?:more|longer) than|limit(?:ed)? (?:\w+ )?to)"
    r"|(?P<above>(?:more|longer|greater) than|over|above|beyond|exceed(?:ing|s)?)"
    r"|(?P<least>at least|minimum of|min(?:imum)?\.?))\s+"
    r"(?P<number>\d{1,5})\s+(?P<unit>words?|characters?)\b"
    r"|\b(?P<number2>\d{1,5})\s+(?P<unit2>words?|characters?)\s+(?:or (?:less|fewer)|at most|max)",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|never|no|cannot|without|avoid|don['\u2019]?t|can['\u2019]?t|mustn['\u2019]?t"
    r"|shouldn['\u2019]?t|won['\u2019]?t)\b[^.;:,\n]{0,40}$",
    re.IGNORECASE,
)
_OF_A_PART = re.compile(
    r"\b(?:sentences?|bullets?|lines?|paragraphs?|items?|points?|each|every|per|if|when|unless"
    r"|whenever|titles?|headlines?|headings?|subjects?|names?|labels?|fields?|tags?|captions?"
    r"|descriptions?|comments?|steps?|sections?|quotes?|quotations?|reasons?|explanations?|keys?"
    r"|queries|query|questions?|drafts?|reasoning|thinking|thoughts?)\b",
    re.IGNORECASE,
)
_OF_THE_ANSWER = re.compile(
    r"^[\s>*#\d.)-]*(?:please\s+|only\s+|always\s+|then\s+|and\s+|to\s+)*"
    r"(?:$|(?:answer|respond|reply|write|return|output|use|keep|stay|limit|summari[sz]e|rewrite"
    r"|be\b|do not|don['\u2019]?t|never|no\b|avoid|it\b|the whole|(?:your|the)\s+(?:\w+\s+)?"
    r"(?:answer|response|reply|output|summary|text|result|length)))"
    r"|\b(?:your|the)\s+(?:answer|response|reply|output|summary)\b",
    re.IGNORECASE,
)
_PER_PART = re.compile(
    r"^\s*(?:each|per|every|long sentences|in each|(?:in|for) (?:the|a|an|any|your) (?!(?:\w+ )?"
    r"(?:answer|response|reply|output|summary|total)\b))",
    re.IGNORECASE,
)
# `50 words, in a section called OVERVIEW`, `100 character intro sentence`
_NAMES_A_PART = re.compile(
    r"^[^.!?;\n]*\b(?:sections?|called)\b"
    r"|^\s*(?:\w+\s+){0,2}(?:sentence|line|title|heading|paragraph|bullet)s?\b",
    re.IGNORECASE,
)
_NESTED_ITEM = re.compile(r"[ \t]+[-*+] ")
_SENTENCE_END = re.compile(r"[.!?;]\s|\n")


class LengthDemand(NamedTuple):
    """The parameters of a check of the length, and the words that they come from."""

    check: Mapping[str, Any]
    words: str


def find_length(text: str) -> LengthDemand | None:
    """Return the greatest length that the text demands of the whole answer; None if it demands
    none, several, or one of parts such as sentences."""
    found = {(number, unit): words for number, unit, words in _limits(text)}
    if len(found) != 1:
        return None
    [((number, unit), words)] = found.items()
    check = {"type": "length", "max": number, "unit": unit, "name": f"at most {number} {unit}"}
    return LengthDemand(check, words)


def _limits(text: str) -> Iterator[tuple[int, str, str]]:
    text = textwrap.dedent(text)
    for size in _SIZE.finditer(text):
        before = _SENTENCE_END.split(text[: size.start()])[-1]
        negated = _NEGATED.search(before)
        is_limit = bool(size["above"] if negated else size["below"] or size["number2"])
        after = text[size.end() :]
        of_a_part = _OF_A_PART.search(before) or _PER_PART.match(after)
        # A nested item may say something of the item above it.
        of_a_part = of_a_part or _NAMES_A_PART.match(after) or _NESTED_ITEM.match(before)
        if not is_limit or of_a_part or not _OF_THE_ANSWER.search(before):
            continue
        number = int(size["number"] or size["number2"])
        unit = (size["unit"] or size["unit2"]).lower().rstrip("s") + "s"
        if number:
            words = f"{negated.group()} {size.group()}" if negated else size.group()
            yield number, unit, words
