"""How often settings break the rules of a prompt, and what may be said of two of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.outcomes import contract
from support.rule_tests import rule_fixtures, swept

from gatekeeper.gate.sweep.suitability import Suitability, compare_two, summarise_suitability
from gatekeeper.stats.intervals.intervals import clustered_rate_interval


def suitability(*arguments, **named) -> Suitability:
    found = swept(*arguments, **named).suitability
    assert found is not None
    return found


def test_each_kind_of_test_is_counted_by_itself():
    fixtures = rule_fixtures(4, baseline=3)
    # Every opposite of a rule and one baseline test is failed.
    passes = [f.category == "rule" or f.id in ("b1", "b2") for f in fixtures]
    found = suitability(fixtures, {"m": passes, "n": [True] * 11})
    assert found.tests == {"rule": 4, "inverse_rule": 4, "both": 8, "baseline": 3}
    shares = {name: (rate.failed, rate.measured) for name, rate in found.rates[0].items()}
    assert shares == {
        "rule": (0, 4),
        "inverse_rule": (4, 4),
        "both": (4, 8),
        "baseline": (1, 3),
    }
    assert found.rates[0]["both"].share == 0.5
    assert found.ranked == [1, 0]


def test_intervals_and_tests_count_clusters():
    fixtures = rule_fixtures(8)
    found = suitability(fixtures, {"m": [True] * 16, "n": [False] * 16})
    assert (found.units, found.clustered) == (8, True)
    assert found.rates[1]["both"].interval == clustered_rate_interval([2] * 8, [2] * 8)
    (pair,) = found.pairs
    assert (pair.inputs, pair.difference, pair.p_value) == (8, -1, 2 / 2**8)


def test_repetitions_are_outputs_of_one_test():
    fixtures = rule_fixtures(3)
    found = suitability(fixtures, {"m": [True] * 6 + [False] * 6, "n": [True] * 12}, samples=2)
    assert (found.tests["both"], found.rates[0]["both"].planned, found.units) == (6, 12, 3)
    assert found.rates[0]["both"].share == 0.5


def test_what_could_not_be_measured_is_unknown_and_never_zero():
    fixtures = rule_fixtures(10)
    found = suitability(fixtures, {"m": [None] * 20, "n": [False] * 10 + [True] * 10})
    unknown = found.rates[0]["both"]
    assert (unknown.share, unknown.unknown, unknown.measured) == (None, 20, 0)
    assert (unknown.interval.low, unknown.interval.high) == (0, 1)
    assert found.ranked == [1, 0]
    assert (found.pairs[0].difference, found.pairs[0].p_value) == (None, 1)


def test_an_answer_or_two_do_not_make_a_setting_the_best():
    fixtures = rule_fixtures(10)
    found = suitability(fixtures, {"m": [True, True] + [None] * 18, "n": [True] * 15 + [False] * 5})
    assert found.rates[0]["both"].share == 0
    assert found.ranked == [1, 0]
    assert found.pairs[0].p_value == 1


def test_samples_that_were_not_taken_are_unknown_too():
    fixtures = rule_fixtures(4)
    found = suitability(fixtures, {"m": [True] * 5, "n": [True] * 8})
    assert found.rates[0]["both"].unknown == 3
    assert found.rates[0]["both"].interval.high > found.rates[1]["both"].interval.high


def test_a_difference_that_no_unknown_output_could_undo_is_found():
    fixtures = rule_fixtures(12)
    most = [False] * 22 + [None, None]
    found = suitability(fixtures, {"m": [True] * 24, "n": most})
    assert 0 < found.pairs[0].p_value < 0.01
    assert found.pairs[0].p_value > 2 / 2**12


@given(st.data())
@settings(max_examples=60)
def test_no_value_of_the_unknown_outputs_gives_a_larger_p_value(data):
    outputs = st.lists(st.sampled_from([True, False, None]), min_size=6, max_size=6)
    first, second = data.draw(outputs), data.draw(outputs)
    fixtures = rule_fixtures(3)
    counts_with = {f.id: f"{f.id[0]}.rule" for f in fixtures if f.category == "inverse_rule"}
    (pair,) = suitability(fixtures, {"m": first, "n": second}).pairs
    for filled in product([True, False], repeat=(first + second).count(None)):
        values = iter(filled)
        a, b = (
            {
                (f.id, 0): next(values) if o is None else o
                for f, o in zip(fixtures, outs, strict=True)
            }
            for outs in (first, second)
        )
        assert compare_two(a, b, counts_with)[2] <= pair.p_value + 1e-12


def test_valid_tests_are_those_that_say_so():
    valid, other, silent = rule_fixtures(1, valid=True), rule_fixtures(2)[2:], rule_fixtures(3)[4:]
    other = [replace(f, metadata={"valid": False}) for f in other]
    silent = [replace(f, metadata={"valid": "true"}) for f in silent]
    found = suitability([*valid, *other, *silent], {"m": [False] * 6})
    assert (found.tests["valid"], found.unrated) == (2, 2)
    assert found.rates[0]["valid"].failed == 2


def test_there_is_no_view_without_a_test_of_a_rule():
    assert swept(rule_fixtures(0, baseline=3), {"m": [True] * 3}).suitability is None
    assert summarise_suitability(contract("a"), [{}], {}) is None


def test_sets_without_a_test_are_left_out_and_other_fixtures_are_counted():
    fixtures = [f for f in rule_fixtures(3) if f.category == "rule"]
    extra = [
        replace(f, id=f"x{f.id}", vars={"word": f"x{f.id}"}, category="easy") for f in fixtures
    ]
    found = suitability([*fixtures, *extra], {"m": [True] * 6})
    assert found.tests == {"rule": 3, "both": 3}
    assert (found.others, found.pairs) == (3, ())


@pytest.mark.parametrize("models", [2, 3, 4, 6])
def test_below_the_units_needed_no_difference_can_be_significant(models):
    named = [f"m{number}" for number in range(models)]
    needed = suitability(rule_fixtures(1), dict.fromkeys(named, [True] * 2)).units_needed
    for units, significant in ((needed - 1, False), (needed, True)):
        passes = {name: [name == "m0"] * 2 * units for name in named}
        found = swept(rule_fixtures(units), passes)
        least = min(pair.adjusted for pair in found.suitability.pairs)
        assert (least <= found.alpha) == significant
