"""A specification as frozen values, and its file, `NAME.spec.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar

from gatekeeper.contract.syntax.schema_errors import schema_problems
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, parse_yaml
from gatekeeper.contract.syntax.yaml_text import OneLine, write_yaml
from gatekeeper.errors import ContractError, Problem

T = TypeVar("T")
QuestionKind = Literal["ambiguity", "contradiction", "under-specified"]
TestKind = Literal["typical", "boundary", "edge"]
TestCategory = Literal["rule", "inverse_rule", "baseline"]

Lines = tuple[int, ...]
"""Lines of the prompt's file that something is grounded in, counted from 1."""


@dataclass(frozen=True, slots=True)
class InputConstraint:
    """One thing that is true of every valid input."""

    id: str
    text: str
    lines: Lines = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that every output of the prompt has to do. `inverse` is its semantic opposite.
    `check` is the deterministic check that says it, as a contract writes it without a name; None if
    a judge grades the rule."""

    id: str
    text: str
    inverse: str = ""
    lines: Lines = ()
    check: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """Something that the prompt leaves open, for its author to answer."""

    id: str
    kind: QuestionKind
    text: str
    lines: Lines = ()


Item = InputConstraint | Rule | OpenQuestion


@dataclass(frozen=True, slots=True)
class Scenario:
    """A situation that a person names, for which tests are written. `vars` are the values that
    variables have in it."""

    id: str
    text: str
    vars: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metric:
    """What a judge grades besides the rules, by criteria that a person writes."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a person asks for; a run never writes it. `instructions` maps a stage, or `all`, to
    what its model is told besides."""

    scenarios: tuple[Scenario, ...] = ()
    metrics: tuple[Metric, ...] = ()
    instructions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Specification:
    """What a prompt promises. `prompt` is its reference from the specification's folder.

    `made` maps each id that was ever generated, of items and of tests, to the digest of what was
    generated: see merge.py. `wishes` are a person's.
    """

    prompt: str
    intent: str = ""
    input: tuple[InputConstraint, ...] = ()
    rules: tuple[Rule, ...] = ()
    questions: tuple[OpenQuestion, ...] = ()
    made: Mapping[str, str] = field(default_factory=dict)
    wishes: Wishes = Wishes()

    @property
    def ids(self) -> frozenset[str]:
        """Return the ids of all items: no two may be the same, whatever their kind."""
        items: tuple[Item, ...] = (*self.input, *self.rules, *self.questions)
        return frozenset(item.id for item in items)

    @property
    def judged_rules(self) -> tuple[Rule, ...]:
        """Return the rules that a judge grades."""
        return tuple(rule for rule in self.rules if rule.check is None)


@dataclass(frozen=True, slots=True)
class GeneratedTest:
    """One test input for a rule or its inverse; `rule` is the rule's id, empty for a baseline test.
    It has no expected output: only a person knows it."""

    id: str
    rule: str
    category: TestCategory
    kind: TestKind
    scenario: str
    reason: str
    vars: Mapping[str, Any]

    @property
    def fixture(self) -> dict[str, Any]:
        """Return the test as a line of a fixture file. A rule and its inverse share a cluster."""
        own: dict[str, Any] = {"id": self.id, "vars": dict(self.vars), "category": self.category}
        if not self.rule:
            return {**own, "metadata": {"scenario": self.scenario}}
        metadata = {
            "rule": self.rule,
            "kind": self.kind,
            "scenario": self.scenario,
            "reason": self.reason,
        }
        return {**own, "cluster": self.rule, "metadata": metadata}


VERSION = 1
TESTS_ENTRY = ":tests"
"""After the id of a rule: the key of `made` that says what its tests were written for."""
_TEXT = {"type": "string", "minLength": 1}
_ID = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]*$"}
# It is a part of the ids of tests, beside `inverse` and numbers.
_SCENARIO_ID = {"type": "string", "pattern": "^(?!inverse$)[A-Za-z][A-Za-z0-9_-]*$"}
_LINES = {"type": "array", "items": {"type": "integer", "minimum": 1}}


def _items(required: Sequence[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["id", "text", *required],
            "properties": {"id": _ID, "text": _TEXT, "lines": _LINES, **properties},
        },
    }


STAGES = (
    "input_specification",
    "rules",
    "inverse_rules",
    "rule_checks",
    "open_questions",
    "tests",
    "expansion",
    "rating",
)
"""The stages for which a person can write instructions."""
_KIND = {"enum": ["ambiguity", "contradiction", "under-specified"]}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "prompt"],
    "properties": {
        "version": {"enum": [VERSION]},
        "prompt": _TEXT,
        "intent": {"type": "string"},
        "input": _items(()),
        "rules": _items(
            (),
            inverse={"type": "string"},
            check={"type": "object", "minProperties": 1},
            judge={"enum": ["complies"]},
        ),
        "questions": _items(("kind",), kind=_KIND),
        "scenarios": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["id", "text"],
                "properties": {"id": _SCENARIO_ID, "text": _TEXT, "vars": {"type": "object"}},
            },
        },
        "metrics": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["id", "text"],
                "properties": {"id": _ID, "text": _TEXT},
            },
        },
        "instructions": {
            "type": "object",
            "additionalProperties": False,
            "properties": dict.fromkeys(("all", *STAGES), _TEXT),
        },
        "made": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
_HEAD = """\
# What {prompt} promises, written by `gatekeeper generate`. You can edit this file: the next run
# keeps what you changed or added, and does not write again what you removed. Do not edit `made`.
"""
HEAD_LINES = _HEAD.count("\n")


def read_specification(text: str, path: str) -> Specification:
    """Read a specification. Raises ContractError with every problem, each with its line."""
    document = parse_yaml(text, path)
    data = document.data
    problems = schema_problems(document, SCHEMA, data)
    if not problems:
        problems = [*_twice(document, data), *_both(document, data)]
    if problems:
        raise ContractError(problems)
    return Specification(
        prompt=data["prompt"],
        intent=data.get("intent", ""),
        input=_records(InputConstraint, data.get("input", ())),
        rules=_records(Rule, data.get("rules", ())),
        questions=_records(OpenQuestion, data.get("questions", ())),
        made=dict(data.get("made", {})),
        wishes=Wishes(
            _records(Scenario, data.get("scenarios", ())),
            _records(Metric, data.get("metrics", ())),
            dict(data.get("instructions", {})),
        ),
    )


def _records(kind: Callable[..., T], rows: Iterable[Mapping[str, Any]]) -> tuple[T, ...]:
    """Return the rows of a section. A rule without a check is a judge's."""
    return tuple(
        kind(**{n: tuple(v) if n == "lines" else v for n, v in row.items() if n != "judge"})
        for row in rows
    )


