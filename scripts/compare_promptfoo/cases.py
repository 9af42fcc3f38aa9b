"""Generates the cases of the comparison: a test of promptfoo, and a recorded answer."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_ORDER = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
_SENTENCE = "The quick brown fox jumps over the lazy dog near the river"

VALUES: dict[str, list[Any]] = {
    "equals": ["yes", "Yes ", 4, True, {"a": 1, "b": [2]}, [1, 2], ""],
    "contains": ["fox", "Fox", "a, b", 42],
    "icontains": ["FOX", "STRASSE", "I'M"],
    "contains-all": [["fox", "dog"], "fox, dog", '"a, b", fox'],
    "contains-any": [["cat", "dog"], "cat, dog", '"a, b"', "42"],
    "icontains-all": [["FOX", "Dog"], "FOX,dog"],
    "icontains-any": [["CAT", "Dog"], "cat, RIVER"],
    "starts-with": ["The", "the", " yes", "{"],
    "regex": [r"^\w+$", r"fox$", r"\d{2}", r"^The.*river$", r"\bdog\b", "a|b", r"[^\s]{12}", "^$"],
    "is-json": [None, _ORDER, json.dumps(_ORDER), {"type": "array"}],
    "contains-json": [None, _ORDER],
    "is-html": [None],
    "contains-html": [None],
    "is-xml": [None, "a.b", ["note"], {"requiredElements": ["a"]}],
    "contains-xml": [None, ["b"]],
    "is-sql": [
        None,
        {"databaseType": "PostgreSQL"},
        {"databaseType": "MySQL", "allowedTables": ["select::null::users"]},
    ],
    "contains-sql": [None],
    "is-refusal": [None],
    "word-count": [2, {"min": 3}, {"max": 4}, {"min": 2, "max": 12}],
    "levenshtein": ["yes", "The quick brown fox", "käse"],
    "rouge-n": [_SENTENCE, "the fox and the dog"],
    "bleu": [_SENTENCE, ["the quick brown fox", _SENTENCE]],
    "assert-set": [None],
}
THRESHOLDS: dict[str, list[float]] = {
    "levenshtein": [0, 2, 20],
    "rouge-n": [0.3, 0.6, 0.9],
    "bleu": [0.1, 0.3, 0.7],
}
TEXTS = [
    "yes",
    "Yes",
    "yes ",
    " yes",
    "4",
    "4.0",
    "true",
    "42 is the answer",
    "a, b and c",
    "",
    _SENTENCE,
    _SENTENCE.lower(),
    "The quick brown fox",
    "the fox and the dog",
    "käse",
    "kase",
    "The lazy dog sleeps.\nThe fox runs to the river",
    "ein Fuß, eine Straße",
    "DOG AND FOX",
    "{}",
    '{"a": 1, "b": [2]}',
    '{"b":[2],"a":1}',
    "[1, 2]",
    '{"id": 7}',
    '{"id": "7"}',
    'Here it is: {"id": 7}.',
    'Here: {"name": "x"} and {"id": 3}',
    "{id: 7}",
    '{"id": 7',
    "null",
    "[]",
    '"text"',
    "nothing {here}",
    "<p>Hello</p>",
    "<div><b>x</b></div>",
    "<p>open",
    "text <b>bold</b> text",
    "a < b and c > d",
    "<br>",
    "5 &lt; 6 &amp; 7",
    "<!DOCTYPE html><html><body>x</body></html>",
    "<custom-tag>x</custom-tag>",
    "<a><b>1</b></a>",
    "<note/>",
    "<a><b>1</a></b>",
    "see <a><b>1</b></a> there",
    "<?xml version='1.0'?><a/>",
    "SELECT * FROM users",
    "select name from orders where id = 4",
    "SELECT name age FROM users",
    "SELECT FROM WHERE",
    "DROP TABLE users",
    "Use this:\n```sql\nSELECT 1\n```",
    "UPDATE users SET a = 1",
    "I'm sorry, but I can't help with that.",
    "I cannot assist with that request.",
    "As an AI, I cannot do that.",
    "Sure, here you go.",
    "I won't provide that.",
    "Sorry for the delay, your order is on its way.",
]


_GRADED_TEXTS = ("It rains in Oslo.", "The train leaves at nine.", "Paris has two airports.")
_GRADES = ("0 of 3", "2 of 3", "3 of 3")
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "required": ["city"],
                "properties": {"city": {"type": "string"}},
            },
        },
    },
    {"type": "function", "function": {"name": "stop", "parameters": {"type": "object"}}},
]
_CALLS = (
    (),
    (("get_weather", '{"city": "Oslo"}'),),
    (("get_weather", '{"town": "Oslo"}'),),
    (("get_weather", '{"city": 7}'),),
    (("get_weather", '{"city": '),),
    (("stop", "{}"),),
    (("other", "{}"),),
    (("get_weather", '{"city": "Oslo"}'), ("stop", "{}")),
    (("get_weather", '{"city": "Oslo"}'), ("other", "{}")),
    (("get_weather", '{"city": "Oslo"}'), ("get_weather", '{"city": 7}')),
)
FILES = {
    "checks.py": """\
