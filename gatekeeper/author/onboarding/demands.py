"""Reads what a prompt plainly demands of an answer: JSON, one of several labels, a length.

Only what is written in so many words becomes a check. What is missed here costs a check that a
person adds; what is read wrongly would fail good answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gatekeeper.author.onboarding.length_demands import find_length

_MOST_LABELS = 30
_ANSWER = (
    r"(?:answer|respond|reply|return|output|produce|(?:provide|give|write|format)\s+(?:me\s+)?"
    r"(?:your|the|an?)\s+(?:\w+\s+)?(?:answer|response|output|result|reply))"
)
# Where a sentence begins, in lists and after a label too, and what may come before its verb.
_START = (
    r"(?:^|(?<=[.!?:;])\s)[\s>*#\d.)-]*(?:please\s+|only\s+|always\s+|then\s+|and\s+|finally,?\s+"
    r"|you\s+(?:must|should|will|can only|may only)\s+(?:only\s+|always\s+)?)*"
)
_JSON = re.compile(
    rf"{_START}(?P<words>{_ANSWER}\b[^.;:!?\n{{}}`]{{0,60}}?\bJSON\b"
    r"|(?:(?:your|the)\s+)?(?:answer|response|output|reply)(?:\s+(?:format|must|should))?"
    r"(?:\s+be|\s+is)?\s*:?\s+(?:a\s+|an\s+|only\s+|strictly\s+|valid\s+|single\s+|one\s+)*JSON\b)",
    re.IGNORECASE | re.MULTILINE,
)
# Several documents, a part of the answer, or the input.
_OTHER_JSON = re.compile(
    r"\b(?:not|no|without|never|instead of)\b[^.\n]{0,30}\bJSON\b|\bJSON\s?(?:lines|l\b)|```"
    r"|\b(?:followed by|and then|after|before|between)\b[^.\n]{0,60}\bJSON\b"
    r"|\bJSON\b[^.\n]{0,60}\b(?:followed by|and then|or (?:an?|plain|free|the))\b"
    r"|<(?:json|output|answer|result)>|\b(?:XML|YAML) tags?\b|\bmarkdown\b[^.\n]{0,20}\bJSON\b",
    re.IGNORECASE,
)
_FIELDS = re.compile(
    r"\b(?:fields|keys|properties)\b\s*(?:are|named|called)?\s*:?\s+(?P<list>[^\n.;]{3,200})",
    re.IGNORECASE,
)
_WORD = r"[\"'`]?[A-Za-z][\w-]*[\"'`]?"
_JOIN = r"\s*(?:,\s*(?:or|and)\s+|,\s*|\s*/\s*|\s*\|\s*|\s+or\s+)"
_LIST = rf"{_WORD}(?:{_JOIN}{_WORD})+"
_END = r"(?=\s*(?:[.;)\n]|and nothing|only|$))"
_CLASSIFY = r"(?:classify|categori[sz]e|label|choose|pick|select|decide|determine|mark|tag|rate)"
_LABELS = re.compile(
    rf"{_START}(?P<words>(?:{_ANSWER}\b(?:\s+(?:only|exactly|just|strictly))*(?:\s+(?:with|as|in))?"
    r"(?:\s+(?:only|exactly|just|either|a single word|one word))*"
    rf"|(?:{_ANSWER}|{_CLASSIFY})\b[^.;!?\n{{}}]{{0,60}}?"
    r"\b(?:one of(?:\s+(?:the|these)(?:\s+\w+)?)?|either|as|into))\s*:?\s+"
    rf"(?P<list>{_LIST})){_END}",
    re.IGNORECASE | re.MULTILINE,
)
_BULLETS = re.compile(
    rf"{_START}(?P<words>(?:{_ANSWER}|{_CLASSIFY})\b[^:.;!?\n]{{0,60}}"
    r"\b(?:one of (?:the following|these)|as|into)[^:\n]{0,60}:\s*\n"
    r"(?P<list>(?:[ \t]*[-*][ \t]+[^\n]+\n?){2,}))",
    re.IGNORECASE | re.MULTILINE,
)
_BULLET = re.compile(rf"^[ \t]*[-*][ \t]+(?P<label>{_WORD})[ \t]*(?:$|[:(–-])", re.MULTILINE)
_NOTHING_ELSE = re.compile(r"\b(?:only|exactly|nothing else|just|single word|one word)\b", re.I)
# The answer then has more than a label, or the label is that of a field.
_MORE_OUTPUT = re.compile(
    r"\b(?:explain|explanation|reasons?|reasoning|justif\w+|why|step by step|think|summar\w+|draft"
    r"|rewrite|translate|tools?|functions?|then (?:write|say|give|answer|reply)|followed by"
    r"|confidence|score|list of|each|every|for all|format:)\b",
    re.IGNORECASE,
)
_NO_LABEL = re.compile(
    r"an?|the|it|this|that|your|only|words?|json|etc|others|more|so|such|similar|text|plain|html"
    r"|markdown|xml|yaml|csv|english|data|code|details?|questions|suggestions|images?|tables?|lists?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Demand:
    """A check, as its keys in a contract, and the words of the prompt that it comes from."""

    check: Mapping[str, Any]
    words: str


def find_demands(text: str) -> tuple[Demand, ...]:
    """Return the checks that the text of a prompt demands, each once."""
    found = [*_json(text)]
    if found:
        return tuple(found)  # labels and lengths are then those of a field
    return (*_labels(text), *_length(text))


def _json(text: str) -> Iterator[Demand]:
    demand = _JSON.search(text)
    if demand is None or _OTHER_JSON.search(text):
        return
    words = _shorten(demand["words"])
    yield Demand({"type": "json_valid", "name": "is JSON"}, words)
    listed = _FIELDS.search(text, demand.start())
    fields = _items(listed["list"]) if listed else []
    if listed and len(fields) > 1:
        check = {"type": "json_required", "fields": fields, "name": "has every field"}
        yield Demand(check, _shorten(listed.group()))


def _labels(text: str) -> Iterator[Demand]:
    found = _BULLETS.search(text) or _LABELS.search(text)
    if found is None:
        return
    if found.re is _BULLETS:
        labels = [match["label"].strip("\"'`") for match in _BULLET.finditer(found["list"])]
        labels *= len(labels) == len(found["list"].strip().splitlines())
    else:
        is_choice = re.search(r"\bone of\b|:\s*$|\sor\s|[/|]", found["words"], re.IGNORECASE)
        labels = _items(found["list"]) if is_choice else []
    line = text[found.start() :].partition("\n\n")[0]
    is_whole = _NOTHING_ELSE.search(line) or not _MORE_OUTPUT.search(text)
    is_list = 1 < len(labels) <= _MOST_LABELS and not any(map(_NO_LABEL.fullmatch, labels))
    if is_whole and is_list:
        yield _label_check(labels, found["words"])


def _label_check(labels: list[str], words: str) -> Demand:
    values = list(dict.fromkeys(labels))
    check = {"type": "enum", "values": values, "ignore_case": True, "name": "is one of the labels"}
    return Demand(check, _shorten(words))


def _length(text: str) -> Iterator[Demand]:
    found = find_length(text)
    if found:
        yield Demand(found.check, _shorten(found.words))


def _items(written: str) -> list[str]:
    """Return the words of a list such as `a, "b" and c`; none if an item is more than a word."""
    parts = re.split(
        r"\s*,\s*(?:(?:or|and)\s+)?|\s+(?:or|and)\s+|\s*/\s*|\s*\|\s*", written.strip()
    )
    words = [part.strip().strip("\"'`() ") for part in parts]
    words = [word for word in words if word]
    return words if all(re.fullmatch(r"[A-Za-z][\w-]*", word) for word in words) else []


def _shorten(words: str) -> str:
    flat = " ".join(words.split())
    return flat if len(flat) <= 60 else f"{flat[:59]}…"
