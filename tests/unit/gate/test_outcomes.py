"""Fixtures and arms from evaluated outcomes."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.outcomes import contract, outcome, target

from gatekeeper.contract.values.definition import Fixture
from gatekeeper.gate.results.parts import Tally
from gatekeeper.gate.samples.outcomes import (
    aggregate,
    arm_result,
    by_fixture,
    duplicates,
    fixture_results,
    quantile,
)

RULES = ["first", "majority", "all", "any"]


def complete(rule: str, passes: tuple[bool, ...]) -> bool:
    """The rules in their plainest words, on complete data."""
    return {
        "first": passes[0],
        "majority": sum(passes) > len(passes) / 2,
        "all": all(passes),
        "any": any(passes),
    }[rule]


@given(
    rule=st.sampled_from(RULES),
    measured=st.lists(st.none() | st.booleans(), min_size=1, max_size=6),
)
def test_an_aggregate_is_known_exactly_when_no_completion_could_change_it(rule, measured):
    outcomes = [
        outcome("f", "head", repetition, passed)
        for repetition, passed in enumerate(measured)
        if passed is not None
    ]
    completions = product(*[[m] if m is not None else [True, False] for m in measured])
    possible = {complete(rule, passes) for passes in completions}

    found = aggregate(rule, outcomes, len(measured))

    assert found == (possible.pop() if len(possible) == 1 else None)


def test_a_call_that_failed_is_neither_passed_nor_failed():
    outcomes = [outcome("f", "head", 0, True), outcome("f", "head", 1, None)]

    assert aggregate("majority", outcomes, 2) is None


def test_fixtures_show_both_arms_and_what_changed():
    outcomes = [
        outcome("a", "base", 0, True),
        outcome("a", "head", 0, False, "rubbish"),
        outcome("b", "base", 0, True),
        outcome("b", "head", 0, None),
    ]
    results = fixture_results(contract("a", "b", "c"), by_fixture(outcomes), {}, 1, paired=True)

    assert [(r.id, r.change) for r in results] == [("a", "broke"), ("b", None), ("c", None)]
    assert (results[0].base, results[0].head) == (Tally(1, 1), Tally(0, 1))
    assert [(f.arm, f.output) for f in results[0].failures] == [("head", "rubbish")]
    assert results[1].errors == ("the call failed",)
    assert results[2].head is None


@pytest.mark.parametrize(
    ("variables", "shown"),
    [
        ({"word": "red"}, "red"),
        ({"word": "red", "tone": None}, "red"),
        ({"word": "red", "count": 2}, "word: red\ncount: 2"),
        ({"word": None}, None),
    ],
)
def test_a_fixture_that_fails_on_head_shows_what_was_asked_and_wanted(variables, shown):
    asked = Fixture("a", variables, expected="ok")

    def result(passed):
        outcomes = by_fixture([outcome("a", "base", 0, True), outcome("a", "head", 0, passed)])
        suite = contract(fixtures=(asked,))
        (found,) = fixture_results(suite, outcomes, {}, 1, paired=True)
        return found

    assert (result(False).input, result(False).wanted) == (shown, "ok")
    for passed in (True, None):
        assert (result(passed).input, result(passed).wanted) == (None, None)


def trials(**texts: tuple[str, str]):
    """Trials by fixture: the rendered input on base and on head."""
    return [
        outcome(name, arm, 0, True, text=text).sample.trial
        for name, pair in texts.items()
        for arm, text in zip(("base", "head"), pair, strict=True)
    ]


def test_repeated_inputs_are_found():
    assert duplicates(trials(a=("x", "X"), b=("y", "Y"), c=("x", "X"))) == {"c": "a"}


def test_a_prompt_that_forgets_its_variable_does_not_make_its_fixtures_one():
    assert duplicates(trials(a=("x", "same"), b=("y", "same"))) == {}


def test_an_arm_without_a_measured_sample_has_no_rate_and_no_latency():
    outcomes = [outcome("a", "head", 0, None)]
    fixtures = fixture_results(contract("a"), by_fixture(outcomes), {}, 1, paired=False)

    arm = arm_result(target(), "head", outcomes, fixtures)

    assert (arm.samples, arm.failed_calls, arm.fixtures) == (0, 1, 0)
    assert (arm.success_rate, arm.interval, arm.latency_p95_ms, arm.cost_per_call_usd) == (
        None,
    ) * 4
    assert (arm.intervals, arm.latency_interval, arm.cost_interval) == ({}, None, None)


def test_each_of_several_samples_gives_a_fixture_a_p_value_of_its_own():
    outcomes = [
        outcome("a", arm, i, passed)
        for arm, passed in (("base", True), ("head", False))
        for i in range(5)
    ]
    groups = by_fixture(outcomes)

    (drawn,) = fixture_results(contract("a", samples=5), groups, {}, 5, paired=True)
    (copied,) = fixture_results(contract("a", samples=5), groups, {}, 5, paired=True, copies=True)

    assert drawn.p_value == pytest.approx(1 / 252)
    assert copied.p_value is None
    assert (drawn.change, copied.change) == ("broke", "broke")


def test_an_unknown_price_leaves_the_known_ones():
    outcomes = [
        outcome("a", "head", 0, True, cost=0.5, latency=10.0),
        outcome("a", "head", 1, True, cost=None, latency=None),
    ]
    arm = arm_result(target(), "head", outcomes, [])

    assert arm.cost_per_call_usd == 0.5
    assert arm.latency_p95_ms == 10.0


@pytest.mark.parametrize(("n", "expected"), [(1, 1), (20, 19), (21, 20), (100, 95)])
def test_a_quantile_is_the_smallest_value_with_enough_at_or_below(n, expected):
    assert quantile(range(1, n + 1), 0.95) == expected