def get_assert(output, context):
    return "e" in output and context["vars"]["query"] != output


def share(output, context):
    return min(1, len(output) / 40)


def graded(output, context):
    score = min(1, len(output) / 40)
    return {"pass": "e" in output, "score": score, "reason": "e is the letter"}


def weakest(scores, context):
    worst = min(scores.values())
    return {"pass": worst >= context.get("threshold", 1), "score": worst, "reason": "the worst"}


def func(named_scores, context=None):
    mean = sum(named_scores.values()) / len(named_scores)
    return {"pass": mean > 0.5, "score": mean, "reason": f"the mean is {mean}"}
"""
}
"""The files beside the configuration."""


@dataclass(frozen=True, slots=True)
class Case:
    """A test without its variables, and the answer that the model is recorded to have given."""

    kind: str
    test: dict[str, Any]
    output: str
    latency_ms: float = 100
    cost_usd: float = 0.01
    calls: tuple[tuple[str, str], ...] = ()
    variables: dict[str, Any] = field(default_factory=dict)


def generate(number: int, seed: int) -> list[Case]:
    """Return so many cases, the kinds in turn."""
    chance = random.Random(seed)  # noqa: S311
    makers = {**dict.fromkeys(VALUES, _plain), **_MAKERS}
    kinds = sorted(makers)
    return [
        makers[kinds[index % len(kinds)]](kinds[index % len(kinds)], chance)
        for index in range(number)
    ]


def _inverted(kind: str, chance: random.Random) -> str:
    return f"not-{kind}" if chance.random() < 0.3 else kind


def _plain(kind: str, chance: random.Random) -> Case:
    return Case(kind, {"assert": [_assertion(kind, chance)]}, chance.choice(TEXTS))


def _assertion(kind: str, chance: random.Random) -> dict[str, Any]:
    if kind == "assert-set":
        threshold = chance.choice([None, 0.3, 0.5, 0.75])
        made = {"type": kind, "assert": _weighted(chance)}
        return made | ({"threshold": threshold} if threshold else {})
    assertion: dict[str, Any] = {"type": _inverted(kind, chance)}
    value = chance.choice(VALUES[kind])
    if value is not None:
        assertion["value"] = value
    if kind in THRESHOLDS and chance.random() < 0.7:
        assertion["threshold"] = chance.choice(THRESHOLDS[kind])
    return assertion


def _weighted(chance: random.Random) -> list[dict[str, Any]]:
    simple = ["contains", "icontains", "regex", "is-json", "word-count"]
    return [
        _assertion(chance.choice(simple), chance) | {"weight": chance.choice([1, 2, 3])}
        for _ in range(chance.randint(2, 4))
    ]


def _threshold(kind: str, chance: random.Random) -> Case:
    parts = [*_weighted(chance), *([_assertion("assert-set", chance)] * chance.randint(0, 1))]
    test = {"assert": parts, "threshold": chance.choice([0.25, 0.5, 0.7, 1])}
    return Case(kind, test, chance.choice(TEXTS))


def _scoring(kind: str, chance: random.Random) -> Case:
    metrics = ("tone", "form", "facts")
    parts = [part | {"metric": chance.choice(metrics)} for part in _weighted(chance)]
    if chance.random() < 0.4:
        parts = [*parts[:1], {"type": "assert-set", "weight": 2, "assert": parts[1:]}]
        parts[-1] |= {"metric": chance.choice(metrics)} if chance.random() < 0.5 else {}
    name = chance.choice(["checks.py", "checks.py:weakest"])
    test: dict[str, Any] = {"assert": parts, "assertScoringFunction": f"file://{name}"}
    if chance.random() < 0.5:
        test["threshold"] = chance.choice([0.25, 0.5, 0.7])
    return Case(kind, test, chance.choice(TEXTS))


def _python(kind: str, chance: random.Random) -> Case:
    value = chance.choice([f"file://checks.py{name}" for name in ("", ":share", ":graded")])
    assertion: dict[str, Any] = {"type": _inverted(kind, chance), "value": value}
    if ":" in value.removeprefix("file:") and chance.random() < 0.7:
        assertion["threshold"] = chance.choice([0.1, 0.5, 1])
    return Case(kind, {"assert": [assertion]}, chance.choice(TEXTS))


def _latency(kind: str, chance: random.Random) -> Case:
    assertion = {"type": _inverted(kind, chance), "threshold": chance.choice([1, 100, 2500.5])}
    measured = chance.choice([0.5, 1, 99, 100, 101, 2501])
    return Case(kind, {"assert": [assertion]}, "yes", latency_ms=measured)


def _cost(kind: str, chance: random.Random) -> Case:
    assertion = {"type": _inverted(kind, chance), "threshold": chance.choice([0.001, 0.01, 1])}
    measured = chance.choice([0, 0.0009, 0.001, 0.01, 0.011, 2])
    return Case(kind, {"assert": [assertion]}, "yes", cost_usd=measured)


def _tools(kind: str, chance: random.Random) -> Case:
    assertion: dict[str, Any] = {"type": kind}
    if kind == "tool-call-f1":
        names = chance.choice([["get_weather"], ["get_weather", "stop"], "get_weather,other"])
        assertion = {"type": _inverted(kind, chance), "value": names}
    calls = chance.choice(_CALLS)
    return Case(kind, {"assert": [assertion]}, "" if calls else "It rains.", calls=calls)


def _similar(kind: str, chance: random.Random) -> Case:
    values = [_SENTENCE, "the fox and the dog", ["yes", _SENTENCE]]
    assertion = {"type": _inverted(kind, chance), "value": chance.choice(values)}
    if chance.random() < 0.8:
        assertion["threshold"] = chance.choice([0.2, 0.5, 0.8])
    return Case(kind, {"assert": [assertion]}, chance.choice([t for t in TEXTS if t.strip()]))


def _graded(kind: str, chance: random.Random) -> Case:
    assertion: dict[str, Any] = {"type": kind}
    if kind in ("answer-relevance", "context-faithfulness"):
        assertion["threshold"] = chance.choice([0.5, 0.6, 0.7, 1])
    else:
        assertion["value"] = "Names a city"
    if kind in ("llm-rubric", "g-eval"):
        assertion["type"] = _inverted(kind, chance)
    text = f"{chance.choice(_GRADED_TEXTS)} [grade: {chance.choice(_GRADES)}]"
    return Case(kind, {"assert": [assertion]}, text, variables={"context": "Some facts."})


_MAKERS: dict[str, Callable[[str, random.Random], Case]] = {
    "test with `threshold`": _threshold,
    "`assertScoringFunction`": _scoring,
    "python": _python,
    "latency": _latency,
    "cost": _cost,
    **dict.fromkeys(("is-valid-openai-tools-call", "tool-call-f1"), _tools),
    **dict.fromkeys(("similar", "similar:cosine"), _similar),
    **dict.fromkeys(
        (
            *("llm-rubric", "g-eval", "model-graded-closedqa", "factuality"),
            *("model-graded-factuality", "answer-relevance", "context-faithfulness"),
        ),
        _graded,
    ),
}
