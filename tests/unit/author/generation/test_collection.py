"""How a collection of tests is improved: duplicates, missing kinds, longer inputs, scenarios."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from gatekeeper.author.generation.numbered_prompt import number_prompt
from gatekeeper.author.generation.tests import Effort, Writer
from gatekeeper.author.specification.spec_file import GeneratedTest, Rule, Scenario
from gatekeeper.contract.values.change import MemoryRevision

PROMPT = number_prompt(
    MemoryRevision({"p.txt": b"Answer in {{ language }}.\n\n{{ text }}\n"}), "p.txt"
)
POLITE = Rule("polite", "The output is polite.", "The output is rude.", (1,))
SHORT = Rule("short", "The output is short.", "", (1,))


class Script:
    """Answers each stage by a function of its data, and keeps what was asked."""

    def __init__(self, **stages: Any) -> None:
        self.stages = stages
        self.asked: list[tuple[str, Mapping[str, str]]] = []

    async def ask(self, stage: str, data: Any, settings: Any = None, values: Any = None) -> Any:
        self.asked.append((stage, {**data, **(settings or {}), "schema": str(values)}))
        answer = self.stages[stage]
        return answer(data) if callable(answer) else answer


def writer(script: Script, effort: Effort, *scenarios: Scenario) -> Writer:
    return Writer(script, PROMPT, (), (POLITE, SHORT), effort, scenarios)  # type: ignore[arg-type]


def row(text: str) -> dict[str, Any]:
    found = {"kind": "edge", "scenario": "s", "reason": "r"}
    return {**found, "vars": {"language": "German", "text": text}}


def a_test(name: str, rule: str = "polite", text: str = "a") -> GeneratedTest:
    category = "inverse_rule" if "inverse" in name else "rule"
    values = {"language": "German", "text": text}
    return GeneratedTest(name, rule, category, "edge", "s", "r", values)  # type: ignore[arg-type]


TESTS = [
    a_test("polite.1"),
    a_test("polite.2"),
    a_test("polite.inverse.1"),
    a_test("short.1", "short"),
]


def test_every_rule_is_tested_in_every_scenario():
    script = Script(tests={"rule_tests": [row("a"), row("b")], "inverse_tests": [row("c")]})
    shop = Scenario("shop", "A customer of a shop writes.", {"language": "French"})
    tests = asyncio.run(writer(script, Effort(2), shop, Scenario("bank", "A bank.")).write())
    assert [test.id for test in tests] == [
        "polite.shop.1",
        "polite.shop.2",
        "polite.inverse.shop.1",
        "polite.bank.1",
        "polite.bank.2",
        "polite.inverse.bank.1",
        "short.shop.1",
        "short.shop.2",
        "short.bank.1",
        "short.bank.2",
    ]
    assert {t.vars["language"] for t in tests if ".shop." in t.id} == {"French"}
    first = script.asked[0][1]
    assert first["scenario"].startswith(shop.text)
    assert "language" not in first["schema"]


def test_low_effort_asks_nothing_more():
    script = Script()
    assert asyncio.run(writer(script, Effort(2)).improve(TESTS)) == (TESTS, [])
    assert script.asked == []


@pytest.mark.parametrize(
    ("duplicates", "left"),
    [
        ([], ["polite.1", "polite.2", "polite.inverse.1", "short.1"]),
        ([[1, 2]], ["polite.1", "polite.inverse.1", "short.1"]),
        ([[2, 1, 3, 4]], ["polite.1", "polite.inverse.1", "short.1"]),
        ([[0, 99, -1], [2]], ["polite.1", "polite.2", "polite.inverse.1", "short.1"]),
    ],
)
def test_tests_with_the_same_intent_are_dropped_within_a_rule(duplicates, left):
    script = Script(rating={"duplicates": duplicates, "missing": []})
    tests, _ = asyncio.run(writer(script, Effort(1, rates=True)).improve(TESTS))
    assert [test.id for test in tests] == left


def test_missing_kinds_are_written():
    missing = [{"rule": 1, "kind": "an angry letter"}, {"rule": 7, "kind": "no such rule"}]
    script = Script(
        rating={"duplicates": [], "missing": missing},
        tests={"rule_tests": [row("new")], "inverse_tests": []},
    )
    tests, said = asyncio.run(writer(script, Effort(1, rates=True)).improve(TESTS))
    assert [test.id for test in tests][4:] == ["polite.missing-1.1"]
    assert len(said) == 1
    (_, asked) = script.asked[1]
    assert asked["scenario"].startswith("an angry letter")


def test_missing_kinds_are_cases_of_a_persons_scenarios():
    missing = [{"rule": 1, "kind": "an angry letter"}, {"rule": 2, "kind": "an empty letter"}]
    script = Script(
        rating={"duplicates": [], "missing": missing},
        tests={"rule_tests": [row("new")], "inverse_tests": []},
    )
    scenarios = (
        Scenario("shop", "A shop.", {"language": "French"}),
        Scenario("bank", "A bank.", {"language": "Dutch"}),
    )
    made = writer(script, Effort(1, rates=True), *scenarios)
    tests, _ = asyncio.run(made.improve(TESTS))
    assert [(test.id, test.vars["language"]) for test in tests[4:]] == [
        ("polite.shop.missing-1.1", "French"),
        ("short.bank.missing-2.1", "Dutch"),
    ]
    assert script.asked[1][1]["scenario"].startswith("A shop.\nan angry letter")


def test_inputs_are_made_longer_and_keep_what_a_scenario_gave():
    def longer(data: Mapping[str, str]) -> dict[str, Any]:
        numbers = range(1, len(data["tests"].splitlines()) + 1)
        values = {"language": "Latin", "text": "a much longer text"}
        return {"tests": [{"number": n, "vars": values} for n in numbers]}

    shop = Scenario("shop", "A shop.", {"language": "French"})
    before = [
        a_test("polite.shop.1"),
        a_test("polite.2", text="this text is longer than the new one by far"),
        a_test("gone.1", "gone"),
    ]
    script = Script(expansion=longer)
    tests, said = asyncio.run(writer(script, Effort(1, expands=True), shop).improve(before))
    assert tests[0].vars == {"language": "French", "text": "a much longer text"}
    assert (tests[0].id, tests[1:]) == ("polite.shop.1", before[1:])
    assert len(said) == 1


@pytest.mark.parametrize("values", [{"language": " ", "text": ""}, None])
def test_an_answer_that_says_nothing_changes_nothing(values):
    rows = [{"number": 1, "vars": values}] if values else []
    script = Script(expansion={"tests": rows})
    tests, _ = asyncio.run(writer(script, Effort(1, expands=True)).improve(TESTS))
    assert tests == TESTS
