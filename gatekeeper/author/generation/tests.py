"""Asks for test inputs of a rule and of its inverse."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from gatekeeper.author.generation.ask import TEXT, Asker, array_schema, object_schema
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt
from gatekeeper.author.specification.records import (
    GeneratedTest,
    InputConstraint,
    Rule,
    Scenario,
    TestCategory,
    TestKind,
)
from gatekeeper.contract.fixtures.near_duplicates import near_duplicates
from gatekeeper.contract.values.definition import Fixture

STAGE = "tests"
KIND: Mapping[str, Any] = {
    "kind": {"type": "string", "enum": list(get_args(TestKind))},
    "scenario": TEXT,
    "reason": TEXT,
}
"""What a model says of each test, as the properties of a JSON Schema."""


async def write_tests(
    asker: Asker,
    prompt: NumberedPrompt,
    constraints: Sequence[InputConstraint],
    rule: Rule,
    count: int,
    scenario: Scenario | None = None,
) -> tuple[GeneratedTest, ...]:
    """Return up to `count` tests of the rule and as many of its inverse, in the scenario if there
    is one. Raises as `Asker.ask` does."""
    data = {
        **prompt.data,
        "input": "\n".join(f"- {constraint.text}" for constraint in constraints),
        "rule": rule.text,
        "inverse": rule.inverse,
    }
    fixed: Mapping[str, Any] = {}
    if scenario is not None:
        fixed = scenario.vars
        data["scenario"] = "\n".join([scenario.text, json.dumps(fixed, ensure_ascii=False)])
    schema = answer_schema(prompt, fixed)
    answer = await asker.ask(STAGE, data, schema, {"count": str(count)})
    made = [
        *_numbered(rule, "rule", answer["rule_tests"][:count], scenario),
        *_numbered(
            rule, "inverse_rule", answer["inverse_tests"][:count] if rule.inverse else (), scenario
        ),
    ]
    return tuple(test for test in made if any(map(says_something, test.vars.values())))


def answer_schema(prompt: NumberedPrompt, fixed: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of an answer. It has no variable that is `fixed`."""
    return schema_with(variables_schema(prompt, fixed or {}))


def schema_with(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an answer. `values` is that of a test's variables."""
    test = object_schema(**KIND, vars=values)
    return object_schema(rule_tests=array_schema(test), inverse_tests=array_schema(test))


def variables_schema(
    prompt: NumberedPrompt, fixed: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the schema of the variables that are not `fixed`: each has the shape in which the
    template reads it."""
    names = [name for name in prompt.variables if name not in (fixed or {})]
    return object_schema(**{name: _shape(prompt.examples[name]) for name in names})


def without_near_duplicates(
    tests: Sequence[GeneratedTest], kept: Sequence[GeneratedTest] = ()
) -> tuple[tuple[GeneratedTest, ...], int]:
    """Return the tests whose inputs differ, and how many were left out. Of several that are nearly
    the same, or the same apart from spaces, the first stays, or one of `kept`."""
    fixtures = [Fixture(f"kept {test.id}", test.vars) for test in kept]
    fixtures += [Fixture(test.id, test.vars) for test in tests]
    groups = near_duplicates(fixtures, {})
    same: set[str] = {name for group in groups for name in group[1:]}
    seen = {input_text(test.vars) for test in kept}
    found = []
    for test in tests:
        text = input_text(test.vars)
        if test.id not in same and text not in seen:
            found.append(test)
        seen.add(text)
    return tuple(found), len(tests) - len(found)


def _numbered(
    rule: Rule,
    category: TestCategory,
    rows: Sequence[Mapping[str, Any]],
    scenario: Scenario | None,
) -> Iterator[GeneratedTest]:
    stem = rule.id if category == "rule" else f"{rule.id}.inverse"
    stem += f".{scenario.id}" if scenario else ""
    fixed = scenario.vars if scenario else {}
    for number, row in enumerate(rows, start=1):
        yield GeneratedTest(
            f"{stem}.{number}",
            rule.id,
            category,
            row["kind"],
            row["scenario"],
            row["reason"],
            {**row["vars"], **fixed},
        )


def _shape(example: Any) -> dict[str, Any]:
    if isinstance(example, dict):
        return object_schema(**{str(name): _shape(value) for name, value in example.items()})
    if isinstance(example, list):
        return array_schema(_shape(example[0]) if example else TEXT)
    return dict(TEXT)


def says_something(value: Any) -> bool:
    """Return whether a variable has a value that is not blank."""
    return bool(value.strip()) if isinstance(value, str) else bool(value)


def input_text(variables: Mapping[str, Any]) -> str:
    """Return the values without differences of spaces."""
    return json.dumps(_single_spaced(variables), sort_keys=True)


def _single_spaced(value: Any) -> Any:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, Mapping):
        return {name: _single_spaced(one) for name, one in value.items()}
    return list(map(_single_spaced, value)) if isinstance(value, list) else value
