"""Base against head while the samples come in."""

from __future__ import annotations

import pytest
from support.outcomes import outcome
from support.random_comparisons import compared, evaluation, once

from gatekeeper.contract.values.definition import SamplingPolicy
from gatekeeper.gate.comparison.paired_comparison import Comparison, Counts


def test_a_broken_prompt_is_found_after_a_handful_of_pairs():
    names = [f"f{i}" for i in range(30)]
    comparison = Comparison(evaluation(names, SamplingPolicy(samples=10)), 0.05)
    drawn = 0
    while comparison.stopped is None:
        comparison.add(outcome(names[drawn], "base", 0, True))
        comparison.add(outcome(names[drawn], "head", 0, False))
        drawn += 1

    assert comparison.stopped == "regressed"
    assert drawn < 10


def test_what_is_drawn_after_the_decision_is_told_and_changes_it_no_more():
    """An objective may go on asking for samples."""
    comparison = compared(once(broke=30), mode="adaptive")
    early = comparison.evaluate(0.05)

    assert len(comparison.counts()) == 30
    assert early.p_value > 2**-30
    assert comparison.rounds == 0


def test_a_comparison_is_checked_at_the_level_that_is_asked():
    """Holm's procedure asks again at the level that is left."""
    comparison = compared(once(broke=4, same=10))

    assert comparison.evaluate(0.05).p_value == comparison.evaluate(0.1).p_value == 1 / 16
    assert not comparison.evaluate(0.05).regressed
    assert comparison.evaluate(0.1).regressed
    assert not comparison.evaluate(0.1, better=True).regressed


def test_a_harmless_one_is_let_through_before_all_is_drawn():
    arms = {f"f{i}": ([True] * 10, [True] * 10) for i in range(80)}
    comparison = compared(arms, mode="adaptive")

    assert (comparison.stopped, comparison.rounds) == ("not_worse", 1)


def test_a_fixed_comparison_looks_once_at_the_end():
    comparison = compared({f"f{i}": ([True] * 3, [False] * 3) for i in range(20)})

    assert (comparison.stopped, comparison.rounds) == ("regressed", 3)


def test_copies_at_temperature_0_are_not_drawn_to_the_end():
    """Sixteen fixtures broke and eight were fixed, every time: more rounds say nothing new."""
    kinds = [(True, True), (True, False), (False, True), (True, False), (True, True)] * 8
    arms = {f"f{i}": ([base] * 10, [head] * 10) for i, (base, head) in enumerate(kinds)}
    comparison = compared(arms, mode="adaptive")

    assert (comparison.stopped, comparison.rounds) == ("exhausted", 2)


@pytest.mark.parametrize(("rule", "broke"), [("first", 0), ("all", 1), ("any", 0), ("majority", 1)])
def test_the_aggregate_says_what_a_fixture_is(rule, broke):
    """Head passes at first, and then fails twice of three times."""
    arms = {"a": ([True] * 3, [True, False, False])}
    comparison = compared(arms, aggregate=rule)

    assert [counts.broke > counts.fixed for counts in comparison.counts()] == [bool(broke)]


@pytest.mark.parametrize("rule", ["all", "any"])
def test_all_and_any_are_known_at_the_end_only(rule):
    arms = {f"f{i}": ([True] * 3, [False] * 3) for i in range(30)}
    comparison = compared(arms, aggregate=rule, mode="adaptive")

    assert not comparison.test.early
    assert [counts.pairs for counts in comparison.counts()] == [1] * 30


def test_fixtures_of_one_input_are_one():
    policy = SamplingPolicy(samples=1, mode="fixed")
    twins = evaluation(["a", "b", "c"], policy, same_input={"b": "a"})
    comparison = Comparison(twins, 0.05)
    for fixture, base, head in (("a", True, False), ("b", True, False), ("c", False, True)):
        comparison.add(outcome(fixture, "base", 0, base))
        comparison.add(outcome(fixture, "head", 0, head))

    assert sorted(comparison.counts()) == [Counts(0, 1, 1), Counts(1, 0, 1)]


def test_fixtures_that_one_arm_cannot_take_are_not_compared():
    policy = SamplingPolicy(samples=1, mode="fixed")
    comparison = Comparison(evaluation(["a", "b"], policy, unpaired=("b",)), 0.05)
    for fixture in ("b", "a"):
        comparison.add(outcome(fixture, "head", 0, False))
    comparison.add(outcome("a", "base", 0, True))

    assert comparison.counts() == [Counts(1, 0, 1)]


def test_what_is_not_measured_is_read_both_ways():
    comparison = compared(once(broke=4, unknown=3))

    assert comparison.unmeasured == 3
    assert not comparison.evaluate(0.05).regressed
    assert comparison.evaluate(0.05, harshly=True).regressed
    assert comparison.largest_drop() == 1.0


def test_failed_calls_stop_neither_for_worse_nor_for_not_worse():
    silent = compared(once(unknown=60), mode="adaptive")

    assert silent.stopped == "exhausted"
    assert silent.drops() == []


def test_samples_that_were_never_drawn_are_not_measured():
    policy = SamplingPolicy(samples=1, mode="fixed")
    comparison = Comparison(evaluation([f"f{i}" for i in range(8)], policy), 0.05)
    for i in range(5):
        comparison.add(outcome(f"f{i}", "base", 0, True))
        comparison.add(outcome(f"f{i}", "head", 0, False))

    assert not comparison.evaluate(0.05).regressed
    assert comparison.evaluate(0.05, harshly=True).regressed


def test_an_adaptive_comparison_that_was_interrupted_rests_on_the_pairs_it_has():
    policy = SamplingPolicy(samples=3, mode="adaptive")
    comparison = Comparison(evaluation([f"f{i}" for i in range(8)], policy), 0.05)
    for i in range(4):
        comparison.add(outcome(f"f{i}", "base", 0, True))
        comparison.add(outcome(f"f{i}", "head", 0, False))

    assert comparison.stopped is None
    assert not comparison.evaluate(0.05).regressed
    assert comparison.largest_drop() == 1.0


def test_better_is_worse_the_other_way_round():
    comparison = compared(once(fixed=8, same=4))

    assert comparison.evaluate(0.05, harshly=True, better=True).regressed
    assert not comparison.evaluate(0.05).regressed


def test_nothing_to_compare_says_nothing():
    comparison = Comparison(evaluation([], SamplingPolicy(samples=1)), 0.05)

    assert comparison.largest_drop() == 0
    assert comparison.counts() == []
    assert not comparison.evaluate(0.05).regressed


@pytest.mark.parametrize(("lost", "harshly"), [(0, False), (3, False), (9, True)])
def test_what_head_cannot_be_asked_may_all_speak_against_it(lost, harshly):
    names = [f"f{i}" for i in range(40)]
    unasked = tuple(names[40 - lost :])
    comparison = Comparison(evaluation(names, SamplingPolicy(), unanswerable=unasked), 0.05)
    for name in names[: 40 - lost]:
        comparison.add(outcome(name, "base", 0, True))
        comparison.add(outcome(name, "head", 0, True))

    assert comparison.evaluate(0.05).regressed is False
    assert comparison.evaluate(0.05, harshly=True).regressed is harshly
    assert comparison.unmeasured == lost
    assert comparison.largest_drop() == lost / 40
    assert len(comparison.counts()) == 40 - lost


def test_what_neither_arm_can_be_asked_is_left_out():
    twice = evaluation(["a", "b"], SamplingPolicy(), unanswerable=("b",), unpaired=("b",))
    assert Comparison(twice, 0.05).pairs == 0
