"""The parts of a specification as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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
