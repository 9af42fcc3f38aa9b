"""Asks for test inputs of each rule and of its inverse, and improves the collection as far as the
effort of a run goes: drops tests with the same intent, adds missing kinds, and makes inputs longer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gatekeeper.author.generation.ask import Asker, ask_together
from gatekeeper.author.generation.items import numbered_rules
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt, Row
from gatekeeper.author.specification.spec_file import (
    GeneratedTest,
    InputConstraint,
    Rule,
    Scenario,
    TestCategory,
)
from gatekeeper.contract.fixtures.near_duplicates import near_duplicates
from gatekeeper.contract.values.definition import Fixture
from gatekeeper.numbers import count


@dataclass(frozen=True, slots=True)
class Effort:
    """What a level of effort means. `rates` has a model review the whole collection: tests with
    the same intent are dropped, and missing kinds are written. `expands` makes inputs longer."""

    tests_per_rule: int
    rates: bool = False
    expands: bool = False

    def calls(self, rules: int, scenarios: int) -> int:
        """Return the fewest calls that write and improve the tests of so many rules."""
        return rules * ((scenarios or 1) + self.expands) + self.rates

    def is_less_than(self, other: Effort) -> bool:
        """Return whether this effort does less than the other, and nothing that the other does
        not."""
        pairs = (
            (self.tests_per_rule, other.tests_per_rule),
            (self.rates, other.rates),
            (self.expands, other.expands),
        )
        return self != other and all(mine <= theirs for mine, theirs in pairs)


EFFORTS: Mapping[str, Effort] = {
    "min": Effort(1),
    "low": Effort(3),
    "medium": Effort(3, rates=True),
    "high": Effort(5, rates=True, expands=True),
}
DEFAULT_EFFORT = "low"
MOST_BASELINE_TESTS = 200
"""That one run writes."""


def without_near_duplicates(
    tests: Sequence[Row], kept: Sequence[Row] = ()
) -> tuple[tuple[Row, ...], int]:
    """Return the tests whose inputs differ, and how many were left out. Of several that are nearly
    the same, or the same apart from spaces, the first stays, or one of `kept`."""
    every = [*kept, *tests]
    fixtures = [Fixture(str(place), test.vars) for place, test in enumerate(every)]
    same = {int(name) for group in near_duplicates(fixtures, {}) for name in group[1:]}
    seen: set[str] = set()
    found = []
    for place, test in enumerate(every):
        text = input_text(test.vars)
        if place >= len(kept) and place not in same and text not in seen:
            found.append(test)
        seen.add(text)
    return tuple(found), len(tests) - len(found)


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


MOST_MISSING = 10
_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Writer:
    """What all stages about tests need: who is asked, about which prompt, input, rules and
    scenarios, with which effort."""

    asker: Asker
    prompt: NumberedPrompt
    constraints: Sequence[InputConstraint]
    rules: Sequence[Rule]
    effort: Effort
    scenarios: Sequence[Scenario] = ()

    async def write(self) -> list[GeneratedTest]:
        """Return tests of every rule, in every scenario. Raises as `Asker.ask` does."""
        scenarios: Sequence[Scenario | None] = self.scenarios or (None,)
        number = self.effort.tests_per_rule
        return await self._write_each(
            (rule, number, scenario) for rule in self.rules for scenario in scenarios
        )

    async def _write_each(
        self, wanted: Iterable[tuple[Rule, int, Scenario | None]]
    ) -> list[GeneratedTest]:
        written = await ask_together(*(self.write_tests(*one) for one in wanted))
        return [test for tests in written for test in tests]

    async def write_tests(
        self, rule: Rule, count: int, scenario: Scenario | None = None
    ) -> tuple[GeneratedTest, ...]:
        """Return up to `count` tests of the rule and as many of its inverse, in the scenario if
        there is one. Raises as `Asker.ask` does."""
        data = {**self._data(rule), "inverse": rule.inverse}
        fixed = scenario.vars if scenario else {}
        if scenario:
            data["scenario"] = "\n".join([scenario.text, json.dumps(fixed, ensure_ascii=False)])
        values = self.prompt.values_schema(fixed)
        answer = await self.asker.ask("tests", data, {"count": str(count)}, values=values)
        of_rule, of_inverse = answer["rule_tests"][:count], answer["inverse_tests"][:count]
        made = [*_numbered(rule, "rule", of_rule, scenario)]
        if rule.inverse:
            made += _numbered(rule, "inverse_rule", of_inverse, scenario)
        return tuple(test for test in made if any(map(says_something, test.vars.values())))

    def _data(self, rule: Rule) -> dict[str, str]:
        """Return what a question about tests of a rule shows."""
        input_ = "\n".join(f"- {constraint.text}" for constraint in self.constraints)
        return {**self.prompt.data, "input": input_, "rule": rule.text}

    async def improve(
        self, tests: Sequence[GeneratedTest]
    ) -> tuple[list[GeneratedTest], list[str]]:
        """Return the tests after the steps of the effort, and sentences about them. Raises as
        `Asker.ask` does."""
        found = list(tests)
        said: list[str] = []
        if self.effort.rates and found:
            found, said = await self._rate(found)
        if self.effort.expands and found:
            found, longer = await self._expand(found)
            said.append(f"{count(longer, 'test')} made longer")
        return found, said

    async def _rate(self, tests: list[GeneratedTest]) -> tuple[list[GeneratedTest], list[str]]:
        numbers = {rule.id: number for number, rule in enumerate(self.rules, start=1)}
        listed = "\n".join(
            f"{number}. rule {numbers.get(test.rule, 0)}, {test.category}, {test.kind}: "
            f"{_short(test.vars)}"
            for number, test in enumerate(tests, start=1)
        )
        data = {**self.prompt.data, "rules": numbered_rules(self.rules), "tests": listed}
        answer = await self.asker.ask("rating", data)
        again = _duplicates(answer["duplicates"], tests)
        kept = [test for number, test in enumerate(tests, start=1) if number not in again]
        wanted = [row for row in answer["missing"] if 1 <= row["rule"] <= len(self.rules)]
        missing = await self._write_each(
            (self.rules[row["rule"] - 1], 1, self._missing_scenario(number, row["kind"]))
            for number, row in enumerate(wanted[:MOST_MISSING], start=1)
        )
        taken = {test.id for test in kept}
        more = [test for test in missing if test.id not in taken]
        said = []
        if again:
            said.append(
                f"{count(len(again), 'test')} left out, because another test has the same intent"
            )
        if more:
            said.append(f"{count(len(more), 'test')} added, because a kind of test was missing")
        return [*kept, *more], said

    def _missing_scenario(self, number: int, kind: str) -> Scenario:
        """Return the scenario of a missing kind: a case of a person's scenario if there is one."""
        name = f"missing-{number}"
        if not self.scenarios:
            return Scenario(name, kind)
        within = self.scenarios[(number - 1) % len(self.scenarios)]
        return Scenario(f"{within.id}.{name}", f"{within.text}\n{kind}", within.vars)

    async def _expand(self, tests: list[GeneratedTest]) -> tuple[list[GeneratedTest], int]:
        """Return the tests with longer inputs, and how many changed."""
        by_rule = ((r, [test for test in tests if test.rule == r.id]) for r in self.rules)
        expanded = await ask_together(*(self._longer(r, own) for r, own in by_rule if own))
        longer = {test.id: test for group in expanded for test in group}
        changed = sum(1 for test in tests if longer.get(test.id, test) != test)
        return [longer.get(test.id, test) for test in tests], changed

    async def _longer(self, rule: Rule, tests: Sequence[GeneratedTest]) -> list[GeneratedTest]:
        data = {
            **self._data(rule),
            "tests": "\n".join(
                f"{number}. {json.dumps(test.vars, ensure_ascii=False)}"
                for number, test in enumerate(tests, start=1)
            ),
        }
        answer = await self.asker.ask("expansion", data, values=self.prompt.values_schema())
        found = {row["number"]: row["vars"] for row in answer["tests"]}
        return [
            self._replaced(test, found.get(number)) for number, test in enumerate(tests, start=1)
        ]

    def _replaced(self, test: GeneratedTest, found: Mapping[str, Any] | None) -> GeneratedTest:
        """Return the test with the new values if they say more. What a scenario gave stays."""
        if found is None:
            return test
        fixed = (one.vars for one in self.scenarios if f".{one.id}." in test.id)
        values = {**found, **{name: value for known in fixed for name, value in known.items()}}
        return replace(test, vars=values) if _is_longer(values, test) else test


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
        kind, where, reason = row["kind"], row["scenario"], row["reason"]
        values = {**row["vars"], **fixed}
        yield GeneratedTest(f"{stem}.{number}", rule.id, category, kind, where, reason, values)


def _duplicates(groups: Sequence[Sequence[int]], tests: Sequence[GeneratedTest]) -> set[int]:
    """Return the numbers of the tests to leave out. A group counts only for tests of one rule, or
    of one inverse, and its first test stays."""
    again: set[int] = set()
    for group in groups:
        numbers = sorted({number for number in group if 1 <= number <= len(tests)})
        by_rule: dict[tuple[str, str], int] = {}
        for number in numbers:
            test = tests[number - 1]
            first = by_rule.setdefault((test.rule, test.category), number)
            if first != number:
                again.add(number)
    return again


def _is_longer(found: Mapping[str, Any], test: GeneratedTest) -> bool:
    if not any(map(says_something, found.values())):
        return False
    return len(json.dumps(found)) > len(json.dumps(dict(test.vars)))


def _short(variables: Mapping[str, Any]) -> str:
    text = json.dumps(dict(variables), ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