def write_specification(specification: Specification) -> str:
    """Return the text of the file."""
    data: dict[str, Any] = {
        "version": VERSION,
        "prompt": specification.prompt,
        "intent": specification.intent,
        "input": list(map(_row, specification.input)),
        "rules": list(map(_row, specification.rules)),
        "questions": list(map(_row, specification.questions)),
        **_wishes(specification.wishes),
        "made": dict(specification.made),
    }
    name = " ".join(specification.prompt.split())
    return f"{_HEAD.format(prompt=name)}{write_yaml(data)}"


def _wishes(wishes: Wishes) -> dict[str, Any]:
    found = {
        "scenarios": list(map(_row, wishes.scenarios)),
        "metrics": list(map(_row, wishes.metrics)),
        "instructions": dict(wishes.instructions),
    }
    return {name: value for name, value in found.items() if value}


def _row(item: Item | Scenario | Metric) -> dict[str, Any]:
    """Return an item as the file has it."""
    row = {field.name: getattr(item, field.name) for field in fields(item)}
    if "lines" in row:
        row["lines"] = OneLine(row["lines"])
    if isinstance(item, Rule):
        del row["check"]
        row |= {"judge": "complies"} if item.check is None else {"check": dict(item.check)}
    if isinstance(item, Scenario):
        row = {**row, "vars": dict(item.vars)} if item.vars else {"id": item.id, "text": item.text}
    return row


def _twice(document: Document, data: Mapping[str, Any]) -> list[Problem]:
    """Return a problem for each id that is there twice."""
    first: dict[str, KeyPath] = {}
    problems = []
    for section in ("input", "rules", "questions", "scenarios", "metrics"):
        for number, row in enumerate(data.get(section, ())):
            key = (section, number, "id")
            other = first.setdefault(row["id"], key)
            if other != key:
                line = document.position(other).line
                what = f"the id `{row['id']}` is already used on line {line}"
                problems.append(document.problem(key, what, "choose another id"))
    return problems


def _both(document: Document, data: Mapping[str, Any]) -> list[Problem]:
    return [
        document.problem(
            ("rules", number), "a rule has both `check` and `judge`", "remove one of them"
        )
        for number, row in enumerate(data.get("rules", ()))
        if "check" in row and "judge" in row
    ]
