"""How far a contract is, for a person who watches."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.outcomes import outcome
from support.random_comparisons import compared, evaluation, once

from gatekeeper.contract.values.definition import SamplingPolicy
from gatekeeper.contract.values.trial import Trial
from gatekeeper.gate.comparison.paired_comparison import Comparison
from gatekeeper.gate.measuring.monitor import EvaluationMonitor, contract_progress


def _watch(
    broke: int = 0, same: int = 0, *, of: int = 30, compares: bool = True
) -> EvaluationMonitor:
    """A watch of `of` fixtures, of which the first few were drawn once."""
    names = [f"f{i}" for i in range(of)]
    plan: list[Trial] = [
        outcome(name, arm, repetition, True).sample.trial
        for repetition in range(3)
        for name in names
        for arm in (("base", "head") if compares else ("head",))
    ]
    made = replace(
        evaluation(names, SamplingPolicy(samples=3, mode="adaptive")), trials=tuple(plan)
    )
    watch = EvaluationMonitor(made, 0.05 if compares else None)
    for number, trial in enumerate(plan[: (broke + same) * (2 if compares else 1)]):
        passed = not (trial.arm == "head" and number < 2 * broke)
        found = outcome(trial.fixture, trial.arm, trial.repetition, passed)
        watch.outcomes.append(found)
        if watch.comparison:
            watch.comparison.add(found)
    return watch


def test_before_anything_was_drawn() -> None:
    found = contract_progress("words", [_watch()])
    assert (found.contract, found.sampled, found.planned, found.pairs) == ("words", 0, 180, 0)
    assert (found.worse, found.not_worse, found.answer) == (0.0, 0.0, None)


def test_while_it_is_drawn() -> None:
    found = contract_progress("words", [_watch(broke=3, same=1)])
    assert (found.sampled, found.pairs, found.broke, found.fixed) == (8, 4, 3, 0)
    assert found.worse is not None
    assert 0 < found.worse < 1
    assert found.answer is None


def test_when_it_is_sure() -> None:
    found = contract_progress("words", [_watch(broke=12)])
    assert (found.answer, found.broke) == ("regressed", 12)
    assert (found.worse, found.not_worse) == (None, None)


def test_one_regression_answers_for_every_evaluation() -> None:
    found = contract_progress("words", [_watch(same=2), _watch(broke=12)])
    assert found.answer == "regressed"
    assert (found.broke, found.sampled, found.planned) == (0, 28, 360)


def test_all_drawn_without_an_answer() -> None:
    alone = _watch(same=90, compares=False)
    found = contract_progress("words", [alone])
    assert found.pairs is None
    assert (found.sampled, found.planned, found.answer) == (90, 90, "exhausted")


def test_what_was_not_measured_is_no_change() -> None:
    comparison = compared(once(broke=1, fixed=2, same=3, unknown=4))
    assert (comparison.pairs, comparison.changed) == (10, (1, 2))


def test_after_the_first_round_only_its_looks_can_tell() -> None:
    arms = {f"f{i}": ([True] * 5, [True, False] * 2 + [True]) for i in range(4)}
    fixed = compared(arms)
    assert fixed.nearness is None
    adaptive = Comparison(evaluation(list(arms), SamplingPolicy(samples=5, mode="adaptive")), 0.05)
    assert adaptive.nearness == (0.0, 0.0)
    for name in arms:
        for arm in ("base", "head"):
            adaptive.add(outcome(name, arm, 0, True))
    assert (adaptive.rounds, adaptive.nearness) == (1, None)


@pytest.mark.parametrize("fixtures", [0, 1])
def test_hardly_any_fixture(fixtures: int) -> None:
    comparison = Comparison(evaluation([f"f{i}" for i in range(fixtures)], SamplingPolicy()), 0.05)
    assert comparison.changed == (0, 0)
    assert comparison.nearness in (None, (0.0, 0.0))
