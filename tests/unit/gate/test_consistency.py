"""The objective `consistency`: which answers agree, the share of pairs, and what decides it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.outcomes import contract, outcome

from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.objectives import read_objectives
from gatekeeper.contract.values.trial import CutText, Outcome, Turn
from gatekeeper.gate.objectives.objectives import slo_results
from gatekeeper.gate.results.result import SloResult
from gatekeeper.gate.samples.consistency import Pairs, agreeing_pairs, answer_meaning, count_pairs


def answers(fixture: str, *outputs: str | None) -> list[Outcome]:
    """The samples of a fixture; None is a call that failed."""
    return [
        outcome(fixture, "head", n, None if output is None else True, output or "")
        for n, output in enumerate(outputs)
    ]


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ("yes", " yes\n", True),
        ("yes", "Yes", False),
        ('{"a": 1, "b": [2]}', '{"b":[2],"a":1.0}', True),
        ('{"a": 1}', '{"a": true}', False),
        ("[1, 2]", "[2, 1]", False),
        ("", " ", True),
        ("a  b", "a b", True),
    ],
)
def test_which_answers_agree(one, other, agree):
    (pairs,) = agreeing_pairs(answers("f", one, other)).values()
    assert pairs == Pairs(int(agree), 1)


def test_tool_calls_and_texts_that_were_cut_count():
    (plain,) = answers("f", "x")
    called = [
        replace(plain.sample.completion, tool_calls=(ToolCall("t", text),))
        for text in ('{"a": 1, "b": 2}', '{"b":2,"a":1}', '{"a": 2}')
    ]
    meanings = [answer_meaning(replace(plain.sample, completion=c)) for c in called]
    assert meanings[0] == meanings[1] != meanings[2]
    # An agent that ends with the same words after other calls did something else.
    worked = [replace(plain.sample.completion, turns=(Turn("", c),)) for c in called]
    meanings = [answer_meaning(replace(plain.sample, completion=c)) for c in worked]
    assert meanings[0] == meanings[1] != meanings[2]
    cut = [replace(plain.sample.completion, cut=CutText(9, digest)) for digest in ("1", "2")]
    assert len({answer_meaning(replace(plain.sample, completion=c)) for c in cut}) == 2


@given(st.lists(st.sampled_from("abc"), max_size=9))
def test_pairs_are_counted_like_one_by_one(outputs):
    found = agreeing_pairs(answers("f", *outputs)).get("f", Pairs(0, 0))
    each = [(a, b) for i, a in enumerate(outputs) for b in outputs[:i]]
    assert found == Pairs(sum(a == b for a, b in each), len(each))
    assert count_pairs(len(outputs)) == len(each)


def result(target: float, outcomes: list[Outcome], planned: int | None = None) -> SloResult:
    taken = Counter(o.sample.trial.fixture for o in outcomes)
    wanted = {fixture: planned or count for fixture, count in taken.items()}
    whole = contract(*taken, samples=3, slo=read_objectives({"consistency": target}))
    (found,) = slo_results(whole, outcomes, wanted)
    return found


def test_the_share_is_the_mean_over_fixtures():
    outcomes = answers("a", "x", "x", "x", "y") + answers("b", "x", "x")
    assert result(0.9, outcomes).observed == pytest.approx((0.5 + 1) / 2)


def test_it_is_met_and_missed_with_enough_fixtures():
    steady = [o for n in range(80) for o in answers(f"f{n}", "x", "x", "x")]
    assert result(0.9, steady).met is True
    loose = [o for n in range(80) for o in answers(f"f{n}", "x", "y", "z")]
    assert (result(0.9, loose).met, result(0.9, loose).observed) == (False, 0)


def test_one_sample_each_decides_nothing():
    single = [o for n in range(80) for o in answers(f"f{n}", "x")]
    assert (result(0.9, single).observed, result(0.9, single).met) == (None, None)


def test_answers_that_are_missing_could_have_been_any():
    some = [o for n in range(80) for o in answers(f"f{n}", "x", "x", None)]
    assert result(0.9, some, planned=3).unmeasured is True
    assert result(0.2, some, planned=3).met is True
