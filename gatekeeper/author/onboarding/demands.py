"""Reads what a prompt plainly demands of an answer: JSON, one of several labels, a length.

Only what is written in so many words becomes a check. What is missed here costs a check that a
person adds; what is read wrongly would fail good answers.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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
_OBJECT = re.compile(r"(?P<before>(?:[^{]|\{[{%] ?\w){0,300}?)(?P<open>\{{1,2})(?=\s*\")")
_NO_ANSWER = re.compile(
    r"\b(?:inputs?|given|receives?|tools?|functions?|arguments?|context|history|messages?)\b|\[\s*$",
    re.I,
)
_MOST_OBJECTS = 10
_TOKEN = re.compile(r"\"(?P<text>(?:\\.|[^\"\\\n])*)\"(?P<key>\s*:)?|(?P<mark>[{}\[\]])")
_MOST_OF_OBJECT = 5_000
_OPTIONAL = re.compile(r"\boptional|\bif (?:any|applicable|known|present|there)|\bomit", re.I)
_MARK = r"[ \t]*(?:[-*•]|\d+[.)])"
_ITEMS = rf"(?P<list>(?:{_MARK}[ \t]+[^\n]+(?:\n|$)){{2,30}})"
_FIELDS = re.compile(
    r"\b(?:fields|keys|properties)\b\s*(?:are|named|called)?\s*:?\s+(?P<list>[^\n.;]{3,200})",
    re.IGNORECASE,
)
_LISTED_FIELDS = re.compile(
    r"\b(?:fields|keys|properties|attributes|with|containing)\b[^\n:]{0,60}:[ \t]*\n"
    rf"(?P<list>(?:(?:{_MARK}|[ \t]*(?=[\"`]))[ \t]*[\"'`*]{{0,3}}[A-Za-z]\w*[\"'`*]{{0,3}}"
    r"[ \t]*(?:\([^)\n]*\))?[ \t]*(?:[:–-][^\n]*)?(?:\n|$)){2,40})",
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
    rf"\b(?:one of (?:the following|these)|as|into)[^:\n]{{0,60}}:\s*\n{_ITEMS})",
    re.IGNORECASE | re.MULTILINE,
)
_BULLET = re.compile(
    rf"^{_MARK}[ \t]+\*{{0,2}}(?P<label>{_WORD})\*{{0,2}}[ \t]*(?:$|[:(–—-])", re.MULTILINE
)
# A list of labels, whose demand stands elsewhere: `Answer with the category only.`
_KINDS = r"(?:categor(?:y|ies)|labels?|class(?:es)?|intents?|options?|topics?|sentiments?)"
_NAMED_LIST = re.compile(
    rf"^[^\n:]{{0,60}}\b{_KINDS}\b[^\n:]{{0,30}}:\**[ \t]*\n\n?{_ITEMS}",
    re.IGNORECASE | re.MULTILINE,
)
_THE_LABEL = re.compile(
    rf"{_START}(?P<words>{_ANSWER}\b[^.;:!?\n{{}}]{{0,60}}?\b(?:{_KINDS}|one word|a single word)\b"
    r"[^.;:!?\n{}]{0,20})",
    re.IGNORECASE | re.MULTILINE,
)
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
    shown = _example(text, demand.end()) if demand else ()
    # The fence around an example is that of the answer, which a repair takes away.
    if demand is None or _OTHER_JSON.search(text.replace("```", "") if shown else text):
        return
    words = _shorten(demand["words"])
    yield Demand({"type": "json_valid", "name": "is JSON"}, words)
    listed = _LISTED_FIELDS.search(text, demand.start()) or _FIELDS.search(text, demand.start())
    fields = _listed(listed) if listed else []
    source = listed.group() if len(fields) > 1 and listed else f"{demand['words']} {{…}}"
    fields = fields if len(fields) > 1 else [*shown]
    if fields:
        check = {"type": "json_required", "fields": fields, "name": "has every field"}
        yield Demand(check, _shorten(source))


def _listed(found: re.Match[str]) -> list[str]:
    """Return the fields of a list, one in a line or one after the other; not the optional ones."""
    if found.re is _FIELDS:
        return _items(found["list"])
    lines = [line for line in found["list"].splitlines() if not _OPTIONAL.search(line)]
    return [name.group() for line in lines if (name := re.search(r"[A-Za-z]\w*", line))]


def _example(text: str, start: int) -> Sequence[str]:
    """Return the keys that each example of the answer has: of the first object after a demand, and
    of later ones that are like it. A list, a schema, an input, and an object with an optional key
    show none."""
    keys: dict[str, None] = {}
    for _ in range(_MOST_OBJECTS):
        found = _OBJECT.match(text, start)
        if found is None or (not keys and _NO_ANSWER.search(found["before"])):
            break
        inside = text[found.start("open") : found.start("open") + _MOST_OF_OBJECT]
        if found["open"] == "{{":  # as a format string writes a brace
            inside = inside.replace("{{", "{ ").replace("}}", "} ")
        own, length = _keys(inside)
        if not keys or keys.keys() & own.keys():
            keys = {key: None for key in keys or own if key in own}
        start = found.start("open") + length
    return [*keys]


def _keys(text: str) -> tuple[dict[str, None], int]:
    """Return the outermost keys of the object at the start and its length; none if it does not
    end."""
    depth, found = 0, dict[str, None]()
    for token in _TOKEN.finditer(text):
        if token["mark"]:
            depth += 1 if token["mark"] in "{[" else -1
        elif token["key"] and depth == 1:
            found[token["text"]] = None
        if depth == 0:
            plain = "properties" not in found and not _OPTIONAL.search(text[: token.end()])
            return found if plain else {}, token.end()
    return {}, len(text)


def _labels(text: str) -> Iterator[Demand]:
    answer, named = _THE_LABEL.search(text), _NAMED_LIST.search(text)
    found = _BULLETS.search(text) or _LABELS.search(text) or (answer and named)
    if found is None:
        return
    if found.re in (_BULLETS, _NAMED_LIST):
        labels = [match["label"].strip("\"'`") for match in _BULLET.finditer(found["list"])]
        labels *= len(labels) == len(found["list"].strip().splitlines())
    else:
        is_choice = re.search(r"\bone of\b|:\s*$|\sor\s|[/|]", found["words"], re.IGNORECASE)
        labels = _items(found["list"]) if is_choice else []
    start = answer if answer and found is named else found
    line = text[start.start() :].strip().partition("\n\n")[0]
    is_whole = _NOTHING_ELSE.search(line) or not _MORE_OUTPUT.search(text)
    is_list = 1 < len(labels) <= _MOST_LABELS and not any(map(_NO_LABEL.fullmatch, labels))
    if is_whole and is_list:
        yield _label_check(labels, start["words"])


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
