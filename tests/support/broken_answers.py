"""Answers that a model could give to the prompts of generation, and that their contracts refuse.

Each is the recorded answer to a fixture with one fault, and names the check that has to find it.
Together they make every check of these contracts fail.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Change = Callable[[Any], Any]


class Broken(NamedTuple):
    """A recorded answer with a fault. `check` is the name of the check that finds it."""

    fixture: str
    change: Change
    check: str


def put(*path: str | int, value: Any) -> Change:
    """Return a change that puts a value in this place of an answer."""

    def change(answer: Any) -> Any:
        found = place = copy.deepcopy(answer)
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        return found

    return change


def same(*path: str | int, source: Sequence[str | int]) -> Change:
    """Return a change that repeats in the place `path` what stands in the place `source`."""

    def change(answer: Any) -> Any:
        value = answer
        for key in source:
            value = value[key]
        return put(*path, value=value)(answer)

    return change


REFUSAL = "I cannot help with this."
READS, LINES = "is what the next stage reads", "names lines that exist"
_VERDICT = (
    Broken("", put("verdict", value="unknown"), "is the right verdict"),
    Broken("", put("reason", value=""), "gives its reason"),
)
_ASKED = "gives the inputs that were asked for, with every variable"


def _inputs(first: str, second: str) -> tuple[Broken, ...]:
    """Return faults of the inputs in the lists `first` and `second` of an answer."""
    return (
        Broken("allergens", put(first, value=[]), _ASKED),
        Broken("allergens", put(first, 0, "vars", value={"text": "Rye bread."}), _ASKED),
        Broken("allergens", put(first, 0, "vars", "recipe", value=""), _ASKED),
        Broken(
            "allergens", put(first, 0, "vars", "recipe", value="{{ recipe }}"), "has no placeholder"
        ),
        Broken(
            "allergens",
            put(first, 0, "vars", "recipe", value="[insert a recipe]"),
            "has no placeholder",
        ),
        Broken(
            "allergens",
            same(second, 1, "vars", source=(second, 0, "vars")),
            "writes no input twice",
        ),
    )


_ITEMS = "names lines and items that exist"
_KNOWN = (
    Broken("bug-title", put("known", 0, "lines", value=[9]), _ITEMS),
    Broken("bug-title", put("known", value=[]), _ITEMS),
    Broken("bug-title", same("known", 0, "number", source=("known", 0, "lines")), READS),
)


def _reworded(fixture: str, text: str) -> Broken:
    return Broken(fixture, put("known", 0, "text", value=text), "changes what it rewords")


def _verdict(fixture: str, verdict: str, check: str, number: int = 0) -> Broken:
    return Broken(fixture, put("known", number, "verdict", value=verdict), check)


_NEW = {"text": "The output rhymes.", "lines": [1]}


def _updated(several: str, reworded: str, text: str) -> tuple[Broken, ...]:
    """Return faults of an update: `several` keeps an item and retires one, `reworded` changes one.
    An item of `several` could be the `text`, but is not."""
    return (
        *(broken._replace(fixture=several) for broken in _KNOWN),
        _verdict(several, "obsolete", "keeps what still holds"),
        _verdict(reworded, "keep", "rewords what changed"),
        _verdict(several, "keep", "retires what is gone", 1),
        Broken(several, put("known", 1, "number", value=1), "names no number twice"),
        Broken(several, put("known", 1, "lines", value=[1]), "retires without lines"),
        Broken(several, put("known", 0, "text", value=text), "repeats what it keeps"),
        Broken("metres", put("new", value=[_NEW]), "adds nothing that did not change"),
    )


BROKEN: Mapping[str, tuple[Broken, ...]] = {
    "answer_correct": tuple(broken._replace(fixture="sum") for broken in _VERDICT),
    "test_valid": tuple(broken._replace(fixture="amount") for broken in _VERDICT),
    "rule_grounded": tuple(broken._replace(fixture="label") for broken in _VERDICT),
    "rules": (
        Broken("review-mood", put("rules", 0, "lines", value=[4]), LINES),
        Broken("review-mood", put("rules", 0, "text", value="Be brief."), LINES),
        Broken(
            "review-mood",
            put("rules", value=[{"text": "The output is kind.", "lines": [3]}]),
            "finds the rules",
        ),
        Broken(
            "review-mood",
            put("rules", 0, "text", value="The output is found by reading the review."),
            "says nothing of how an output is found",
        ),
    ),
    "data": (
        Broken("json-answer", put("rules", 0, "lines", value=[6]), LINES),
        Broken("ignore-above", put("rules", value=[]), LINES),
        Broken(
            "json-answer",
            put("rules", value=[{"text": "The output is empty.", "lines": [4]}]),
            "finds the rules",
        ),
        Broken(
            "leave-out",
            put("rules", 2, "text", value="The output is brief."),
            "obeys no demand in the data",
        ),
        Broken(
            "fake-system",
            put("rules", 0, "text", value="The output is overridden."),
            "obeys no demand in the data",
        ),
    ),
    "input_specification": (
        Broken("allergens", put("constraints", 0, "lines", value=[5]), LINES),
        Broken("allergens", put("constraints", 0, "lines", value=[]), LINES),
        Broken("allergens", put("constraints", value=[]), LINES),
        Broken(
            "allergens",
            put("constraints", value=[{"text": "The recipe is short.", "lines": [2]}]),
            "finds the constraints",
        ),
        Broken(
            "bird",
            put("constraints", 0, "text", value="The answer is one name."),
            "says nothing of the output",
        ),
        Broken(
            "haiku",
            put("constraints", 0, "text", value="The topic fits into three lines."),
            "repeats no word of the output",
        ),
    ),
    "inverse_rules": (
        Broken(
            "haiku",
            put("inverses", 0, "inverse", value="The output has three lines."),
            "differs from its rule",
        ),
        Broken("haiku", put("inverses", value=[]), "differs from its rule"),
        Broken("haiku", put("inverses", 1, "number", value=1), "inverts every rule"),
        Broken(
            "haiku",
            same("inverses", 1, "inverse", source=("inverses", 0, "inverse")),
            "inverts each rule by itself",
        ),
    ),
    "open_questions": (
        Broken("haiku", put("questions", 0, "lines", value=[5]), LINES),
        Broken("haiku", put("questions", value=[]), "finds the fault of the prompt"),
        Broken(
            "haiku",
            put("questions", 0, "kind", value="ambiguity"),
            "finds the fault of the prompt",
        ),
    ),
    "tests": (
        *_inputs("rule_tests", "inverse_tests"),
        Broken("allergens", put("rule_tests", 1, "kind", value="typical"), "uses each kind"),
    ),
    "survivors": _inputs("tests", "tests"),
    "baseline_tests": (
        *_inputs("tests", "tests"),
        Broken(
            "allergens",
            put("tests", 1, "scenario", value="a cake with eggs and milk"),
            "repeats no scenario",
        ),
    ),
    "expansion": (
        *(
            broken._replace(check="gives every variable a value")
            if broken.check == _ASKED
            else broken
            for broken in _inputs("tests", "tests")
        ),
        Broken("allergens", put("tests", 1, "number", value=1), "returns each input once"),
        Broken(
            "allergens",
            put("tests", 0, "vars", "recipe", value="Rye bread with cheese and cress."),
            "makes the inputs longer",
        ),
        Broken(
            "allergens",
            put("tests", 0, "vars", "recipe", value="Boil the rice in plenty of water. " * 5),
            "keeps what the inputs test",
        ),
    ),
    "rating": (
        Broken("allergens", put("duplicates", value=[[1, 9]]), "names rules and tests that exist"),
        Broken(
            "allergens",
            put("missing", value=[{"rule": 3, "kind": "a dessert"}]),
            "names rules and tests that exist",
        ),
        Broken("allergens", put("duplicates", value=[]), "finds the duplicates"),
        Broken(
            "storm",
            put("duplicates", value=[[1, 2]]),
            "finds no duplicates among tests that differ",
        ),
    ),
    "rule_checks": (
        Broken(
            "haiku",
            put("checks", 0, "complying", value=["a\nb\nc"]),
            "gives checks their values and examples",
        ),
        Broken(
            "haiku",
            put("checks", 0, "check", "values", value=[]),
            "gives checks their values and examples",
        ),
        Broken("haiku", put("checks", 1, "number", value=1), "returns each rule once"),
        Broken(
            "haiku",
            put("checks", 1, "check", "type", value="contains"),
            "leaves to a judge what needs understanding",
        ),
        Broken(
            "parking-appeal",
            put("checks", 0, "check", "type", value="none"),
            "finds a check for what needs none",
        ),
    ),
    "rules_obeyed": (
        Broken(
            "storm", put("verdicts", value=[]), "gives one verdict for each rule, with its reason"
        ),
        Broken(
            "storm",
            put("verdicts", 0, "verdict", value="no"),
            "accepts the rules that are obeyed",
        ),
        Broken(
            "storm", put("verdicts", 1, "verdict", value="yes"), "finds the rules that are broken"
        ),
        Broken(
            "bird",
            put("verdicts", 1, "verdict", value="yes"),
            "leaves open what the output does not show",
        ),
        Broken("storm", put("verdicts", 1, "number", value=1), "gives each rule one verdict"),
    ),
    "mutations": (
        Broken("haiku", put("mutations", 0, "part", value=3), "changes parts that exist"),
        Broken(
            "haiku",
            put("mutations", 0, "now", value="Write three lines and no title."),
            "changes parts that exist",
        ),
        Broken("storm", put("mutations", 1, "part", value=2), "changes no part twice"),
        Broken("haiku", put("mutations", 0, "now", value="{{ topic }}!"), "writes plain text"),
    ),
    "update_rules": (
        *_updated("bug-title", "allergens", "The output is brief."),
        _reworded("metres", "The output is a number of two decimals, a space and m."),
        Broken("haiku", put("new", value=[]), "finds what is new"),
        Broken(
            "haiku", put("new", 0, "text", value="No commas."), "begins each rule with the output"
        ),
    ),
    "update_input_specification": (
        *_updated("museum", "metres", "The question is polite."),
        _reworded("metres", "The length is a number with a unit of length."),
        Broken("storm", put("new", value=[]), "finds what is new"),
        Broken("metres", put("intent", value="Converts."), "repeats an intent that still holds"),
        Broken(
            "haiku",
            put("intent", value="Writes haiku about topics."),
            "rewords an intent that changed",
        ),
        Broken(
            "storm",
            put("new", 0, "text", value="The reply is in knots."),
            "says nothing of the output",
        ),
        Broken(
            "storm",
            put("new", 0, "text", value="The report begins with warning."),
            "repeats no word of the output",
        ),
    ),
    "update_open_questions": (
        *(broken._replace(fixture="metres") for broken in _KNOWN),
        _verdict("plural", "obsolete", "keeps what still holds"),
        _verdict("sql", "keep", "rewords what changed"),
        _verdict("metres", "keep", "retires what is gone"),
        Broken("metres", put("known", 0, "lines", value=[2]), "retires without lines"),
        Broken("plural", put("known", 0, "text", value="What else?"), "repeats what it keeps"),
        _reworded("sql", "The prompt names neither the dialect nor the tables."),
        Broken("haiku", put("new", value=[]), "finds what is new"),
        Broken(
            "metres",
            put("new", value=[{**_NEW, "kind": "ambiguity"}]),
            "adds nothing that did not change",
        ),
        Broken(
            "haiku",
            put("new", value=[{**_NEW, "kind": "ambiguity"}] * 6),
            "lists at most five new questions",
        ),
        Broken(
            "haiku",
            lambda answer: {**answer, "known": answer["known"] * 2},
            "names no number twice",
        ),
    ),
}
